"""The audit of several seeds of one model, from the audits of each: one verdict, all rows, a key of its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from heedful.errors import StoreError
from heedful.schema import Verdict, updated
from heedful.store.folders import atomic_folder
from heedful.store.store import (
    EXAMPLES,
    OUTCOMES,
    ROW_GROUP,
    ROWS,
    audit_defect,
    read_verdict_file,
    write_verdict,
)
from heedful.verdict.pooling import pooled_verdict


def write_pooled(audits: Sequence[Path], place: Path) -> None:
    """Write the audit of all seeds: all rows of texts, but the items and shown texts of the first seed that counts."""
    described = [read_verdict_file(audit) for audit in audits]
    rows = [pl.scan_parquet(audit / ROWS, hive_partitioning=False, glob=False) for audit in audits]
    outcomes = [pl.read_parquet(audit / OUTCOMES) for audit in audits]
    try:
        verdict = pooled_verdict(described, rows, outcomes)
    except KeyError as missing:
        runs = ", ".join(verdict.run for verdict in described)
        raise StoreError(
            f"the audits of {runs} have no rows of {missing}: another version of Heedful made them. Audit again."
        ) from missing
    left_out = verdict.answer.left_out if verdict.answer else ()
    shown = next((number for number, each in enumerate(described) if each.run not in left_out), 0)
    of_texts = [own if number == shown else own.filter(pl.col("item").is_null()) for number, own in enumerate(rows)]
    with atomic_folder(place, replace=place.is_dir() and audit_defect(place) is not None) as folder:
        pl.concat(of_texts).sink_parquet(folder / ROWS, row_group_size=ROW_GROUP)
        pl.concat(outcomes).write_parquet(folder / OUTCOMES)
        pl.read_parquet(audits[shown] / EXAMPLES).write_parquet(folder / EXAMPLES)
        write_verdict(updated(verdict, settings=_settings_of_all(described, verdict)), folder)


def _settings_of_all(described: Sequence[Verdict], verdict: Verdict) -> Mapping[str, Any]:
    """What was audited, with all seeds or checkpoints."""
    first, run = described[0], described[0].settings.get("run")
    if not run:
        return {**first.settings, "model": ", ".join(each.settings.get("model", "") for each in described)}
    return {**first.settings, "run": {**run, "seed": [training.seed for training in verdict.trainings]}}
