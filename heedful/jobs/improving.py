"""From a finished run to one whose attention points more often: methods tried, judged on dev texts, one chosen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
from pydantic import BaseModel, ConfigDict

from heedful.errors import SettingError
from heedful.jobs.planning import Plan, plan_audits
from heedful.measures import Estimate, difference_interval
from heedful.measures.interval import share_interval
from heedful.report.audits import AuditFiles, read_audit
from heedful.settings import AuditSettings, Option, OutcomeSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.verdict.answers import outcomes_of
from heedful.verdict.scoring import columns_of

# The settings of method `faithful` that a search tries.

METHOD = "faithful"
ALONE: Mapping[str, Option] = {"evidence": 0.0, "attention": 0.0, "prediction": 0.0}
"""Options by which nothing is learned from teachers."""
DIVERSITY = (0.25, 0.5, 1.0)
"""Weights of diversity that are tried, without teachers; the best also with them."""


@dataclass(frozen=True)
class Candidate:
    """A training method and its name: options of the recipe, or of another method."""

    name: str
    options: Mapping[str, Option]
    method: str = METHOD

    def trained_from(self, run: Run, seed: int) -> Run:
        """The run trained this way in place of its own, from a seed."""
        changes = {"training.method": self.method, "training.options": dict(self.options), "seed": seed}
        return update_settings(run, changes)

    @property
    def with_teachers(self) -> "Candidate":
        """The same, learning from what an ensemble that was trained by it finds when it deletes each word."""
        own = {name: value for name, value in self.options.items() if name not in ALONE}
        return Candidate(f"{self.name}, taught", own)


def own_way(run: Run) -> Candidate:
    """As the run is trained."""
    return Candidate("as it is", run.training.options, run.training.method)


def first_candidates() -> tuple[Candidate, ...]:
    """Recipes without teachers."""
    return tuple(Candidate(f"diversity {weight:g}", {"diversity": weight, **ALONE}) for weight in DIVERSITY)


def check_improvable(run: Run) -> None:
    """Raise a SettingError, saying what to do, where the recipe cannot be trained in place of the run's own method."""
    if run.finetune is not None:
        raise SettingError(
            "KEY must name a run with an encoder of ours; this is a fine-tuned Hugging Face classifier, whose own "
            "attention the recipe does not train. Train an attention of ours over its encoder: heedful train DATA "
            f"--encoder hf:{run.finetune.model}."
        )
    if run.reference is not None:
        raise SettingError(
            f"KEY must name a run that stands alone; this one (method '{run.training.method}', attention "
            f"'{run.network.attention}') is made from run {run.reference}. Improve that run."
        )
    if run.network.attention == "uniform":
        raise SettingError("KEY must name a run that learns attention; this one weighs all words alike.")


# What a training method gives: accuracy, and the share of texts in which attention points to the key words.

TESTS = ("prediction", "outcome")
"""What is measured of every method."""
CORRECT = "prediction.correct"


class MethodScores(BaseModel):
    """A training method as a search sees it, over texts and seeds.

    Args:
        options: options of the method; empty for the run's own method.
        runs: keys of its trained runs.
        lost, lost_low, lost_high: accuracy lost against the run's own method, with its 95% interval.
        points, points_low, points_high: share of all texts in which attention points, with its 95% interval. A text in
            which no small set of words decides counts against the method.
        decided: share of texts in which a small set of words decides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")

    name: str
    options: dict[str, Option] = {}
    runs: tuple[str, ...] = ()
    accuracy: float
    lost: float = 0.0
    lost_low: float = 0.0
    lost_high: float = 0.0
    points: float
    points_low: float = 0.0
    points_high: float = 1.0
    decided: float = 1.0


# Which training method is best: the largest share of texts in which attention points, at no cost in accuracy.

MAX_ACCURACY_DROP = 0.005
"""Accuracy that can be lost: half a percentage point."""


def refusal(method: MethodScores, max_accuracy_drop: float = MAX_ACCURACY_DROP) -> str:
    """Why a method cannot be chosen; empty if it keeps the accuracy.

    >>> refusal(MethodScores(name="", accuracy=0.8, lost=0.012, points=0.9))
    'loses 1.2 percentage points of accuracy'
    """
    return f"loses {100 * method.lost:.1f} percentage points of accuracy" if method.lost > max_accuracy_drop else ""


def choose(
    own_method: MethodScores, methods: Sequence[MethodScores], max_accuracy_drop: float = MAX_ACCURACY_DROP
) -> MethodScores:
    """The method whose attention points most often, the first of equals; the run's own method if none is better."""
    admissible = [method for method in methods if not refusal(method, max_accuracy_drop)]
    best = max(admissible, key=lambda method: method.points, default=own_method)
    return best if best.points > own_method.points else own_method


def frontier(methods: Sequence[MethodScores]) -> list[MethodScores]:
    """Methods that no other one beats in both accuracy and share, by accuracy."""
    return [
        method
        for method in sorted(methods, key=lambda method: method.accuracy)
        if not any(
            other.accuracy >= method.accuracy
            and other.points >= method.points
            and (other.accuracy, other.points) != (method.accuracy, method.points)
            for other in methods
        )
    ]


# The search for the best recipe: judged on dev texts, then tested on test texts with seeds that had no part in it.

SEEDS, FRESH_SEEDS = 2, 3
"""Seeds that judge each method, and that test the chosen one and the run's own."""
TAUGHT = 2
"""Recipes without teachers that are tried with them."""
TEXTS = 400
"""Texts that judge, at most."""
ON_DEV = OutcomeSettings(replaced_texts=0)
"""Methods are compared with words deleted; the answer on test texts also replaces them."""

CarryOut = Callable[[Plan, str], None]
"""Does what is missing of a plan, and says what it is for."""


@dataclass(frozen=True)
class Tested:
    """The run's own method and the chosen one on test texts, over seeds that had no part in the choice.

    Args:
        before, after: their audits, pooled over seeds.
        own_way, chosen: their scores.
    """

    before: AuditFiles
    after: AuditFiles
    own_way: MethodScores
    chosen: MethodScores


@dataclass(frozen=True)
class Improvement:
    """The result of a search.

    Args:
        own_way: the run's own method, on dev texts.
        others: all other methods that were tried, on dev texts.
        chosen: the best of all, on dev texts.
        key: the run that was trained by it, with the original seed.
        tested: None if nothing is better than the run's own method.
    """

    own_way: MethodScores
    others: tuple[MethodScores, ...]
    chosen: MethodScores
    key: str
    tested: Tested | None = None


def improve(
    run: Run,
    store: Store,
    carry_out: CarryOut,
    *,
    max_accuracy_drop: float = MAX_ACCURACY_DROP,
    texts: int | None = None,
) -> Improvement:
    """The best recipe for a run: first without teachers, then the best two of these with them, too.

    Args:
        run: with the fingerprints of its data.
        carry_out: makes the audits that are asked for; what was made before costs nothing.
        max_accuracy_drop: accuracy that may be lost, on dev.
        texts: that judge, at most.
    """
    check_improvable(run)
    on_dev = AuditSettings(tests=TESTS, split="dev", examples=texts or TEXTS, shown=0, outcome=ON_DEV)
    search = _Search(run, store, carry_out)
    own, alone = own_way(run), first_candidates()

    def judge(ways: Sequence[Candidate], purpose: str) -> list[list[AuditFiles]]:
        return search.audits(ways, range(run.seed, run.seed + SEEDS), on_dev, purpose)

    audits = judge([own, *alone], "recipes without teachers")
    base, *others = (_scores(way, each, audits[0]) for way, each in zip((own, *alone), audits, strict=True))
    ways = {way.name: way for way in (own, *alone)}
    best = sorted(others, key=lambda method: -method.points)[:TAUGHT]
    taught = [ways[method.name].with_teachers for method in best]
    audits_of_taught = judge(taught, "the best of them with teachers")
    others += [_scores(way, each, audits[0]) for way, each in zip(taught, audits_of_taught, strict=True)]
    ways |= {way.name: way for way in taught}
    chosen = choose(base, others, max_accuracy_drop)
    tested = None if chosen.name == base.name else search.test(own, ways[chosen.name])
    key = key_of(ways[chosen.name].trained_from(run, run.seed))
    return Improvement(base, tuple(others), chosen, key, tested)


@dataclass(frozen=True)
class _Search:
    """Training methods, each with several seeds, audited."""

    run: Run
    store: Store
    carry_out: CarryOut

    def test(self, own: Candidate, chosen: Candidate) -> Tested:
        """The run's own way and the chosen one, audited on test texts, with seeds that had no part in the choice."""
        seeds = range(self.run.seed + SEEDS, self.run.seed + SEEDS + FRESH_SEEDS)
        purpose = "before and after, on test texts with other seeds"
        before, after = self.audits([own, chosen], seeds, AuditSettings(), purpose)
        pools = self._plan([own, chosen], seeds, AuditSettings()).wanted
        pooled = [read_audit(self.store.audits / key) for key in pools]
        return Tested(pooled[0], pooled[-1], _scores(own, before, before), _scores(chosen, after, before))

    def audits(
        self, ways: Sequence[Candidate], seeds: range, settings: AuditSettings, purpose: str
    ) -> list[list[AuditFiles]]:
        """For each method, the audits of its seeds, each compared with the others."""
        plan = self._plan(ways, seeds, settings)
        is_kept = settings.split == "test"  # audits of dev texts are not looked up later: they are not pooled
        self.carry_out(plan if is_kept else replace(plan, wanted=tuple(plan.audits)), purpose)
        return [[read_audit(self.store.audits / key) for key in plan.pools[wanted]] for wanted in plan.wanted]

    def _plan(self, ways: Sequence[Candidate], seeds: range, settings: AuditSettings) -> Plan:
        runs = [way.trained_from(self.run, seeds[0]) for way in ways]
        return plan_audits(runs, settings, self.store, seeds=len(seeds))


def _scores(way: Candidate, audits: Sequence[AuditFiles], base: Sequence[AuditFiles]) -> MethodScores:
    """Scores of a training method from its audits; lost accuracy is relative to the run's own method, with audits
    `base`.
    """
    columns, own = (columns_of([audit.rows for audit in group]) for group in (audits, base))
    first = audits[0].verdict
    cells = outcomes_of([audit.outcomes.filter(pl.col("split") == first.split) for audit in audits], first.labels)
    points = share_interval(cells.points.where(cells.decided != 0, 0.0))
    before, after = own[CORRECT], columns[CORRECT]
    seeds = min(len(before), len(after))
    lost = Estimate(0.0, 0.0, 0.0, 0) if audits is base else difference_interval(before[:seeds], after[:seeds])
    return MethodScores(
        name=way.name,
        options=dict(way.options),
        runs=tuple(audit.verdict.run for audit in audits),
        accuracy=after.mean().item(),
        lost=lost.value,
        lost_low=lost.low,
        lost_high=lost.high,
        points=points.value,
        points_low=points.low,
        points_high=points.high,
        decided=cells.decided.nanmean().item(),
    )


__all__ = ["Candidate", "Improvement", "MethodScores", "choose", "improve"]
