"""Many runs as one table, and how long more of them may take."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from heedful.jobs.request import AuditRequest
from heedful.schema import Verdict
from heedful.settings import Run
from heedful.store.run_listing import varying_settings
from heedful.store.store import RunFile, Store, audit_defect, read_verdict_file

VERDICT_COLUMNS = ("answer", "points", "points_low", "points_high", "luck", "no_small_set", "recommendation")


def result_table(
    runs: Mapping[str, Run],
    store: Store,
    errors: Mapping[str, str],
    cached: Iterable[str] = (),
    *,
    audits: Mapping[str, AuditRequest] | None = None,
) -> pl.DataFrame:
    """One row per run: key, settings that vary, status (cached, done, failed or left), error, test scores, seconds.

    If runs are audited, also the answer, the share of texts in which attention points with its interval and luck, the
    share in which no small set decides, and what to show.

    Args:
        errors: why runs and audits failed, as `run` returns them.
        cached: keys of the runs (and audits) that were there before.
        audits: by the key of the run that each is of.
    """
    before, requests = set(cached), audits or {}
    settings = varying_settings(list(runs.values()))
    rows = []
    for place, key in enumerate(runs):
        audit = requests[key].key if key in requests else None
        described = store.read(key) if store.has(key) else None
        verdict = finished_verdict(store.audits / audit) if audit else None
        error = errors.get(key) or errors.get(audit or "")
        is_done = described is not None and (audit is None or verdict is not None)
        was_there = key in before and (audit is None or audit in before)
        status = "failed" if error else "left" if not is_done else "cached" if was_there else "done"
        chosen = {name: values[place] for name, values in settings.items()}
        row = {"key": key, **chosen, "status": status, "error": error}
        row |= described.scores["test"] if described else {}
        row |= verdict_columns(verdict) if requests else {}
        rows.append({**row, "seconds": described.seconds if described else None})
    names = dict.fromkeys(name for row in rows for name in row if name not in ("seconds", *VERDICT_COLUMNS))
    verdicts = VERDICT_COLUMNS if requests else ()
    return pl.DataFrame({name: _column([row.get(name) for row in rows]) for name in (*names, *verdicts, "seconds")})


def finished_verdict(folder: Path) -> Verdict | None:
    """The verdict of a finished audit; None if there is none."""
    return read_verdict_file(folder) if audit_defect(folder) is None else None


def verdict_columns(verdict: Verdict | None) -> dict[str, Any]:
    """The answer, its shares, and what to show; all None if there is no answer."""
    if verdict is None or verdict.answer is None:
        return dict.fromkeys(VERDICT_COLUMNS)
    answer, shares = verdict.answer, verdict.answer.overall.shares
    shown = answer.recommendation
    values = (
        answer.headline,
        shares.points.value,
        shares.points.low,
        shares.points.high,
        shares.luck,
        shares.no_small_set.value,
        None if shown is None else shown.ranking if shown.show == "ranking" else shown.show,
    )
    return dict(zip(VERDICT_COLUMNS, values, strict=True))


def _column(values: list[Any]) -> pl.Series:
    """The values in one type: as text where they are lists or of several types."""
    kinds = {type(value) for value in values if value is not None}
    if list in kinds or not (len(kinds) <= 1 or kinds <= {int, float}):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    return pl.Series(values, strict=False)


class Durations:
    """How long runs take, by those that are finished."""

    def __init__(self, finished: Iterable[RunFile]):
        self._alike: dict[str, list[float]] = defaultdict(list)
        self._similar: dict[str, list[float]] = defaultdict(list)
        for other in finished:
            self._alike[but_seed(other.run)].append(other.seconds)
            self._similar[_data_and_encoder(other.run)].append(other.seconds)

    def of(self, run: Run) -> float | None:
        """The median of those that differ in the seed alone, or else of those that share data and encoder."""
        times = self._similar.get(_data_and_encoder(run))
        return self.alike(run) or (median(times) if times else None)

    def alike(self, run: Run) -> float | None:
        """The median of those that differ in the seed alone."""
        times = self._alike.get(but_seed(run))
        return median(times) if times else None


def but_seed(run: Run) -> str:
    """The run without its seed and reference, as text."""
    return run.model_dump_json(exclude={"seed", "reference"})


def _data_and_encoder(run: Run) -> str:
    return run.data.model_dump_json() + (run.finetune.model if run.finetune else run.network.encoder)
