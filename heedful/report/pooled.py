"""Audits of one model from several seeds, as one. Makes verdicts, so it needs torch, as the page does not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from heedful.errors import StoreError
from heedful.report.audit_files import AuditFiles, read_audit, read_verdict
from heedful.report.names import short_name
from heedful.schema import Verdict, updated
from heedful.verdict.comparison import audited_fingerprint
from heedful.verdict.pooling import pooled_verdict

Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)
BY_SEED = ("seed", "reference")
"""Settings of a run that differ between seeds of one model: the seed, and the run that it refers to."""


def pool_by_model(audits: Sequence[AuditFiles]) -> list[AuditFiles]:
    """One audit a model: those that differ in the seed alone, on the same texts, are pooled; in order."""
    groups: list[list[AuditFiles]] = []
    for audit in audits:
        group = next((group for group in groups if _differ_in_seed_alone(group[0].verdict, audit.verdict)), None)
        if group is None:
            groups.append([audit])
        else:
            group.append(audit)
    return [_pool(group) for group in groups]


def pool_checkpoints(audits: Sequence[AuditFiles]) -> AuditFiles:
    """Audits of several checkpoints of one model, given as such, as one."""
    return _pool(audits)


def by_training(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of each training, in order."""
    return rows.partition_by("run", maintain_order=True)


def audited_model(folder: Path, run: str) -> AuditFiles | None:
    """The newest audit of that run, pooled with those of its other seeds; None where it was not audited.

    One that has an answer comes before newer ones of a few tests.
    """
    newest = sorted(folder.glob("*/verdict.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    known = {path.parent: verdict for path in newest if (verdict := _readable(path.parent)) is not None}
    mine = [place for place, verdict in known.items() if verdict.run == run]
    if not mine:
        return None
    own = next((place for place in mine if known[place].answer is not None), mine[0])
    places = {known[own].run: own}
    for place, verdict in known.items():
        if _differ_in_seed_alone(known[own], verdict) and _is_whole(place):
            places.setdefault(verdict.run, place)
    return _pool([read_audit(place) for place in sorted(places.values(), key=lambda place: _seed(known[place]))])


def _readable(folder: Path) -> Verdict | None:
    try:
        return read_verdict(folder)
    except StoreError:
        return None


def _is_whole(folder: Path) -> bool:
    """Whether the audit can be read: one that cannot is no reason to refuse those of other seeds."""
    try:
        read_audit(folder)
    except StoreError:
        return False
    return True


def _differ_in_seed_alone(first: Verdict, other: Verdict) -> bool:
    is_ours = bool(first.settings.get("run"))
    return is_ours and first.run != other.run and _described(first) == _described(other)


def _described(verdict: Verdict) -> tuple[Any, ...]:
    """All that trainings of one model have in common."""
    data = verdict.data, audited_fingerprint(verdict)
    return _without_seed(verdict.settings), data, verdict.split, verdict.texts


def _without_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    run = settings.get("run")
    return {**settings, "run": run and {name: value for name, value in run.items() if name not in BY_SEED}}


def _seed(verdict: Verdict) -> int:
    return verdict.trainings[0].seed or 0 if verdict.trainings else 0


def _pool(group: Sequence[AuditFiles]) -> AuditFiles:
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
    settings, name = _pooled_settings(group, verdict)
    left_out = verdict.answer.left_out if verdict.answer else ()
    shown = next((audit for audit in group if audit.verdict.run not in left_out), first)
    return replace(
        shown,
        rows=pl.concat([audit.rows if audit is shown else _without_items(audit.rows) for audit in group]),
        outcomes=pl.concat([audit.outcomes for audit in group]),
        stored=_all_stored(group, shown),
        verdict=updated(verdict, settings=settings),
        name=name,
        folders=tuple(folder for audit in group for folder in audit.folders),
    )


def _all_stored(group: Sequence[AuditFiles], shown: AuditFiles) -> pl.LazyFrame | None:
    """All rows of the audits on disk, as `_pool` joins those in memory; None where memory has them all."""
    if all(audit.stored is None for audit in group):
        return None
    stored = [(audit, audit.rows.lazy() if audit.stored is None else audit.stored) for audit in group]
    return pl.concat([rows if audit is shown else _without_items(rows) for audit, rows in stored])


def _without_items(rows: Table) -> Table:
    return rows.filter(pl.col("item").is_null())


def _pooled_settings(group: Sequence[AuditFiles], verdict: Verdict) -> tuple[dict[str, Any], str]:
    """What was audited, with all seeds or checkpoints; and what to call it."""
    first, run = group[0].verdict, group[0].verdict.settings.get("run")
    if not run:
        models = [audit.verdict.settings.get("model", "") for audit in group]
        return {**first.settings, "model": ", ".join(models)}, group[0].name
    pooled = {**run, "seed": [training.seed for training in verdict.trainings]}
    name = short_name({"run": {**pooled, "seed": 0}}, verdict.model or verdict.run)
    return {**first.settings, "run": pooled}, name
