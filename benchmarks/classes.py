"""Other attention with the same answer by the number of classes: milliseconds a text, against two classes, in one run.

For two classes the answers are exact, for more they are bounds. Timed are `eps_max_js` or its bound, and whether the
answer stands without the 1 and the 3 most attended words, as the test calls them, on batches of 32 texts: random
attention and logits, which are the hardest, and those of BiLSTM models trained on the first classes of dbpedia14_small
(needs HEEDFUL_DATA); and there the whole test, with the aim for five classes beside. One thread, processor time, for
each batch the best of several rounds.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/classes.py [random] [trained]
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from heedful.battery import BATTERY, Evidence
from heedful.data import load
from heedful.data.batching import collate, encode_split, in_order
from heedful.exact import (
    eps_max_js,
    eps_max_js_bound,
    prediction_survives_on_items,
    prediction_survives_without_top,
    without_top,
)
from heedful.models.trace import trace
from heedful.settings import DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.subjects.subject import float64_eval_copy
from heedful.training.loop import train
from heedful.types import Dataset

BATCH, ROUNDS = 32, 7
EPS, TOPS = 0.01, (1, 3)
CLASSES, LENGTHS, TRAINED = (2, 3, 5, 10), (8, 20, 60), (2, 3, 5, 10, 14)
AIM = {5: "10 at most"}
"""Of the time of a trained model's texts / K = 2."""
console = Console(highlight=False, width=120)
Batch = TypeVar("Batch")
Problem = tuple[Tensor, Tensor, Tensor]
"""Attention, item logits, items."""


def random_problem(count: int, classes: int) -> Problem:
    generator = torch.Generator().manual_seed(0)
    attention = (1.5 * torch.randn(BATCH, count, generator=generator, dtype=torch.float64)).softmax(-1)
    logits = 2 * torch.randn(BATCH, count, classes, generator=generator, dtype=torch.float64)
    return attention, logits, torch.ones(BATCH, count, dtype=torch.bool)


def of_classes(dataset: Dataset, classes: int) -> Dataset:
    """The texts of the first classes."""
    splits = {name: tuple(e for e in getattr(dataset, name) if e.label < classes) for name in ("train", "dev", "test")}
    return replace(dataset, labels=dataset.labels[:classes], **splits)


def trained_evidence(dataset: Dataset, run: Run) -> list[Evidence]:
    """Two batches of middling length of a trained model's test texts."""
    trained = train(run, dataset)
    model, split = float64_eval_copy(trained.model), encode_split(dataset.test, trained.words)
    blocks = in_order(split.lengths, BATCH)
    with torch.no_grad():
        return [
            Evidence(model, trace(model, collate(split, block)))
            for block in (blocks[len(blocks) // 3], blocks[2 * len(blocks) // 3])
        ]


def problem_of(evidence: Evidence) -> Problem:
    assert evidence.item_logits is not None
    return evidence.attention.detach(), evidence.item_logits.detach(), evidence.items


def furthest(problem: Problem) -> Tensor:
    return (eps_max_js if problem[1].shape[-1] == 2 else eps_max_js_bound)(*problem, EPS).attention


def stands(problem: Problem, known: Tensor) -> object:
    if problem[1].shape[-1] == 2:
        return [prediction_survives_without_top(*problem, top, EPS) for top in TOPS]
    usable = torch.cat([without_top(problem[0], problem[2], top) for top in TOPS])
    weights, logits, items, known = (torch.cat([part] * len(TOPS)) for part in (*problem, known))
    return prediction_survives_on_items(weights, logits, items, usable, EPS, known=known)


def exact_functions(problem: Problem) -> tuple[float, ...]:
    """Milliseconds of processor time for a text: the largest divergence, and what stands without the top words."""
    began = time.process_time()
    known = furthest(problem)
    between = time.process_time()
    stands(problem, known)
    return 1e3 * (between - began) / len(known), 1e3 * (time.process_time() - between) / len(known)


def whole_test(evidence: Evidence) -> tuple[float, ...]:
    """Likewise the test of the battery, with the check of what it returns."""
    began = time.process_time()
    with torch.no_grad():
        BATTERY["adversarial_attention"].function(evidence, torch.Generator().manual_seed(0))
    return (1e3 * (time.process_time() - began) / len(evidence.count),)


def timed(cases: dict[int, list[Batch]], times: Callable[[Batch], tuple[float, ...]]) -> dict[int, tuple[float, ...]]:
    """Of each number of classes the mean over batches, of each batch the best of several rounds, in turns."""
    rounds = [{classes: [times(batch) for batch in own] for classes, own in cases.items()} for _ in range(ROUNDS)]
    return {
        classes: tuple(torch.tensor([every[classes] for every in rounds]).amin(0).mean(0).tolist()) for classes in cases
    }


def print_battery(every: dict[int, list[Evidence]]) -> None:
    times = timed(every, whole_test)
    table = Table("classes", "ms a text", "/ K = 2", "aim", title="the test adversarial_attention as a whole")
    for classes, (number,) in times.items():
        table.add_row(str(classes), f"{number:.3f}", f"{number / times[2][0]:.1f}", AIM.get(classes, ""))
    console.print(table)


def print_table(title: str, cases: dict[int, list[Problem]], aim: dict[int, str]) -> None:
    table = Table("classes", "divergence", "without top", "both", "/ K = 2", "aim", title=f"{title}: ms a text")
    times = timed(cases, exact_functions)
    for classes, (js, top) in times.items():
        ratio = (js + top) / sum(times[2])
        numbers = (f"{js:.3f}", f"{top:.3f}", f"{js + top:.3f}", f"{ratio:.1f}", aim.get(classes, ""))
        table.add_row(str(classes), *numbers)
    console.print(table)


def main() -> None:
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or ["random", "trained"]
    if "random" in chosen:
        for count in LENGTHS:
            problems = {classes: [random_problem(count, classes)] for classes in CLASSES}
            print_table(f"random, {count} items", problems, {})
    if "trained" in chosen:
        run = Run(
            data=DataSettings(source="dbpedia14_small", train_limit=2_000, test_limit=700),
            network=NetworkSettings(encoder="bilstm", embed_size=50, hidden_size=50),
            training=TrainingSettings(epochs=8),
        )
        dataset = load(run.data, run.text)
        every = {classes: trained_evidence(of_classes(dataset, classes), run) for classes in TRAINED}
        problems = {classes: [problem_of(evidence) for evidence in batches] for classes, batches in every.items()}
        print_table("BiLSTM on dbpedia14_small", problems, AIM)
        print_battery(every)


if __name__ == "__main__":
    main()
