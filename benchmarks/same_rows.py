"""Rows and outcomes of fixed models, and the largest difference between those of two versions, column by column.

Three models are trained on built-in data (their weights depend on settings and seed alone), and the two golden models
take the weights of the reference implementation (HEEDFUL_GOLDEN, or the extract in tests/golden). Run it on two
versions of the package, each with its own folder, then compare the folders. Undefined values are equal to each other.

    python benchmarks/same_rows.py write FOLDER
    python benchmarks/same_rows.py compare BEFORE AFTER [RENAMED.json]

RENAMED.json maps old names of tests, measures and rankings to new ones.
"""

import json
import os
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import torch
from rich.console import Console
from rich.table import Table

import heedful

TRAINED = {
    "bilstm": {"data": {"source": "reviews"}, "network": {"encoder": "bilstm"}},
    "average": {"data": {"source": "planted"}, "network": {"encoder": "average"}},
    "cnn": {"data": {"source": "mock-1"}, "network": {"encoder": "cnn", "attention": "dot"}},
}
SIZES = {"hidden_size": 16, "embed_size": 16}
ASKED = heedful.AuditSettings(examples=60)
IDENTITY = {"example", "item", "test", "measure", "solver", "ranking", "removal", "split"}
"""Columns that say which value a row holds; the model's own key is another on each version."""


def audits() -> dict[str, heedful.Audit]:
    """Audits of all models by name."""
    from support.folders import golden_folder
    from support.golden_models import NAMES, load_golden

    source = "full" if os.environ.get("HEEDFUL_GOLDEN") else "extract"
    assert golden_folder(source).is_dir()
    made = {}
    for name in NAMES:
        golden = load_golden(name, source)
        made[name] = heedful.audit(golden.model, [golden.batch], ASKED)
    for name, settings in TRAINED.items():
        settings["network"] |= SIZES
        run = heedful.Run.model_validate({**settings, "training": {"epochs": 3}})
        data = heedful.load_data(run.data.source)
        made[name] = heedful.audit(heedful.train(run, data), data, ASKED)
    return made


def write(folder: Path) -> None:
    """Store rows and outcomes of every model."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, audit in audits().items():
        for part in ("rows", "outcomes"):
            table = getattr(audit, part)
            if table is not None:
                table.lazy().collect().write_parquet(folder / f"{name}.{part}.parquet")
        print(name)


def values_of(table: pl.DataFrame, names: dict[str, str]) -> dict[str, pl.DataFrame]:
    """Values by test and measure, or by ranking and column, each sorted by what identifies them."""
    table = table.with_columns(pl.col(pl.String).replace(names))
    keys = [column for column in table.columns if column in IDENTITY]
    table = table.sort(keys, nulls_last=True)
    if "measure" in table.columns:
        parts = table.partition_by("test", "measure", as_dict=True)
        return {".".join(key): part.select("value") for key, part in parts.items()}
    values = [column for column in table.columns if column not in {*IDENTITY, "run", "site"}]
    return {f"outcome.{column}": table.select(column) for column in values}


def difference(before: pl.Series, after: pl.Series) -> str:
    """The largest absolute difference, or how many values are not equal if they are no numbers."""
    if len(before) != len(after):
        return f"{len(before)} and {len(after)} values"
    if not before.dtype.is_numeric():
        return str((before.eq_missing(after).not_()).sum())
    first, second = (each.cast(pl.Float64).fill_null(float("nan")).to_numpy() for each in (before, after))
    if (np.isnan(first) != np.isnan(second)).any():
        return f"{(np.isnan(first) != np.isnan(second)).sum()} defined in one version only"
    return f"{np.nanmax(np.abs(np.where(first == second, 0.0, first - second)), initial=0.0):.2g}"


def fingerprint(series: pl.Series) -> str:
    """A hash of the values."""
    return sha256(repr(series.to_list()).encode()).hexdigest()[:8]


def compare(before: Path, after: Path, names: dict[str, str]) -> bool:
    """Print each column that differs; whether none does."""
    table = Table("model", "column", "values", "before", "after", "largest difference")
    equal = 0
    for path in sorted(before.glob("*.parquet")):
        sides = [values_of(pl.read_parquet(folder / path.name), names) for folder in (before, after)]
        for column in sorted(sides[0].keys() | sides[1].keys()):
            series = [side[column].to_series() if column in side else pl.Series([], dtype=pl.Float64) for side in sides]
            if series[0].eq_missing(series[1]).all() if len(series[0]) == len(series[1]) else False:
                equal += 1
                continue
            hashes = [fingerprint(each) for each in series]
            table.add_row(path.stem, column, str(len(series[0])), *hashes, difference(*series))
    console = Console(width=140)
    console.print(table)
    console.print(f"{equal} columns are equal to the bit, {table.row_count} are not")
    return not table.row_count


def main() -> None:
    command, *places = sys.argv[1:]
    torch.set_num_threads(1)
    if command == "write":
        sys.path.insert(0, str(Path(heedful.__file__).parents[1] / "tests"))
        write(Path(places[0]))
    else:
        names = json.loads(Path(places[2]).read_text()) if len(places) > 2 else {}
        sys.exit(not compare(Path(places[0]), Path(places[1]), names))


if __name__ == "__main__":
    main()
