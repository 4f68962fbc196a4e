"""Many runs as one table, and how long more of them may take."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import polars as pl

from heedful.runs.store import RunFile, Store
from heedful.settings import Run
from heedful.settings.validation import flatten_settings, update_settings


def result_table(
    runs: Mapping[str, Run], store: Store, errors: Mapping[str, str], cached: Iterable[str] = ()
) -> pl.DataFrame:
    """One row a run: key, the settings that vary, status (cached, done, failed or left), error, test scores, seconds.

    Args:
        errors: why runs failed, as `sweep` returns them.
        cached: keys of the runs that were there before.
    """
    before = set(cached)
    settings = {key: flatten_settings(run.model_dump(mode="json")) for key, run in runs.items()}
    vary = _varying(list(settings.values()))
    rows = []
    for key, run in runs.items():
        described = store.read(key) if run in store else None
        status = "failed" if key in errors else "left" if described is None else "cached" if key in before else "done"
        scores = described.scores["test"] if described else {}
        chosen = {place: settings[key].get(place) for place in vary}
        seconds = described.seconds if described else None
        rows.append({"key": key, **chosen, "status": status, "error": errors.get(key), **scores, "seconds": seconds})
    names = dict.fromkeys(name for row in rows for name in row if name != "seconds")
    return pl.DataFrame({name: _column([row.get(name) for row in rows]) for name in (*names, "seconds")})


def _varying(settings: list[dict[str, Any]]) -> list[str]:
    """Places where not all runs are alike; what follows from others (the data's hash) left out."""
    places = dict.fromkeys(place for flat in settings for place in flat if not place.endswith("fingerprint"))
    return [place for place in places if any(flat.get(place) != settings[0].get(place) for flat in settings)]


def _column(values: list[Any]) -> pl.Series:
    """The values in one type: as text where they are lists or of several types."""
    kinds = {type(value) for value in values if value is not None}
    if list in kinds or not (len(kinds) <= 1 or kinds <= {int, float}):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    return pl.Series(values, strict=False)


def expected_seconds(run: Run, finished: Iterable[RunFile]) -> float | None:
    """The time a run will take, by the median of those that differ in the seed alone, or share its data and encoder."""
    alike: list[float] = []
    similar: list[float] = []
    for other in finished:
        if update_settings(other.run, {"seed": run.seed, "reference": run.reference}) == run:
            alike.append(other.seconds)
        if other.run.data == run.data and other.run.network.encoder == run.network.encoder:
            similar.append(other.seconds)
    times = alike or similar
    return median(times) if times else None
