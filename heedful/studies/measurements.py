"""What a study measures of its runs by itself, in place of an audit: done by workers, stored as keyed folders.

audits/<key>/  measurement.json   what was measured, of which run, with which settings
               rows.parquet       example, item (null), test, measure, value
               SHA256SUMS         checksums of the others
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from heedful.errors import StoreError
from heedful.store.folders import Files, damage_of, files_in, reason, write_checksums
from heedful.store.trained_files import UNREADABLE
from heedful.types import Dataset

DESCRIPTION, ROWS = "measurement.json", "rows.parquet"
SCHEMA = {"example": pl.Int64, "item": pl.Int32, "test": pl.String, "measure": pl.String, "value": pl.Float64}

Report = Callable[[int, int], None]
"""Called with texts done, and texts in all."""
Measure = Callable[[Path, Dataset, Mapping[str, int], Report], pl.DataFrame]
"""From the folder of a finished run, its data and settings to rows (SCHEMA)."""


@dataclass(frozen=True)
class Measurement:
    """A way to measure a run.

    Args:
        version: bumped when the same settings give other rows on purpose.
        function: what a worker calls; it must be importable there.
    """

    name: str
    version: int
    function: Measure
    settings: Mapping[str, int]


@dataclass(frozen=True)
class MeasuredRun:
    """A run that is to be measured, by its key."""

    measurement: Measurement
    run: str

    @property
    def key(self) -> str:
        """The name of the folder: a hash of what is measured, and of which run."""
        return hashlib.sha256(self.description().encode()).hexdigest()[:16]

    def description(self) -> str:
        """The same as JSON, for a worker to read."""
        measurement = self.measurement
        content = {"name": measurement.name, "version": measurement.version, "settings": dict(measurement.settings)}
        return json.dumps({**content, "run": self.run}, sort_keys=True)


@dataclass(frozen=True)
class Measured:
    """What a measurement found."""

    rows: pl.DataFrame
    seconds: float


def measurement_problem(folder: Path) -> str | None:
    """Why the folder is not a finished measurement, as part of a sentence; None where it is."""
    return damage_of(folder, (DESCRIPTION, ROWS)) if folder.is_dir() else "there is no such folder"


def read_measurement(folder: Path) -> Measured:
    """The rows of a finished measurement."""
    try:
        rows = pl.read_parquet(folder / ROWS, hive_partitioning=False, glob=False)
        seconds = float(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))["seconds"])
    except (KeyError, *UNREADABLE) as error:
        raise StoreError(f"{folder} is not a finished measurement: {reason(error)}. Delete that folder.") from error
    if dict(rows.schema) != SCHEMA:
        raise StoreError(f"{folder} is not a finished measurement: {ROWS} has other columns. Delete that folder.")
    return Measured(rows, seconds)


def pack_measurement(rows: pl.DataFrame, description: Mapping[str, object], seconds: float) -> Files:
    """The files that a measurement is stored as."""
    with TemporaryDirectory() as parent:
        folder = Path(parent)
        rows.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items()).write_parquet(folder / ROWS)
        content = json.dumps({**description, "seconds": seconds}, indent=2)
        (folder / DESCRIPTION).write_text(f"{content}\n", encoding="utf-8")
        write_checksums(folder)
        return files_in(folder)
