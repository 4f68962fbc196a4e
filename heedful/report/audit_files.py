"""An audit's files, read and checked. They may come from strangers: nothing in them is executed."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeInt, ValidationError

from heedful.errors import StoreError
from heedful.report.names import short_name

Columns = Mapping[str, Any]
"""Name and polars type of each column; a type of polars is no type that beartype can check."""

ROW_COLUMNS: Columns = pl.Schema(
    {
        "run": pl.String(),
        "split": pl.String(),
        "example": pl.Int32(),
        "item": pl.Int32(),
        "test": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),
        "solver": pl.String(),
    }
)
EXAMPLE_COLUMNS: Columns = pl.Schema(
    {
        "split": pl.String(),
        "example": pl.Int32(),
        "text": pl.String(),
        "items": pl.List(pl.String()),
        "label": pl.String(),
        "predicted": pl.String(),
        "probability": pl.Float64(),
        "adversary_probability": pl.Float64(),
    }
)
OPTIONAL: Columns = pl.Schema({"query": pl.String(), "replaced": pl.List(pl.String())})
"""Columns that not every audit has: filled with nothing where they are missing."""
NULLABLE = ("item", "value", "probability", "adversary_probability", "query", "replaced")


def _finite(number: float | None) -> float | None:
    """JSON as Python writes it may say NaN; here an undefined number is None, however it was written."""
    return number if number is not None and math.isfinite(number) else None


Number = Annotated[float | None, AfterValidator(_finite)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Line(_Part):
    """One question of the verdict and its answer."""

    name: str
    question: str
    value: Number = None
    low: Number = None
    high: Number = None
    floor: Number = None
    best: Number = None
    best_kind: Literal["ceiling", "yardstick"] | None = None
    score: Number = None
    score_low: Number = None
    score_high: Number = None
    texts: NonNegativeInt = 0
    undefined: NonNegativeInt = 0
    sentence: str = ""
    beside: dict[str, Any] = {}


class ShowInstead(_Part):
    """The ranking to show in place of attention, chosen on dev, with every ranking's mean fraction erased on test."""

    ranking: str
    sentence: str = ""
    fractions: dict[str, Number] = {}


class Word(_Part):
    """A word, the label it speaks for in the training texts, and its attention score."""

    word: str
    speaks_for: str = ""
    score: Number = None


class Words(_Part):
    """The most and the least attended words; the chance that a telling word has a larger score than a neutral one."""

    auroc: Number = None
    polar: NonNegativeInt = 0
    neutral: NonNegativeInt = 0
    most: tuple[Word, ...] = ()
    least: tuple[Word, ...] = ()


class Verdict(_Part):
    """What verdict.json says."""

    run: str
    model: str = ""
    data: str
    split: str = "test"
    texts: NonNegativeInt
    labels: tuple[str, ...]
    scores: dict[str, Number] = {}
    lines: tuple[Line, ...]
    answer: str = ""
    show_instead: ShowInstead | None = None
    words: Words | None = None
    settings: dict[str, Any] = {}
    command: str = ""
    seconds: Number = None
    versions: dict[str, str] = {}


@dataclass(frozen=True)
class AuditFiles:
    """One audit: a table of rows, the texts they speak of, and the verdict.

    Args:
        name: what the reader calls the model.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    verdict: Verdict
    name: str


def read_audit(folder: str | Path, name: str = "") -> AuditFiles:
    """The three files of an audit folder, checked against what the report needs of them.

    Args:
        name: what the reader calls the model; empty: its encoder and seed, or else its key.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise StoreError(
            f"{folder} must be the folder of an audit; there is no such folder. Run `heedful audit` first."
        )
    verdict = _read_verdict(folder / "verdict.json")
    rows = _read_table(folder / "rows.parquet", ROW_COLUMNS, {})
    examples = _read_table(folder / "examples.parquet", EXAMPLE_COLUMNS, OPTIONAL)
    # Other splits served to choose a ranking, not to report.
    rows, examples = (table.filter(pl.col("split") == verdict.split) for table in (rows, examples))
    if rows.is_empty():
        raise StoreError(f"{folder / 'rows.parquet'} must have rows of the split '{verdict.split}'; it has none.")
    _check_once(rows, ["example", "item", "test", "measure"], folder / "rows.parquet")
    _check_once(examples, ["example"], folder / "examples.parquet")
    _check_items(rows, examples, folder)
    return AuditFiles(rows, examples, verdict, name or short_name(verdict.settings, verdict.model or verdict.run))


def _read_verdict(path: Path) -> Verdict:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        # What can not be written again (half a surrogate pair, endless nesting) must not come as far as the page.
        json.dumps(said, ensure_ascii=False).encode()
        return Verdict.model_validate(said)
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing, so {path.parent} is no audit. Run `heedful audit` again.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise StoreError(f"{path} is not a verdict: {where}: {first['msg']}. Run `heedful audit` again.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} can not be read as JSON: {_first_line(error)}") from error


def _read_table(path: Path, columns: Columns, optional: Columns) -> pl.DataFrame:
    if not path.is_file():
        raise StoreError(f"{path} is missing, so {path.parent} is no audit. Run `heedful audit` again.")
    try:
        table = pl.read_parquet(path, hive_partitioning=False, glob=False)
    # Bytes that are wrong deep inside make polars panic, and a panic is no Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise StoreError(f"{path} can not be read as Parquet: {_first_line(error)}") from error
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise StoreError(f"{path} must have the columns {', '.join(columns)}; it lacks {', '.join(missing)}.")
    absent = {column: pl.lit(None, kind) for column, kind in optional.items() if column not in table.columns}
    return _cast(table.with_columns(**absent), {**columns, **optional}, path)


def _cast(table: pl.DataFrame, columns: Columns, path: Path) -> pl.DataFrame:
    for column, kind in columns.items():
        try:
            table = table.with_columns(pl.col(column).cast(kind))
        except pl.exceptions.PolarsError as error:
            was = table.schema[column]
            raise StoreError(f"{path}: column {column} must hold {kind}; it holds {was} that is not.") from error
        empty = table[column].null_count()
        if empty and column not in NULLABLE:
            raise StoreError(f"{path}: column {column} must have no empty cells; it has {empty}.")
    return table.select(list(columns))


def _check_once(table: pl.DataFrame, key: Sequence[str], path: Path) -> None:
    if table.select(key).is_duplicated().any():
        raise StoreError(f"{path} must name each {', '.join(key)} once; some stand there twice.")


def _check_items(rows: pl.DataFrame, examples: pl.DataFrame, folder: Path) -> None:
    """Every item row must point at a word that examples.parquet has."""
    items = rows.filter(pl.col("item").is_not_null()).select("example", "item").unique()
    known = examples.select("example", pl.col("items").list.len().alias("count"))
    joined = items.join(known, on="example", how="left")
    lost = joined.filter(pl.col("count").is_null() | (pl.col("item") >= pl.col("count")) | (pl.col("item") < 0))
    if not lost.is_empty():
        example, item, _ = lost.sort("example", "item").row(0)
        raise StoreError(
            f"{folder / 'rows.parquet'} speaks of item {item} of example {example}, "
            f"which {folder / 'examples.parquet'} does not have."
        )


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
