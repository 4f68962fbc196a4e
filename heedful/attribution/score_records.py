"""Scores as other tools write them: records of a text, words or characters of it, scores, and what they are called."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heedful.data.rationale_forms import span_of
from heedful.data.sources.columns import label_name, list_columns
from heedful.data.sources.records import Record, RecordFile, read_records
from heedful.data.tokenizer import Span
from heedful.errors import DataError

ROLES: dict[str, tuple[str, ...]] = {
    "id": ("id", "text_id", "example", "row", "doc_id", "docid"),
    "score": ("score", "scores", "value", "attribution", "attributions", "importance", "importances", "weight"),
    "word": ("word", "words", "token", "tokens", "position", "word_index", "token_index", "index"),
    "start": ("start", "start_char", "begin"),
    "end": ("end", "end_char", "stop"),
    "offsets": ("offsets", "spans", "offset_mapping"),
    "name": ("name", "method", "ranking", "explainer"),
}
"""What columns may be called, the first that is there being taken."""

FORMAT = (
    "a text's id, the word (its number from 0, or as it is written) or start and end (characters), score, and perhaps "
    "name: a row for each word, or for each text with lists in place of word, offsets and scores"
)
"""What a file of scores must have."""

Where = int | str | Span
"""The number of a word, a word as it is written, or [start, end) characters."""


@dataclass(frozen=True)
class TextScores:
    """The scores of one name in one text.

    Args:
        text: the id of the text.
        scores: finite numbers.
        where: what each is a score of; None: of the text's words, in order.
        place: where the first of them stands, for messages.
    """

    name: str
    text: str
    scores: tuple[float, ...]
    where: tuple[Where, ...] | None
    place: str


def read_scores(path: Path) -> list[TextScores]:
    """The scores in a file: parquet, jsonl, csv or tsv. Without a column `name` they are called as the file is."""
    return scores_of_records(read_records(path), path.name.removesuffix(".gz").rpartition(".")[0])


def scores_of_records(file: RecordFile, name: str) -> list[TextScores]:
    """The scores in records, gathered by name and text in the order of their first record.

    Args:
        name: what scores are called where no column says so.
    """
    columns = _columns(file)
    gathered: dict[tuple[str, str], list[_Entry]] = {}
    for record, place in zip(file.records, file.places, strict=True):
        where = f"{file.name}, {place}"
        text = label_name(record.get(columns["id"]), columns["id"], where)
        own = label_name(record.get(columns["name"]), columns["name"], where) if "name" in columns else name
        if text is None or own is None:
            raise DataError(f"{where}: column '{columns['name' if text else 'id']}' must not be empty.")
        gathered.setdefault((own, text), []).append(_entry(record, columns, where))
    together = [_together(key, entries) for key, entries in gathered.items()]
    return _numbered(together) if "word" in columns else together


@dataclass(frozen=True)
class _Entry:
    """The scores of one record; `is_whole` where it speaks of a whole text."""

    scores: tuple[float, ...]
    where: tuple[Where, ...] | None
    is_whole: bool
    place: str


def _columns(file: RecordFile) -> dict[str, str]:
    """The column of each role that has one."""
    there = {column.lower(): column for column in reversed(file.columns)}
    columns = {role: there[name] for role, names in ROLES.items() for name in reversed(names) if name in there}
    for role in ("id", "score"):
        if role not in columns:
            raise DataError(
                f"{file.name}: there is no column for the {role} (such as '{ROLES[role][0]}'). A file of scores has "
                f"{FORMAT}. {list_columns(file.columns)}"
            )
    return columns


def _entry(record: Record, columns: dict[str, str], place: str) -> _Entry:
    values = {role: _parsed(record.get(column)) for role, column in columns.items() if role not in ("id", "name")}
    is_whole = isinstance(values["score"], list)
    scores = tuple(_score(score, columns["score"], place) for score in _listed(values["score"]))
    where = _where(values, columns, place)
    if where is not None and len(where) != len(scores):
        raise DataError(f"{place}: there must be as many scores as words; there are {len(scores)} and {len(where)}.")
    if where is None and not is_whole:
        raise DataError(f"{place}: nothing says what the score is of. A file of scores has {FORMAT}.")
    return _Entry(scores, where, is_whole, place)


def _where(values: dict[str, object], columns: dict[str, str], place: str) -> tuple[Where, ...] | None:
    """What the scores of a record are of: characters where it names them, else words; None: the words in order."""
    if values.get("offsets") is not None:
        return tuple(_span(offset, columns["offsets"], place) for offset in _listed(values["offsets"]))
    if values.get("start") is not None and values.get("end") is not None:
        ends = zip(_listed(values["start"]), _listed(values["end"]), strict=False)
        return tuple(_span([start, end], columns["start"], place) for start, end in ends)
    if values.get("word") is None:
        return None
    return tuple(_word(word, columns["word"], place) for word in _listed(values["word"]))


def _together(key: tuple[str, str], entries: Sequence[_Entry]) -> TextScores:
    """All records of a name in a text as one."""
    first = entries[0]
    if len(entries) > 1 and (repeated := [entry for entry in entries if entry.is_whole]):
        raise DataError(
            f"{repeated[-1].place}: the scores of '{key[0]}' in text '{key[1]}' must stand once; they also stand at "
            f"{first.place}."
        )
    where = None if first.where is None else tuple(_flat(entry.where or () for entry in entries))
    return TextScores(*key, tuple(_flat(entry.scores for entry in entries)), where, first.place)


def _numbered(given: list[TextScores]) -> list[TextScores]:
    """The same with numbers in place of words, if all words of a file (csv has nothing but strings) are numbers."""
    words = [word for scored in given for word in scored.where or () if isinstance(word, str)]
    if not words or not all(word.strip().isdecimal() and len(word) < 10 for word in words):
        return given
    return [
        replace(scored, where=tuple(int(word) if isinstance(word, str) else word for word in scored.where or ()))
        for scored in given
    ]


def _flat(parts: Iterator[Sequence]) -> Iterator:
    return (entry for part in parts for entry in part)


def _parsed(value: object) -> object:
    """Lists that a csv file holds as JSON are read."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return list(value) if isinstance(value, tuple) else value


def _listed(value: object) -> Sequence:
    return value if isinstance(value, list) else [value]


def _score(value: object, column: str, place: str) -> float:
    try:
        number = math.nan if value is None or isinstance(value, bool) else float(value)  # pyright: ignore
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            f"{place}: column '{column}' must be a finite number; it is {value!r:.40}. Leave out words and texts that "
            "have no score."
        )
    return number


def _span(value: object, column: str, place: str) -> Span:
    whole = [_number(end) for end in value] if isinstance(value, list | tuple) else value
    try:
        return span_of(whole)
    except TypeError as error:
        raise DataError(
            f"{place}: column '{column}' must name [start, end) characters by whole numbers; it is {value!r:.40}."
        ) from error


def _word(value: object, column: str, place: str) -> int | str:
    word = value if isinstance(value, str) else _number(value)
    if isinstance(word, bool) or not isinstance(word, int | str):
        raise DataError(f"{place}: column '{column}' must be a word or the number of one; it is {value!r:.40}.")
    return word


def _number(value: object) -> object:
    """A whole number, however it was written; anything else as it is."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    return value
