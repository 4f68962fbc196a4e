"""The verdict on one seed or several: rows and outcomes in, answer and lines out."""

from collections.abc import Sequence
from math import isfinite

import polars as pl

from heedful.schema import Line, SeedScore, Verdict, updated
from heedful.settings import AuditSettings
from heedful.verdict.audit_answer import answer_audit, beats_constant_prediction, is_labeled
from heedful.verdict.scoring import Rows, columns_of, compare_rankings, lines_across


def pooled_verdict(described: Sequence[Verdict], rows: Sequence[Rows], outcomes: Sequence[pl.DataFrame]) -> Verdict:
    """One verdict on runs that differ in the seed only, audited on the same texts.

    Args:
        described: what was audited, one per run; answer, gate and lines are made from rows and outcomes.
        rows: rows of each run, in memory or on disk.
        outcomes: outcomes of the audited texts and of dev texts, for each run; empty if the answer was not requested.
    """
    first, columns = described[0], columns_of(rows)
    trainings = tuple(training for verdict in described for training in verdict.trainings)
    redundant = columns.get("redundancy.redundant")
    verdict = updated(
        first,
        trainings=trainings,
        scores=_mean_scores(described),
        beats_constant=beats_constant_prediction(columns) if is_labeled(columns) else None,
        redundancy=None if redundant is None else redundant.nanmean().item(),
        lines=_lines(described, rows),
        rankings=compare_rankings(columns),
        seconds=sum(verdict.seconds or 0.0 for verdict in described),
        answer=None,
    )
    if any(own.is_empty() for own in outcomes):
        return verdict
    answer = answer_audit(
        columns,
        outcomes,
        first.split,
        first.labels,
        AuditSettings.model_validate(first.settings["audit"]),
        item=first.item,
        milliseconds={name: own for name, own in first.milliseconds.items() if own is not None},
        moved_note=first.moved_note,
        examples=[each.example for each in described],
    )
    return updated(verdict, answer=answer)


def _mean_scores(described: Sequence[Verdict]) -> dict[str, float]:
    """The mean of each prediction score that all runs have."""
    names = [name for name in described[0].scores if all(name in verdict.scores for verdict in described)]
    values = {name: [verdict.scores[name] for verdict in described] for name in names}
    known = {name: [value for value in own if value is not None and isfinite(value)] for name, own in values.items()}
    return {name: sum(own) / len(own) for name, own in known.items() if own}


def _lines(described: Sequence[Verdict], rows: Sequence[Rows]) -> tuple[Line, ...]:
    words = described[0].item, described[0].counted_on
    pooled = lines_across(rows, *words)
    if len(rows) == 1:
        return pooled
    by_seed = [{line.name: line for line in lines_across([own], *words)} for own in rows]
    return tuple(updated(line, by_seed=_by_seed(line.name, described, by_seed)) for line in pooled)


def _by_seed(name: str, described: Sequence[Verdict], lines: Sequence[dict[str, Line]]) -> tuple[SeedScore, ...]:
    """The result of each run for one question."""
    scores = []
    for verdict, own in zip(described, lines, strict=True):
        if name in own:
            line, seed = own[name], verdict.trainings[0].seed if verdict.trainings else None
            numbers = line.model_dump(include={"value", "score", "score_low", "score_high"})
            scores.append(SeedScore(run=verdict.run, seed=seed, **numbers))
    return tuple(scores)
