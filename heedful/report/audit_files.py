"""An audit's files, read and checked. They may come from strangers: nothing in them is executed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from heedful.errors import StoreError
from heedful.report.names import short_name
from heedful.schema import EXAMPLES, NULLABLE, OPTIONAL, ROWS, Verdict, updated
from heedful.verdict.counting import counted

Columns = Mapping[str, Any]
"""Name and polars type of each column; not `pl.Schema`, which beartype cannot check."""


@dataclass(frozen=True)
class AuditFiles:
    """One audit: a table of rows, the texts they speak of, and the verdict.

    Args:
        name: what the reader calls the model.
        dev: rows of the texts on which the ranking to show was chosen; empty where there are none.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    verdict: Verdict
    name: str
    dev: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ROWS))


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
    verdict = read_verdict(folder)
    every = _read_parquet(folder / "rows.parquet", ROWS)
    texts = _read_parquet(folder / "examples.parquet", EXAMPLES)
    # Other splits served to choose a ranking, not to report.
    rows, examples = (frame.filter(pl.col("split") == verdict.split) for frame in (every, texts))
    if rows.is_empty():
        raise StoreError(f"{folder / 'rows.parquet'} must have rows of the split '{verdict.split}'; it has none.")
    _check_once(rows, ["example", "item", "test", "measure"], folder / "rows.parquet")
    _check_once(examples, ["example"], folder / "examples.parquet")
    _check_items(rows, examples, folder)
    name = name or short_name(verdict.settings, verdict.model or verdict.run)
    return AuditFiles(rows, examples, verdict, name, every.filter(pl.col("split") != verdict.split))


def without_texts(audit: AuditFiles) -> AuditFiles:
    """The audit without any text or word of the data, for confidential ones."""
    verdict = updated(audit.verdict, words=None, substitutions=())
    rows = audit.rows.filter(pl.col("item").is_null())
    return replace(audit, rows=rows, examples=audit.examples.clear(), verdict=verdict)


def read_verdict(folder: Path) -> Verdict:
    """What was audited and what it came to."""
    path = folder / "verdict.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        # What cannot be written again (half a surrogate pair, endless nesting) must not come as far as the page.
        json.dumps(content, ensure_ascii=False).encode()
        # Outcomes follow from the numbers, whoever wrote the file.
        return counted(Verdict.model_validate(content))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing, so {path.parent} is no audit. Run `heedful audit` again.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise StoreError(f"{path} is not a verdict: {where}: {first['msg']}. Run `heedful audit` again.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read as JSON: {_first_line(error)}") from error


def _read_parquet(path: Path, schema: Columns) -> pl.DataFrame:
    if not path.is_file():
        raise StoreError(f"{path} is missing, so {path.parent} is no audit. Run `heedful audit` again.")
    try:
        frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
    # Bytes that are wrong deep inside make polars panic, and a panic is no Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise StoreError(f"{path} cannot be read as Parquet: {_first_line(error)}") from error
    missing = [column for column in schema if column not in (*frame.columns, *OPTIONAL)]
    if missing:
        raise StoreError(f"{path} must have the columns {', '.join(schema)}; it lacks {', '.join(missing)}.")
    absent = {column: pl.lit(None, kind) for column, kind in schema.items() if column not in frame.columns}
    return _cast(frame.with_columns(**absent), schema, path)


def _cast(frame: pl.DataFrame, schema: Columns, path: Path) -> pl.DataFrame:
    for column, kind in schema.items():
        try:
            frame = frame.with_columns(pl.col(column).cast(kind))
        except pl.exceptions.PolarsError as error:
            was = frame.schema[column]
            raise StoreError(f"{path}: column {column} must hold {kind}; it holds {was} that is not.") from error
        empty = frame[column].null_count()
        if empty and column not in NULLABLE:
            raise StoreError(f"{path}: column {column} must have no empty cells; it has {empty}.")
    return frame.select(list(schema))


def _check_once(frame: pl.DataFrame, key: Sequence[str], path: Path) -> None:
    if frame.select(key).is_duplicated().any():
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
