"""Every question on every attention in every world, drawn many times: how often each holds, fails, is undecided."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isnan, nan
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery import BATTERY, Evidence
from heedful.battery.question import Columns
from heedful.data.draws import seeded_generator
from heedful.models.trace import trace
from heedful.schema import Line
from heedful.studies.calibration.attentions import ATTENTIONS, MAGNITUDE, margins_of
from heedful.studies.calibration.trained_worlds import TrainedWorld
from heedful.studies.calibration.worlds import BAG_WORLDS, Drawn, World
from heedful.verdict.counting import LineStatus, status
from heedful.verdict.gate import has_learnt
from heedful.verdict.scoring import verdict_lines

if TYPE_CHECKING:
    from distributed import Client

TEXTS = 100
AGREEMENT = ("gradient_agreement", "leave_one_out_agreement")
TESTS = (
    "prediction",
    *AGREEMENT,
    "erase_one",
    "erase_until_flip",
    "comprehensiveness_sufficiency",
    "token_scores",
    "sign",
    "permutation",
    "adversarial_attention",
    "uniform",
)
OPTIONS = {"erase_until_flip": {"by": ("attention",), "rankings": 10}, "permutation": {"count": 30}}

WORLDS: dict[str, World | TrainedWorld] = {
    world.name: world
    for world in (
        *BAG_WORLDS,
        TrainedWorld("mock-2", "two opinion words among a filler; a token-wise model", "mock-2", "affine"),
        TrainedWorld("planted", "two polar words among ten neutral ones; a token-wise model", "planted", "affine"),
        TrainedWorld("planted, cnn", "two polar words among ten neutral ones; a convolution", "planted", "cnn"),
        TrainedWorld("planted, BiLSTM", "two polar words among ten neutral ones; a BiLSTM", "planted", "bilstm"),
    )
}


@dataclass(frozen=True)
class Result:
    """How one question came out for one attention in one draw of a world.

    Args:
        outcome: as the verdict counts it; "nothing to explain" where the model has not learnt its task.
        score: NaN where undefined.
    """

    world: str
    attention: str
    question: str
    group: str
    outcome: LineStatus | str
    score: float


@dataclass(frozen=True)
class Tally:
    """How often a question came out each way, over the draws of one world with one attention.

    Args:
        score: the mean, where it is defined.
    """

    world: str
    attention: str
    question: str
    group: str
    outcomes: Counter[str]
    score: float

    @property
    def draws(self) -> int:
        """How many there were."""
        return self.outcomes.total()

    @property
    def counted(self) -> int:
        """Draws in which the question counts for or against attention, or could have been decided."""
        return sum(self.outcomes[outcome] for outcome in ("holds", "fails", "undecided"))

    @property
    def holds_if_counted(self) -> float:
        """Of the draws in which it counts, the share in which attention holds; NaN where it never counts."""
        return self.outcomes["holds"] / self.counted if self.counted else nan

    @property
    def holds(self) -> float:
        """Of all draws."""
        return self.outcomes["holds"] / self.draws


def results_of_draw(world: str, draw: int) -> list[Result]:
    """All questions on all attentions, for one draw of texts; it depends on the arguments alone."""
    generator = seeded_generator("calibration", world, draw)
    drawn = WORLDS[world].draw(TEXTS, generator)
    items = drawn.batch.attendable
    margins = margins_of(drawn.logits, drawn.decision, items)
    results: list[Result] = []
    for name, attend in ATTENTIONS.items():
        lines, learnt = _lines(drawn, attend(margins, items, generator), generator)
        if name in MAGNITUDE:
            agreement, _ = _lines(drawn, MAGNITUDE[name](margins, items, generator), generator, AGREEMENT)
            lines |= {question: agreement[question] for question in AGREEMENT}
        for question, line in lines.items():
            outcome = status(line).outcome if learnt else "nothing to explain"
            score = nan if line.score is None else line.score
            results.append(Result(world, name, question, line.group or "", outcome, score))
    return results


def tallies(results: Iterable[Result]) -> list[Tally]:
    """The results of all draws, by world, attention and question, in the order in which they came first."""
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.world, result.attention, result.question, result.group), []).append(result)
    return [Tally(*key, Counter(result.outcome for result in own), _mean(own)) for key, own in groups.items()]


def calibrate(
    draws: int,
    *,
    worlds: Sequence[str] = tuple(WORLDS),
    client: "Client | None" = None,
    report: Callable[[Sequence[Result]], None] | None = None,
) -> list[Tally]:
    """The tallies of so many draws of each world.

    Args:
        client: of a cluster that does the draws; without one they are done here, one after another.
        report: called with the results of each draw when it is done, in any order.
    """
    jobs = [(world, draw) for draw in range(draws) for world in worlds]
    by_job: dict[tuple[str, int], list[Result]] = {}
    for job, results in _done(jobs, client):
        by_job[job] = results
        if report:
            report(results)
    return tallies(
        chain.from_iterable(by_job[job] for job in sorted(jobs, key=lambda job: (worlds.index(job[0]), job[1])))
    )


def _done(jobs: Sequence[tuple[str, int]], client: "Client | None") -> Iterator[tuple[tuple[str, int], list[Result]]]:
    """Each job and its results, as they come."""
    if client is None:
        yield from ((job, results_of_draw(*job)) for job in jobs)
        return
    from distributed import as_completed

    futures = {client.submit(results_of_draw, *job, pure=False): job for job in jobs}
    for future in as_completed(futures, loop=client.loop):
        yield futures[future], future.result()


def _mean(results: Sequence[Result]) -> float:
    defined = [result.score for result in results if not isnan(result.score)]
    return sum(defined) / len(defined) if defined else nan


def _lines(
    drawn: Drawn, weights: Float[Tensor, "batch item"], generator: torch.Generator, tests: Sequence[str] = TESTS
) -> tuple[dict[str, Line], bool]:
    """The lines of the verdict on the model with these weights, and whether it has learnt its task."""
    batch = replace(drawn.batch, imposed_attention=weights)
    if drawn.logits.shape[-1] > 2:  # a linear programme for each text, for a question that is not about relevance
        tests = [name for name in tests if name != "adversarial_attention"]
    with torch.no_grad():
        evidence = Evidence(drawn.model, trace(drawn.model, batch), drawn.context, generator)
        columns = _columns(evidence, generator, ("prediction", *tests))
    return {line.name: line for line in verdict_lines(columns)}, has_learnt(columns)


def _columns(evidence: Evidence, generator: torch.Generator, tests: Iterable[str]) -> Columns:
    columns: dict[str, Tensor] = {}
    for name in tests:
        findings = BATTERY[name].function(evidence, generator, **OPTIONS.get(name, {}))
        columns |= {f"{name}.{measure}": values[None] for measure, values in findings.values.items()}
    return columns
