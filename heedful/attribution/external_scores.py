"""Scores from outside (SHAP, captum, LRP, ferret ...), laid over the words that attention weighs: rankings by name."""

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.items import item_of_token, items_are_tokens
from heedful.data.rationales import span_of
from heedful.data.sources.columns import label_name, list_columns
from heedful.data.sources.records import Record, RecordFile, read_records, records_of_frame
from heedful.data.tokenizer import Span, spans_in
from heedful.errors import DataError, SettingError
from heedful.settings.data_folder import user_path
from heedful.types import Example, Trace

# Scores as other tools write them: records of a text, words or characters of it, scores, and what they are called.

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
    scores = tuple(_score(score, columns["score"], place) for score in _listed_names(values["score"]))
    where = _where(values, columns, place)
    if where is not None and len(where) != len(scores):
        raise DataError(f"{place}: there must be as many scores as words; there are {len(scores)} and {len(where)}.")
    if where is None and not is_whole:
        raise DataError(f"{place}: nothing says what the score is of. A file of scores has {FORMAT}.")
    return _Entry(scores, where, is_whole, place)


def _where(values: dict[str, object], columns: dict[str, str], place: str) -> tuple[Where, ...] | None:
    """What the scores of a record are of: characters where it names them, else words; None: the words in order."""
    if values.get("offsets") is not None:
        return tuple(_span(offset, columns["offsets"], place) for offset in _listed_names(values["offsets"]))
    if values.get("start") is not None and values.get("end") is not None:
        ends = zip(_listed_names(values["start"]), _listed_names(values["end"]), strict=False)
        return tuple(_span([start, end], columns["start"], place) for start, end in ends)
    if values.get("word") is None:
        return None
    return tuple(_word(word, columns["word"], place) for word in _listed_names(values["word"]))


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


def _listed_names(value: object) -> Sequence:
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


# Which words of a text a score is of: by characters, by the words as they are written, or by their numbers.

_SPECIAL = re.compile(r"\[(?:CLS|SEP|PAD|MASK)\]|</?s>|<pad>|<start>|<end>|<bos>|<eos>|<\|endoftext\|>")
_PIECE = re.compile(r"^(?:##|▁|Ġ)+|</w>$")
"""What tokenizers put before or after the pieces of words."""


def overlapping(span: Span, words: Sequence[Span]) -> Sequence[int]:
    """The numbers of the words, given by their characters in order, that share a character with the span.

    >>> list(overlapping((4, 8), [(0, 2), (3, 6), (7, 9), (10, 11)]))
    [1, 2]
    """
    start, end = span
    if start >= end:
        return []
    return range(bisect_right([last for _, last in words], start), bisect_left([first for first, _ in words], end))


def find_strings(strings: Sequence[str], text: str) -> list[Span | None]:
    """Where in the text each of these strings is, one after the other; None for those that are not there.

    Case does not matter, nor what tokenizers add to pieces of words (##ing, ▁the, Ġthe). A symbol such as [CLS] is not
    looked for: its span is the empty one.

    >>> find_strings(["[CLS]", "un", "##real", "▁Films", "xyz", "!"], "Unreal films!")
    [(0, 0), (0, 2), (2, 6), (7, 12), None, (12, 13)]
    """
    lowered = text.lower() if len(text.lower()) == len(text) else text
    spans: list[Span | None] = []
    place = 0
    for string in strings:
        wanted = _PIECE.sub("", string.strip()).strip()
        if not wanted or _SPECIAL.fullmatch(string.strip()):
            spans.append((place, place))
            continue
        start = lowered.find(wanted.lower() if lowered is not text else wanted, place)
        if start < 0:
            spans.append(None)
            continue
        place = start + len(wanted)
        spans.append((start, place))
    return spans


def numbered_words(where: Sequence[object] | None, scores: int, text: str, count: int) -> int:
    """1 if numbers of words go as far as the words that spaces separate, -1 if as far as ours, 0 if neither or both.

    Args:
        where: what the scores are of; None: the words in order.
        count: how many words the text has as we cut it.

    >>> numbered_words([0, 1], 2, "not good!", 3), numbered_words(None, 3, "not good!", 3)
    (1, -1)
    """
    numbers = range(scores) if where is None else where
    whole = [number for number in numbers if isinstance(number, int)]
    if not whole or len(whole) != len(numbers):
        return 0
    last = max(whole) + 1
    return (last == len(text.split())) - (last == count)


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
MOST_UNMATCHED = 0.5
"""A larger share of scores that fall on no word is an error: they must belong to other texts."""


@dataclass(frozen=True, slots=True)
class TextWords:
    """The words of a text that scores may be of.

    Args:
        number: of the text, as `Batch.index` has it.
        id: what files call it.
        count: how many words attention may weigh.
        spans: the characters of each word; None where they are not known.
    """

    number: int
    id: str
    count: int
    text: str = ""
    spans: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class ExternalScores:
    """Scores from outside by name and by the number of the text: one for each word.

    Args:
        notes: what was read, and what did not match, for the user to read.
    """

    scores: Mapping[str, Mapping[int, Float[Tensor, " _"]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def of_items(self, trace: Trace) -> dict[str, Float[Tensor, "batch item"]]:
        """The scores of the items of a trace, by name: NaN throughout a text that has none, 0 where there is no item.

        A sentence has the sum of its words' scores.
        """
        return {name: _of_items(texts, trace) for name, texts in self.scores.items()}


def words_of_examples(examples: Sequence[Example], numbers: Iterable[int]) -> list[TextWords]:
    """The words of these examples of a split.

    A text is called by the file's id column; without one, by the number of its row; without that, by its number.
    """
    chosen = [(number, examples[number]) for number in numbers]
    has_ids, has_rows = (all(getattr(e, name) is not None for _, e in chosen) for name in ("id", "row"))
    texts = []
    for number, example in chosen:
        name = example.id if has_ids else str(example.row if has_rows else number)
        spans = spans_in(example.text, example.tokens)
        texts.append(TextWords(number, name or "", len(example.tokens), example.text, spans))
    return texts


def match_scores(
    given: Sequence[TextScores], texts: Sequence[TextWords], *, taken: Collection[str] = ()
) -> ExternalScores:
    """The scores laid over the words of the texts.

    A word has the sum of all scores that fall on it, so that the pieces of a word add up; what spans several words
    gives each of them its score. Words without a score have 0; texts without any are undefined.

    Args:
        taken: names that scores may not have: those of other rankings.
    """
    by_id = {text.id: text for text in texts}
    _check_names({scored.name for scored in given}, taken)
    unknown = [scored for scored in given if scored.text not in by_id]
    if len(unknown) == len(given):
        raise DataError(_no_text(unknown, texts))
    losses, scores = _Losses(), dict[str, dict[int, Tensor]]()
    at_spaces = _numbered_at_spaces(given, by_id)
    for scored in given:
        if scored.text in by_id:
            text = by_id[scored.text]
            values = _of_words(scored, text, losses, at_spaces=scored.name in at_spaces)
            scores.setdefault(scored.name, {})[text.number] = values
    losses.check()
    ids = len({scored.text for scored in unknown})
    return ExternalScores(scores, tuple(_notes(scores, len(texts), ids, losses, at_spaces)))


@dataclass
class _Losses:
    """What of the scores fell on no word, and which words had none."""

    scores: int = 0
    unmatched: int = 0
    first: str = ""
    words: int = 0
    bare: Counter[str] = field(default_factory=Counter)

    def count(self, scored: TextScores, matched: Sequence[Sequence[int]], words: int) -> None:
        """Count the scores of a text, of which each fell on some words."""
        missed = sum(not on for on in matched)
        self.scores += len(matched)
        self.unmatched += missed
        self.first = self.first or (scored.place if missed else "")
        self.words += words
        self.bare[scored.name] += words - len({word for on in matched for word in on})

    def check(self) -> None:
        """Raise where most scores fell on no word."""
        if self.unmatched > MOST_UNMATCHED * self.scores:
            raise DataError(
                f"scores must be of words of their texts; {self.unmatched} of {self.scores} fall on no word (first: "
                f"{self.first}). Are they of other texts, or of texts that were cut otherwise? Character offsets, "
                "[start, end), fit any tokenizer."
            )


def _check_names(names: Collection[str], taken: Collection[str]) -> None:
    for name in sorted(names):
        if not _NAME.fullmatch(name):
            raise SettingError(
                f"the name of scores must begin with a letter and have letters, digits, _ and - only (at most 40); it "
                f"was {name!r:.60}."
            )
        # A measure of some words ends in their number: attention_3.
        if name in taken or re.sub(r"_\d+$", "", name) in taken:
            raise SettingError(f"scores cannot be called '{name}': Heedful has a ranking of that name. Rename them.")


def _no_text(unknown: Sequence[TextScores], texts: Sequence[TextWords]) -> str:
    theirs, ours = (", ".join(repr(name) for name in [*dict.fromkeys(names)][:3]) for names in (
        (scored.text for scored in unknown), (text.id for text in texts)))  # fmt: skip
    return (
        f"scores must name the audited texts by their ids; none does. They name {theirs or 'none'} ...; the texts are "
        f"{ours or 'none'} .... (A text's id is its value in the column 'id', or else the number of its row.)"
    )


def _numbered_at_spaces(given: Sequence[TextScores], by_id: Mapping[str, TextWords]) -> set[str]:
    """The names whose numbers count words as spaces separate them: more texts have as many of those than of ours."""
    votes: Counter[str] = Counter()
    for scored in given:
        if scored.text in by_id:
            text = by_id[scored.text]
            votes[scored.name] += numbered_words(scored.where, len(scored.scores), text.text, text.count)
    return {name for name, vote in votes.items() if vote > 0}


def _of_words(scored: TextScores, text: TextWords, losses: _Losses, *, at_spaces: bool) -> Float[Tensor, " _"]:
    """The scores of the words of a text."""
    matched = _matched(scored, text, at_spaces=at_spaces)
    losses.count(scored, [words for words in matched if words is not None], text.count)
    values = [0.0] * text.count
    for score, words in zip(scored.scores, matched, strict=True):
        for word in words or ():
            values[word] += score
    return torch.tensor(values, dtype=torch.float64)


def _matched(scored: TextScores, text: TextWords, *, at_spaces: bool) -> list[Sequence[int] | None]:
    """The words that each score falls on; None for symbols and spaces, which nobody expects to."""
    where = tuple(range(len(scored.scores))) if scored.where is None else scored.where
    if any(isinstance(place, str) for place in where):
        spans: Sequence[Span | None] = find_strings([str(place) for place in where], text.text)
    elif at_spaces:
        words = [word.span() for word in re.finditer(r"\S+", text.text)]
        spans = [words[place] if isinstance(place, int) and 0 <= place < len(words) else None for place in where]
    elif all(isinstance(place, int) for place in where):
        return [[place] if isinstance(place, int) and 0 <= place < text.count else [] for place in where]
    else:
        spans = [place if isinstance(place, tuple) else None for place in where]
    if text.spans is None:
        raise DataError(
            f"{scored.place}: scores of characters need the text, and that of '{text.id}' is not known. Give the "
            "numbers of words instead."
        )
    return [_words_at(span, text.text, text.spans) for span in spans]


def _words_at(span: Span | None, text: str, words: Sequence[Span]) -> Sequence[int] | None:
    if span is None:
        return []
    start, end = span
    is_blank = start == end or (0 <= start < end <= len(text) and not text[start:end].strip())
    return None if is_blank else overlapping(span, words)


def _notes(
    scores: Mapping[str, Mapping[int, Tensor]], texts: int, ids: int, losses: _Losses, at_spaces: Collection[str]
) -> Iterator[str]:
    for name, own in scores.items():
        words = sum(len(values) for values in own.values())
        missing = "" if len(own) == texts else f" and none for {texts - len(own)}, which are undefined for it"
        bare = f"; {losses.bare[name]} of {words} words have none and count as 0" if losses.bare[name] else ""
        spaces = "; its words are those that spaces separate" if name in at_spaces else ""
        yield f"'{name}' has scores for {len(own)} of {texts} texts{missing}{bare}{spaces}"
    if losses.unmatched:
        yield f"{losses.unmatched} of {losses.scores} scores fall on no word (first: {losses.first})"
    if ids:
        yield f"{ids} texts that scores name are not among the audited ones"


def _of_items(texts: Mapping[int, Tensor], trace: Trace) -> Float[Tensor, "batch item"]:
    items, attendable_mask = trace.encoded.items.cpu(), trace.batch.attendable_mask.cpu()
    values = torch.zeros(items.shape, dtype=torch.float64)
    of_tokens = torch.zeros(attendable_mask.shape, dtype=torch.float64)
    for row, number in enumerate(trace.batch.index.tolist()):
        own = texts.get(number)
        if own is None:
            values[row, items[row]] = torch.nan
        elif len(own) == int(items[row].sum()):
            values[row, items[row]] = own
        elif len(own) == int(attendable_mask[row].sum()) and not items_are_tokens(trace):
            of_tokens[row, attendable_mask[row]] = own
        else:
            raise DataError(
                f"there must be a score for each word of text {number}; there are {len(own)} scores, and attention "
                f"weighs {int(items[row].sum())} items."
            )
    if not of_tokens.any():
        return values
    word_ids = item_of_token(trace).cpu()
    return values.scatter_add(1, word_ids.clamp_min(0), of_tokens.where(word_ids >= 0, 0.0))


# Scores as Python gives them: a file's path, a data frame, a dict by text, or rows in the order of the texts.

KINDS = (
    "a path, a polars data frame, a dict from the id of a text to its scores, or a list or tensor with a row of scores "
    "for each text"
)
"""What scores may be given as."""


def external_scores_of(scores: object, texts: Sequence[TextWords], *, taken: Sequence[str] = ()) -> ExternalScores:
    """The scores that Python gives by name, laid over the words of the texts.

    Args:
        scores: each a path, a polars data frame with the columns that a file of scores has, a dict from a text's id to
            a score for each of its words, or a list or tensor with a row for each text, in their order; what follows
            after a text's last word must be 0 or NaN.
        taken: names of other rankings.
    """
    if not isinstance(scores, Mapping) or not all(isinstance(name, str) for name in scores):
        raise SettingError(f"scores must be a dict from a name to {KINDS}; it is a {type(scores).__name__}.")
    gathered: list[TextScores] = []
    for name, value in scores.items():
        gathered += _named(name, value, texts)
    return match_scores(gathered, texts, taken=taken) if gathered else ExternalScores()


def _named(name: str, value: object, texts: Sequence[TextWords]) -> list[TextScores]:
    if isinstance(value, str | Path):
        return _renamed(name, read_scores(user_path(str(value), f"scores['{name}']")))
    if hasattr(value, "to_dicts") and hasattr(value, "columns"):
        file = records_of_frame(f"scores['{name}']", value)  # pyright: ignore[reportArgumentType]
        return _renamed(name, scores_of_records(file, name))
    if isinstance(value, Mapping):
        rows = [(str(text), row) for text, row in value.items()]
    elif isinstance(value, Sequence) or hasattr(value, "tolist"):
        rows = _in_order(name, value, texts)
    else:
        raise SettingError(f"scores['{name}'] must be {KINDS}; it is a {type(value).__name__}.")
    records = [{"id": text, "scores": _listed(row)} for text, row in rows]
    places = [f"text {text!r:.40}" for text, _ in rows]
    return scores_of_records(RecordFile(f"scores['{name}']", ("id", "scores"), records, places), name)


def _in_order(name: str, value: object, texts: Sequence[TextWords]) -> list[tuple[str, list]]:
    """A row for each text without its padding."""
    rows = [_listed(row) for row in _listed(value)]
    if len(rows) != len(texts):
        raise DataError(
            f"scores['{name}'] must have a row for each of the {len(texts)} audited texts; it has {len(rows)}. Give a "
            "dict from the id of a text to its scores to leave some out."
        )
    return [(text.id, _unpadded(row, text.count)) for text, row in zip(texts, rows, strict=True)]


def _unpadded(row: list, count: int) -> list:
    """The row up to the text's last word, if nothing but 0 and NaN follows."""
    rest = row[count:]
    is_padding = all(isinstance(score, int | float) and (score == 0 or score != score) for score in rest)
    return row[:count] if is_padding else row


def _listed(value: object) -> list:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    listed = value.tolist() if hasattr(value, "tolist") else value  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise SettingError(
            f"scores of a text must be a list, an array or a tensor of numbers; they are {listed!r:.40}."
        )
    return list(listed)


def _renamed(name: str, scored: list[TextScores]) -> list[TextScores]:
    """The same under the name that Python gives, which a column of other names would contradict."""
    names = sorted({own.name for own in scored})
    if len(names) > 1:
        raise DataError(
            f"scores['{name}'] must hold scores of one name; it holds {', '.join(names)}. Give each under its own name."
        )
    return [TextScores(name, own.text, own.scores, own.where, own.place) for own in scored]
