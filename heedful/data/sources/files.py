"""The user's own texts: one file, or a folder with a file for each split."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heedful.data.labeled_texts import SPLITS, Dropped, LabeledText, LabeledTexts
from heedful.data.rationales import read_rationales, word_spans_in
from heedful.data.sampling import seeded_generator, stratified_order
from heedful.data.sources.columns import (
    RATIONALE,
    ColumnRoles,
    check_columns,
    choose_columns,
    labelled_text,
    list_columns,
    row_ids,
    unlabeled_columns,
    usual_columns,
)
from heedful.data.sources.records import SUFFIXES, RecordFile, read_records, suffix_of
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings
from heedful.settings.data_folder import user_path
from heedful.types import Split

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "dev": "dev",
    "valid": "dev",
    "validation": "dev",
    "val": "dev",
    "test": "test",
}


def load(data: DataSettings) -> LabeledTexts:
    """The labeled texts of the file or folder that `data.source` names.

    A folder has one file per split: train, dev (or valid, validation, val) and test. What is missing, and for a single
    file that is dev and test, is taken from train by `dev_share` and `test_share`, with the labels in their proportion.
    """
    path = user_path(data.source, "DATA")
    if path.is_dir():
        return load_folder(path, data)
    if not path.is_file():
        raise DataError(f"there is no file or folder {path}.")
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    return labelled_texts(name, {"train": read_records(path)}, data)


def load_unlabeled(data: DataSettings) -> LabeledTexts | None:
    """The texts of a single file without a column of labels; None if it has one, or is no file."""
    path = user_path(data.source, "DATA")
    if not path.is_file() or suffix_of(path) not in SUFFIXES:
        return None
    file = read_records(path)
    if (roles := unlabeled_columns(file, data)) is None:
        return None
    rows = zip(file.records, file.places, file.rows, row_ids(file, roles), strict=True)
    texts = [
        replace(own, label="")
        for record, place, row, row_id in rows
        if (own := labelled_text(record, roles, f"{file.name}, {place}", row, row_id)) is not None
    ]
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    return LabeledTexts(name=name, task=roles.task, train=(), dev=(), test=texts, notes=file.notes)


def load_folder(folder: Path, data: DataSettings) -> LabeledTexts:
    """The labeled texts of a folder, with the label names of its `meta.json` if there is one."""
    files: dict[Split, RecordFile] = {}
    for path in _inside(folder):
        split = split_of(path)
        if split is None:
            continue
        if split in files:
            raise DataError(
                f"{folder} has two files for {split}: {Path(files[split].name).name} and {path.name}. Keep one."
            )
        files[split] = read_records(path)
    if "train" not in files:
        raise DataError(f"{folder} must have a file train{{{','.join(SUFFIXES)}}}; it has none.")
    _, label = usual_columns(files["train"])
    return labelled_texts(folder.resolve().name, files, data, {label or "": _label_names(folder / "meta.json")})


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error


def split_of(path: Path) -> Split | None:
    """Which split a file holds, by its name.

    >>> split_of(Path("Valid.jsonl.gz")), split_of(Path("train.txt"))
    ('dev', None)
    """
    suffix = suffix_of(path)
    if suffix not in SUFFIXES:
        return None
    return SPLIT_NAMES.get(path.name.lower().removesuffix(".gz").removesuffix(suffix))


def has_set(folder: Path) -> bool:
    """Whether a folder holds a dataset that can be read."""
    try:
        return any(split_of(path) == "train" for path in folder.iterdir())
    except OSError:
        return False


def labelled_texts(
    name: str,
    files: Mapping[Split, RecordFile],
    data: DataSettings,
    label_names: Mapping[str, tuple[str, ...]] | None = None,
) -> LabeledTexts:
    """The labeled texts of the files, one per split; splits without a file are taken from train.

    Args:
        label_names: for a column that numbers its labels 0, 1, ...: what they are called.
    """
    roles = choose_columns(files["train"], data)
    given: dict[Split, list[LabeledText]] = {}
    dropped: list[Dropped] = []
    remarks: list[str] = []
    for split in SPLITS:
        if split in files:
            given[split], lost, own = _texts_of_file(files[split], roles)
            dropped += lost
            remarks += [note if len(files) == 1 else f"{split}: {note}" for note in own]
    names = (label_names or {}).get(roles.label, ())
    is_named = _are_numbers_of(names, given)
    if is_named:
        given = {split: [replace(text, label=names[int(text.label)]) for text in part] for split, part in given.items()}
    parts, notes = _with_missing(given, data)
    return LabeledTexts(
        name=name,
        task=roles.task,
        **parts,
        labels=names if is_named else (),
        notes=(
            _column_note(files["train"], roles),
            *(note for file in files.values() for note in file.notes),
            *remarks,
            *notes,
        ),
        dropped=tuple(dropped),
    )


def _texts_of_file(file: RecordFile, roles: ColumnRoles) -> tuple[list[LabeledText], list[Dropped], list[str]]:
    """The records that have a label, how many have none, and what to know of their marks."""
    check_columns(file, roles)
    texts: list[LabeledText] = []
    unlabelled: list[str] = []
    marks, notes = _marks(file, roles)
    rows = zip(file.records, file.places, file.rows, row_ids(file, roles), marks, strict=True)
    for record, place, row, row_id, own in rows:
        text = labelled_text(record, roles, f"{file.name}, {place}", row, row_id)
        if text is None:
            unlabelled.append(place)
        else:
            texts.append(replace(text, **own))
    _check_enough(file, roles, texts, unlabelled)
    dropped = [Dropped(len(unlabelled), "rows without a label", Path(file.name).name)] if unlabelled else []
    return texts, dropped, notes


def _marks(file: RecordFile, roles: ColumnRoles) -> tuple[Sequence[Mapping[str, Any]], list[str]]:
    """The human rationales of each record, in the format of `LabeledText`, and notes on them.

    A record has the marks of the annotators whose cell is not empty.
    """
    if not roles.rationales:
        return [{}] * len(file.records), []
    texts = [text if isinstance(text := record.get(roles.text), str) else "" for record in file.records]
    places = [f"{file.name}, {place}" for place in file.places]
    cells = {name: [record.get(name) for record in file.records] for name in roles.rationales}
    if roles.rationales == (RATIONALE,):
        spans = word_spans_in(cells[RATIONALE], texts, places, RATIONALE)
        if spans is not None:
            return [{"rationale": own} for own in spans], []
    columns = [read_rationales(cells[name], texts, places, name) for name in roles.rationales]
    marked = (tuple(own for own in row if own is not None) for row in zip(*(c.spans for c in columns), strict=True))
    return [{"marks": own or None} for own in marked], [note for column in columns for note in column.notes]


def _check_enough(file: RecordFile, roles: ColumnRoles, texts: list[LabeledText], unlabelled: list[str]) -> None:
    """Raise where more than half of the rows have no label or no text."""
    blank = sum(not text.text.strip() for text in texts)
    lost, total = len(unlabelled) + blank, len(file.records)
    if 2 * lost <= total:
        return
    reasons = []
    if unlabelled:
        reasons.append(f"{len(unlabelled)} have no label in column '{roles.label}' (first: {unlabelled[0]})")
    if blank:
        reasons.append(f"{blank} have no text in column '{roles.text}'")
    raise DataError(
        f"{file.name}: {lost} of {total} rows would be dropped, which is more than half: {' and '.join(reasons)}. Are "
        f"these the right columns? Name others by --text and --label. {list_columns(file.columns)}"
    )


def _are_numbers_of(names: tuple[str, ...], given: Mapping[Split, list[LabeledText]]) -> bool:
    numbers = set(map(str, range(len(names))))
    return all(text.label in numbers for part in given.values() for text in part)


def _with_missing(
    given: dict[Split, list[LabeledText]], data: DataSettings
) -> tuple[dict[Split, list[LabeledText]], list[str]]:
    """All three splits, and notes on what was taken from train."""
    train = given["train"]
    shares: dict[Split, float] = {"dev": data.dev_share, "test": data.test_share}
    counts: dict[Split, int] = {
        split: round(share * len(train)) for split, share in shares.items() if split not in given
    }
    for split, count in counts.items():
        if not shares[split]:
            raise SettingError(
                f"--set data.{split}_share must be above 0: there is no file for {split}, so it is taken from train."
            )
        counts[split] = max(1, count)
    if sum(counts.values()) >= len(train):
        wanted = " and ".join(f"{count} for {split}" for split, count in counts.items())
        raise DataError(
            f"{len(train)} rows are too few to take {wanted} from. "
            "Give more rows, or lower --set data.dev_share and data.test_share."
        )
    order = stratified_order([text.label for text in train], seeded_generator("split", data.split_seed))
    parts, end = dict(given), len(train)
    for split, count in counts.items():
        parts[split] = [train[place] for place in sorted(order[end - count : end])]
        end -= count
    parts["train"] = [train[place] for place in sorted(order[:end])]
    return parts, [f"{count} train texts moved to {split}" for split, count in counts.items()]


def _column_note(file: RecordFile, roles: ColumnRoles) -> str:
    query = f", queries '{roles.query}'" if roles.query is not None else ""
    is_unread = RATIONALE in file.columns and not roles.rationales
    unread = f"; '{RATIONALE}' is not read, since it refers to another column" if is_unread else ""
    return f"texts are column '{roles.text}'{query}, labels '{roles.label}'{unread}"


def _label_names(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}. Correct it or remove it.") from error
    names = content.get("label_names") if isinstance(content, dict) else None
    is_usable = (
        isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    )
    return tuple(names) if is_usable else ()  # pyright: ignore[reportArgumentType]
