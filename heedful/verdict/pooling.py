"""The verdict on one training or several: rows in, lines, gate, advice and headline out."""

from collections.abc import Sequence
from math import isfinite

import polars as pl
import torch

from heedful.battery.question import Columns
from heedful.schema import Advice, Line, SeedScore, Verdict, updated
from heedful.verdict.advice import advise, can_advise, can_choose, compared_on_same_texts, others_in
from heedful.verdict.counting import counted, gate_reason, outcomes
from heedful.verdict.gate import has_learnt
from heedful.verdict.headline import answer_of, headline
from heedful.verdict.rankings import compare_rankings
from heedful.verdict.scoring import Rows, columns_of, lines_across

HALVES_SEED = 0
"""Which texts the ranking to show is chosen on, where there are no dev texts."""


def pooled_verdict(described: Sequence[Verdict], rows: Sequence[Rows], dev: Sequence[pl.DataFrame]) -> Verdict:
    """One verdict on trainings that differ in the seed alone, audited on the same texts.

    Args:
        described: what was audited, one a training; lines, gate, advice and headline are made anew.
        rows: of each training, in memory or on disk.
        dev: rows of dev texts, on which the ranking to show is chosen; empty where there are none.
    """
    first, columns = described[0], columns_of(rows)
    trainings = tuple(training for verdict in described for training in verdict.trainings)
    redundant = columns.get("redundancy.redundant")
    verdict = updated(
        first,
        trainings=trainings,
        scores=_mean_scores(described),
        learnt=has_learnt(columns),
        redundancy=None if redundant is None else redundant.nanmean().item(),
        lines=_lines(described, rows),
        rankings=compare_rankings(columns),
        seconds=sum(verdict.seconds or 0.0 for verdict in described),
        advice=None,
    )
    verdict = counted(verdict)
    if gate_reason(verdict) is None and can_advise(columns):
        verdict = updated(verdict, advice=_advice(verdict, columns, dev))
    return updated(verdict, headline=headline(verdict))


def _mean_scores(described: Sequence[Verdict]) -> dict[str, float]:
    """The mean of each prediction score that all trainings have."""
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
    """What each training says on one question."""
    scores = []
    for verdict, own in zip(described, lines, strict=True):
        if name in own:
            line, seed = own[name], verdict.trainings[0].seed if verdict.trainings else None
            numbers = line.model_dump(include={"value", "score", "score_low", "score_high"})
            scores.append(SeedScore(run=verdict.run, seed=seed, **numbers))
    return tuple(scores)


def _advice(verdict: Verdict, columns: Columns, dev: Sequence[pl.DataFrame]) -> Advice | None:
    """Chosen on dev texts where there are some, otherwise on half of the audited texts and reported on the other."""
    answer = answer_of(outcomes(verdict.lines, "relevance"))
    is_exact = not any(line.name == "erase_until_flip" and line.best_kind == "yardstick" for line in verdict.lines)
    words = {"item": verdict.item, "is_exact": is_exact}
    on_dev = columns_of(dev) if dev and not any(own.is_empty() for own in dev) else {}
    columns = compared_on_same_texts(columns)
    if can_choose(on_dev) and others_in(columns) <= others_in(on_dev):
        return advise(on_dev, columns, answer, chosen_on="dev texts", **words)
    texts = next(iter(columns.values())).shape[1]
    order = torch.randperm(texts, generator=torch.Generator().manual_seed(HALVES_SEED))
    first, second = order[: texts // 2], order[texts // 2 :]
    choice, test = ({name: values[:, half] for name, values in columns.items()} for half in (first, second))
    return advise(choice, test, answer, chosen_on="half of the texts (reported on the other half)", **words)
