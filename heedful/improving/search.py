"""The search for the best recipe: judged on dev texts, then tested on test texts with seeds that had no part in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heedful.improving.candidates import Candidate, check_improvable, first_candidates, own_way
from heedful.improving.choosing import MOST_LOST, choose
from heedful.improving.method_scores import OPTIONS, TESTS, Point, point_of
from heedful.report.audit_files import AuditFiles
from heedful.report.pooled import pool_checkpoints
from heedful.runs.companions import PlannedAudit, plan_audits
from heedful.settings import AuditSettings, Run, key_of
from heedful.verdict.scoring import columns_of

SEEDS, FRESH_SEEDS = 2, 3
"""Trainings that judge each way, and that test the chosen one beside the run's own."""
TAUGHT = 2
"""Recipes without teachers that are tried with them."""
TEXTS = 400
"""Texts that judge, at most."""
MORE_TESTS = (
    "permutation",
    "adversarial_attention",
    "erase_one",
    "sign",
    "uniform",
    "embedding_noise",
    "word_substitution",
)
"""What else is asked in the end: also whether other attention would do as well."""

Auditor = Callable[[Sequence[PlannedAudit], AuditSettings, str], Sequence[AuditFiles]]
"""From audits to be made, their settings and what they are for to their files: where and how is the caller's."""


@dataclass(frozen=True)
class Tested:
    """The run's own way and the chosen one on test texts, over seeds that had no part in the choice.

    Args:
        before, after: their audits, pooled over seeds.
        own_way, chosen: the same as points.
    """

    before: AuditFiles
    after: AuditFiles
    own_way: Point
    chosen: Point


@dataclass(frozen=True)
class Improvement:
    """What a search came to.

    Args:
        own_way: the run's own way to train, on dev.
        points: all others that were tried, on dev.
        chosen: the best of all, on dev.
        key: the run that was trained so, from the original seed.
        tested: None where nothing is better than the run's own way.
    """

    own_way: Point
    points: tuple[Point, ...]
    chosen: Point
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
        run, auditor, AuditSettings(tests=TESTS, options=OPTIONS, split="dev", examples=texts or TEXTS, shown=0)
    )
    own, alone = own_way(run), first_candidates()
    base, *points = search.judge([own, *alone], "recipes without teachers")
    ways = {way.name: way for way in (own, *alone)}
    best = sorted(points, key=lambda point: -point.mean)[:TAUGHT]
    taught = [ways[point.name].with_teachers for point in best]
    points += search.judge(taught, "the best of them with teachers")
    ways |= {way.name: way for way in taught}
    chosen = choose(base, points, most_lost)
    tested = None if chosen.name == base.name else search.test(own, ways[chosen.name])
    key = key_of(ways[chosen.name].trained_from(run, run.seed))
    return Improvement(base, tuple(points), chosen, key, tested)


class _Search:
    """Ways to train, each from several seeds, audited and made into points."""

    def __init__(self, run: Run, auditor: Auditor, settings: AuditSettings):
        self.run, self.auditor, self.settings = run, auditor, settings
        self.base: Sequence[AuditFiles] = ()

    def judge(self, ways: Sequence[Candidate], purpose: str) -> list[Point]:
        """The ways as points on dev; the first that was ever judged is what accuracy is lost against."""
        seeds = range(self.run.seed, self.run.seed + SEEDS)
        audits = self._audits(ways, seeds, self.settings, purpose)
        self.base = self.base or audits[0]
        return [_point(way, own, self.base) for way, own in zip(ways, audits, strict=True)]

    def test(self, own: Candidate, chosen: Candidate) -> Tested:
        """The run's own way and the chosen one, put to more tests on test texts, from fresh seeds."""
        seeds = range(self.run.seed + SEEDS, self.run.seed + SEEDS + FRESH_SEEDS)
        settings = AuditSettings(tests=(*TESTS, *MORE_TESTS), options=OPTIONS)
        before, after = self._audits([own, chosen], seeds, settings, "before and after, on test texts with other seeds")
        points = (_point(way, audits, before) for way, audits in ((own, before), (chosen, after)))
        return Tested(pool_checkpoints(before), pool_checkpoints(after), *points)

    def _audits(
        self, ways: Sequence[Candidate], seeds: range, settings: AuditSettings, purpose: str
    ) -> list[list[AuditFiles]]:
        """For each way the audits of its trainings, each beside the others."""
        planned = plan_audits([way.trained_from(self.run, seeds[0]) for way in ways], seeds=len(seeds))
        read = list(self.auditor(planned, settings, purpose))
        return [read[start : start + len(seeds)] for start in range(0, len(read), len(seeds))]


def _point(way: Candidate, audits: Sequence[AuditFiles], base: Sequence[AuditFiles]) -> Point:
    columns, against = (columns_of([audit.rows for audit in group]) for group in (audits, base))
    keys = [audit.verdict.run for audit in audits]
    return point_of(way.name, columns, None if audits is base else against, options=way.options, runs=keys)
