"""How long each test of the battery takes on the same texts, what several tests share being charged by itself."""

import time
from collections.abc import Callable, Iterable

import torch

from heedful.battery import BATTERY, Context, Evidence
from heedful.battery.word_substitution import known_replacements
from heedful.models.trace import trace
from heedful.types import Batch, Model

SHARED: dict[str, str] = {"leave-one-out": "deletion_logits", "input gradients": "input_gradients"}
"""What several tests share, by the name of what computes it."""


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def test_names(*, deep: bool = False) -> list[str]:
    """The tests of the battery, in its order."""
    return [name for name, test in BATTERY.items() if deep or test.cost == "default"]


def times_of_tests(
    model: Model, batches: Iterable[Batch], context: Context, names: Iterable[str]
) -> tuple[dict[str, float], int]:
    """Seconds of reading, of what tests share and of each test over all batches; and how many texts these have.

    Synonyms are found once an audit, whatever the number of texts: they are known before the clock runs.
    """
    context.once(known_replacements, "both", "", None)
    names = list(names)
    taken, texts = dict.fromkeys(["reading", *SHARED, *names], 0.0), 0
    generators = {name: torch.Generator().manual_seed(0) for name in names}
    for batch in batches:
        with torch.no_grad():
            seen = []
            taken["reading"] += seconds(lambda batch=batch, seen=seen: seen.append(trace(model, batch)))
            evidence = Evidence(model, seen[0], context)
            for name, shared in SHARED.items():
                taken[name] += seconds(lambda evidence=evidence, shared=shared: getattr(evidence, shared))
            for name in names:
                run, generator = BATTERY[name].function, generators[name]
                taken[name] += seconds(lambda run=run, own=(evidence, generator): run(*own))
        texts += len(batch.labels)
    return taken, texts
