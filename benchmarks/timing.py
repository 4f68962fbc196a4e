"""How long each test of the battery takes on the same texts, what several tests share being charged by itself."""

import time
from collections.abc import Callable, Iterable

import torch

from heedful.battery import BATTERY, Context, Evidence
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

    The first batch is audited once before the clock runs: what is found once an audit, whatever the number of texts
    (synonyms, counts of words), is known then.
    """
    batches, names = list(batches), list(names)
    times_of_batch(model, batches[0], context, names)
    taken = dict.fromkeys(["reading", *SHARED, *names], 0.0)
    for batch in batches:
        for name, each in times_of_batch(model, batch, context, names).items():
            taken[name] += each
    return taken, sum(len(batch.labels) for batch in batches)


@torch.no_grad()
def times_of_batch(model: Model, batch: Batch, context: Context, names: Iterable[str]) -> dict[str, float]:
    """The same of one batch."""
    seen = []
    taken = {"reading": seconds(lambda: seen.append(trace(model, batch)))}
    evidence, generator = Evidence(model, seen[0], context), torch.Generator().manual_seed(0)
    for name, shared in SHARED.items():
        taken[name] = seconds(lambda shared=shared: getattr(evidence, shared))
    for name in names:
        taken[name] = seconds(lambda run=BATTERY[name].function: run(evidence, generator))
    return taken
