"""The user's own texts: one file, or a folder with a file for each split."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from heedful.data.draws import generator_of, stratified_order
from heedful.data.labelled_texts import SPLITS, Row, Rows
from heedful.data.sources.columns import RATIONALE, Columns, choose_columns, row_of, usual_columns
from heedful.data.sources.records import ENDINGS, Table, ending_of, read_table
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings
from heedful.types import Split

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "dev": "dev",
    "valid": "dev",
    "validation": "dev",
    "val": "dev",
    "test": "test",
}


def load(data: DataSettings) -> Rows:
    """The rows of the file or folder that `data.source` names.

    A folder has one file a split: train, dev (or valid, validation, val) and test. What is missing, and for a single
    file that is dev and test, is taken from train by `dev_share` and `test_share`, with the labels in their proportion.
    """
    path = Path(data.source).expanduser()
    if path.is_dir():
        return load_folder(path, data)
    if not path.is_file():
        raise DataError(f"there is no file or folder {path}.")
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    return rows_of(name, {"train": read_table(path)}, data)


def load_folder(folder: Path, data: DataSettings) -> Rows:
    """The rows of a folder, with the label names of its `meta.json` if there is one."""
    tables: dict[Split, Table] = {}
    for path in sorted(folder.iterdir()):
        split = split_of(path)
        if split is None:
            continue
        if split in tables:
            raise DataError(
                f"{folder} has two files for {split}: {Path(tables[split].name).name} and {path.name}. Keep one."
            )
        tables[split] = read_table(path)
    if "train" not in tables:
        raise DataError(f"{folder} must have a file train{{{','.join(ENDINGS)}}}; it has none.")
    _, label = usual_columns(tables["train"])
    return rows_of(folder.resolve().name, tables, data, {label or "": _label_names(folder / "meta.json")})


def split_of(path: Path) -> Split | None:
    """Which split a file holds, by its name.

    >>> split_of(Path("Valid.jsonl.gz")), split_of(Path("train.txt"))
    ('dev', None)
    """
    ending = ending_of(path)
    if ending not in ENDINGS:
        return None
    return SPLIT_NAMES.get(path.name.lower().removesuffix(".gz").removesuffix(ending))


def rows_of(
    name: str,
    tables: Mapping[Split, Table],
    data: DataSettings,
    label_names: Mapping[str, tuple[str, ...]] | None = None,
) -> Rows:
    """The rows of the tables; splits without a table are taken from train.

    Args:
        label_names: for a column that numbers its labels 0, 1, ...: what they are called.
    """
    columns = choose_columns(tables["train"], data)
    given: dict[Split, list[Row]] = {split: _rows(tables[split], columns) for split in SPLITS if split in tables}
    names = (label_names or {}).get(columns.label, ())
    is_named = _are_numbers_of(names, given)
    if is_named:
        given = {split: [replace(row, label=names[int(row.label)]) for row in rows] for split, rows in given.items()}
    parts, notes = _with_missing(given, data)
    return Rows(
        name=name,
        task=columns.task,
        **parts,
        labels=names if is_named else (),
        notes=(_said(tables["train"], columns), *(note for table in tables.values() for note in table.notes), *notes),
    )


def _rows(table: Table, columns: Columns) -> list[Row]:
    return [
        row_of(record, columns, f"{table.name}, {place}")
        for record, place in zip(table.records, table.places, strict=True)
    ]


def _are_numbers_of(names: tuple[str, ...], given: Mapping[Split, list[Row]]) -> bool:
    numbers = set(map(str, range(len(names))))
    return all(row.label in numbers for rows in given.values() for row in rows)


def _with_missing(given: dict[Split, list[Row]], data: DataSettings) -> tuple[dict[Split, list[Row]], list[str]]:
    """All three splits, and what was done for it."""
    rows = given["train"]
    shares: dict[Split, float] = {"dev": data.dev_share, "test": data.test_share}
    counts: dict[Split, int] = {
        split: round(share * len(rows)) for split, share in shares.items() if split not in given
    }
    for split, count in counts.items():
        if not shares[split]:
            raise SettingError(
                f"`{split}_share` must be above 0: there is no file for {split}, so it is taken from train."
            )
        counts[split] = max(1, count)
    if sum(counts.values()) >= len(rows):
        wanted = " and ".join(f"{count} for {split}" for split, count in counts.items())
        raise DataError(
            f"{len(rows)} rows are too few to take {wanted} from. "
            "Give more rows, or lower `dev_share` and `test_share`."
        )
    order = stratified_order([row.label for row in rows], generator_of("split", data.split_seed))
    parts, end = dict(given), len(rows)
    for split, count in counts.items():
        parts[split] = [rows[place] for place in sorted(order[end - count : end])]
        end -= count
    parts["train"] = [rows[place] for place in sorted(order[:end])]
    return parts, [f"{count} texts of train taken for {split}" for split, count in counts.items()]


def _said(table: Table, columns: Columns) -> str:
    query = f", queries '{columns.query}'" if columns.query is not None else ""
    is_unread = RATIONALE in table.columns and columns.rationale is None
    unread = f"; '{RATIONALE}' is not read, since it speaks of another column" if is_unread else ""
    return f"texts are column '{columns.text}'{query}, labels '{columns.label}'{unread}"


def _label_names(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}. Correct it or take it away.") from error
    names = content.get("label_names") if isinstance(content, dict) else None
    is_usable = (
        isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    )
    return tuple(names) if is_usable else ()  # pyright: ignore[reportArgumentType]
