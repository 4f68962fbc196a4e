"""Audits of one model from several seeds, as one. Makes verdicts, so it needs torch, as the page does not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from heedful.errors import StoreError
from heedful.report.audits import AuditFiles, read_audit
from heedful.schema import Verdict, updated
from heedful.store.store import audit_defect, audits_of_run, pooled_key, save_audit
from heedful.verdict.pooling import pooled_verdict

Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)


def ensure_pooled(places: Sequence[Path], *, most: int | None = None) -> Path:
    """The folder of the audit of several seeds, beside the folders of the audits of each; of one seed, its own.

    Args:
        most: texts whose rows are in memory, of all audits together; None: all.
    """
    if len(places) == 1:
        return places[0]
    place = places[0].parent / pooled_key([each.name for each in places])
    if audit_defect(place) is not None:
        each = None if most is None else max(1, most // len(places))
        pooled = pool_audits([read_audit(own, most=each) for own in places])
        save_audit(pooled, place, rows=pooled.stored)
    return place


def by_training(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of each training, in order."""
    return rows.partition_by("run", maintain_order=True)


def audited_model(folder: Path, run: str) -> AuditFiles | None:
    """The newest audit of that run, of several seeds if there is one; None if it was not audited.

    One that has an answer comes before others of a few tests.
    """
    known = list(audits_of_run(folder, run))
    answered = [place for place, verdict in known if verdict.answer is not None]
    place = next(iter([*answered, *(place for place, _ in known)]), None)
    return None if place is None else read_audit(place)


def pool_audits(group: Sequence[AuditFiles]) -> AuditFiles:
    """The audits as one: all rows of texts, the items and shown texts of the first seed that counts."""
    first = group[0]
    if len(group) == 1:
        return first
    try:
        verdict = pooled_verdict(
            [audit.verdict for audit in group],
            [audit.rows if audit.stored is None else audit.stored for audit in group],
            [audit.outcomes for audit in group],
        )
    except KeyError as missing:
        runs = ", ".join(audit.verdict.run for audit in group)
        raise StoreError(
            f"the audits of {runs} have no rows of {missing}: another version of Heedful made them. Audit again."
        ) from missing
    left_out = verdict.answer.left_out if verdict.answer else ()
    shown = next((audit for audit in group if audit.verdict.run not in left_out), first)
    return replace(
        shown,
        rows=pl.concat([audit.rows if audit is shown else _without_items(audit.rows) for audit in group]),
        outcomes=pl.concat([audit.outcomes for audit in group]),
        stored=_all_stored(group, shown),
        verdict=updated(verdict, settings=_pooled_settings(group, verdict)),
        folders=tuple(folder for audit in group for folder in audit.folders),
    )


def _all_stored(group: Sequence[AuditFiles], shown: AuditFiles) -> pl.LazyFrame | None:
    """All rows of the audits on disk, as `pool_audits` joins those in memory; None where memory has them all."""
    if all(audit.stored is None for audit in group):
        return None
    stored = [(audit, audit.rows.lazy() if audit.stored is None else audit.stored) for audit in group]
    return pl.concat([rows if audit is shown else _without_items(rows) for audit, rows in stored])


def _without_items(rows: Table) -> Table:
    return rows.filter(pl.col("item").is_null())


def _pooled_settings(group: Sequence[AuditFiles], verdict: Verdict) -> Mapping[str, Any]:
    """What was audited, with all seeds or checkpoints."""
    first, run = group[0].verdict, group[0].verdict.settings.get("run")
    if not run:
        return {**first.settings, "model": ", ".join(audit.verdict.settings.get("model", "") for audit in group)}
    return {**first.settings, "run": {**run, "seed": [training.seed for training in verdict.trainings]}}
