"""The search for the best recipe: judged on dev texts, then tested on test texts with seeds that had no part in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from heedful.improving.candidates import Candidate, check_improvable, first_candidates, own_way
from heedful.improving.choosing import MOST_LOST, choose
from heedful.improving.method_scores import TESTS, MethodScores, score_method
from heedful.jobs.planning import PlannedAudit, plan_audits
from heedful.report.audit_files import AuditFiles
from heedful.report.pooled import pool_audits
from heedful.settings import AuditSettings, OutcomeSettings, Run, key_of
from heedful.verdict.scoring import columns_of

SEEDS, FRESH_SEEDS = 2, 3
"""Seeds that judge each method, and that test the chosen one and the run's own."""
TAUGHT = 2
"""Recipes without teachers that are tried with them."""
TEXTS = 400
"""Texts that judge, at most."""
ON_DEV = OutcomeSettings(replaced_texts=0)
"""Methods are compared with words deleted; the answer on test texts also replaces them."""

Auditor = Callable[[Sequence[PlannedAudit], AuditSettings, str], Sequence[AuditFiles]]
"""From audits to be made, their settings and what they are for to their files: where and how is the caller's."""


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
    """What a search came to.

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


def improve(run: Run, auditor: Auditor, *, most_lost: float = MOST_LOST, texts: int | None = None) -> Improvement:
    """The best recipe for a run: first without teachers, then the best two of these with them, too.

    Args:
        run: with the fingerprints of its data.
        auditor: makes the audits that are asked for; what was made before costs nothing.
        most_lost: accuracy that may be lost, on dev.
        texts: that judge, at most.
    """
    check_improvable(run)
    search = _Search(
        run, auditor, AuditSettings(tests=TESTS, split="dev", examples=texts or TEXTS, shown=0, outcome=ON_DEV)
    )
    own, alone = own_way(run), first_candidates()
    base, *others = search.judge([own, *alone], "recipes without teachers")
    ways = {way.name: way for way in (own, *alone)}
    best = sorted(others, key=lambda method: -method.points)[:TAUGHT]
    taught = [ways[method.name].with_teachers for method in best]
    others += search.judge(taught, "the best of them with teachers")
    ways |= {way.name: way for way in taught}
    chosen = choose(base, others, most_lost)
    tested = None if chosen.name == base.name else search.test(own, ways[chosen.name])
    key = key_of(ways[chosen.name].trained_from(run, run.seed))
    return Improvement(base, tuple(others), chosen, key, tested)


class _Search:
    """Ways to train, each with several seeds, audited and scored."""

    def __init__(self, run: Run, auditor: Auditor, settings: AuditSettings):
        self.run, self.auditor, self.settings = run, auditor, settings
        self.base: Sequence[AuditFiles] = ()

    def judge(self, ways: Sequence[Candidate], purpose: str) -> list[MethodScores]:
        """Scores of the methods on dev texts; the first that was ever judged is what accuracy is lost against."""
        seeds = range(self.run.seed, self.run.seed + SEEDS)
        audits = self._audits(ways, seeds, self.settings, purpose)
        self.base = self.base or audits[0]
        return [_scores(way, own, self.base) for way, own in zip(ways, audits, strict=True)]

    def test(self, own: Candidate, chosen: Candidate) -> Tested:
        """The run's own way and the chosen one, audited on test texts, with other seeds."""
        seeds = range(self.run.seed + SEEDS, self.run.seed + SEEDS + FRESH_SEEDS)
        before, after = self._audits(
            [own, chosen], seeds, AuditSettings(), "before and after, on test texts with other seeds"
        )
        scores = (_scores(way, audits, before) for way, audits in ((own, before), (chosen, after)))
        return Tested(pool_audits(before), pool_audits(after), *scores)

    def _audits(
        self, ways: Sequence[Candidate], seeds: range, settings: AuditSettings, purpose: str
    ) -> list[list[AuditFiles]]:
        """For each way the audits of its trainings, each beside the others."""
        planned = plan_audits([way.trained_from(self.run, seeds[0]) for way in ways], seeds=len(seeds))
        read = list(self.auditor(planned, settings, purpose))
        return [read[start : start + len(seeds)] for start in range(0, len(read), len(seeds))]


def _scores(way: Candidate, audits: Sequence[AuditFiles], base: Sequence[AuditFiles]) -> MethodScores:
    columns, against = (columns_of([audit.rows for audit in group]) for group in (audits, base))
    split = audits[0].verdict.split
    return score_method(
        way.name,
        columns,
        [audit.outcomes.filter(pl.col("split") == split) for audit in audits],
        audits[0].verdict.labels,
        None if audits is base else against,
        options=way.options,
        runs=[audit.verdict.run for audit in audits],
    )
