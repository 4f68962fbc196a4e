"""External scores (SHAP, captum, LRP, ferret ...), matched to the words that attention weighs: rankings by name."""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.items import item_of_token, items_are_tokens
from heedful.data.sources.columns import label_name, list_columns
from heedful.data.sources.records import Record, RecordFile, read_records, records_of_frame
from heedful.data.tokenizer import Span, spans_in
from heedful.errors import DataError, SettingError
from heedful.settings.data_folder import user_path
from heedful.types import Example, Trace

COLUMNS = (
    "a row for each word: 'id' of its text, 'word' (its number, from 0) or 'start' and 'end' ([start, end) "
    "characters), 'score', and perhaps 'name'"
)
"""What a table of scores must have."""

MOST_UNMATCHED = 0.5
"""A larger share of scores that fall on no word is an error: they must belong to other texts."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")

Where = int | Span
"""The index of a word, or [start, end) characters."""


@dataclass(frozen=True)
class TextScores:
    """The scores of one name in one text.

    Args:
        text: the id of the text.
        scores: finite numbers.
        where: what each is a score of.
        place: where the first of them is, for messages.
    """

    name: str
    text: str
    scores: tuple[float, ...]
    where: tuple[Where, ...]
    place: str


def read_scores(path: Path) -> list[TextScores]:
    """The scores in a file: parquet, jsonl, csv or tsv. Without a column `name` they are called as the file is."""
    return scores_of_table(read_records(path), path.name.removesuffix(".gz").rpartition(".")[0])


def scores_of_table(table: RecordFile, name: str) -> list[TextScores]:
    """The scores in a table, gathered by name and text in the order of their first row.

    Args:
        name: the name of the scores if there is no column `name`.
    """
    there = {*table.columns}
    if not {"id", "score"} <= there or not ("word" in there or {"start", "end"} <= there):
        raise DataError(f"{table.name}: a table of scores must have {COLUMNS}. {list_columns(table.columns)}")
    gathered: dict[tuple[str, str], list[tuple[float, Where, str]]] = {}
    for record, row in zip(table.records, table.places, strict=True):
        place = f"{table.name}, {row}"
        text = label_name(record.get("id"), "id", place)
        own = label_name(record.get("name"), "name", place) if "name" in there else name
        if text is None or own is None:
            raise DataError(f"{place}: column '{'name' if text else 'id'}' must not be empty.")
        score = _score(record.get("score"), f"{place}: column 'score'")
        gathered.setdefault((own, text), []).append((score, _where(record, place), place))
    together = {key: tuple(zip(*rows, strict=True)) for key, rows in gathered.items()}
    return [TextScores(*key, scores, where, places[0]) for key, (scores, where, places) in together.items()]


def _score(value: object, what: str) -> float:
    try:
        number = math.nan if value is None or isinstance(value, bool) else float(value)  # pyright: ignore
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            f"{what} must be a finite number; it is {value!r:.40}. Leave out words and texts that have no score."
        )
    return number


def _where(record: Record, place: str) -> Where:
    """What the score of a row is of: characters where it names them, else a word."""
    span = _whole(record.get("start")), _whole(record.get("end"))
    if span[0] is not None and span[1] is not None:
        return span[0], span[1]
    word = _whole(record.get("word"))
    if word is None:
        given = {name: record[name] for name in ("word", "start", "end") if name in record}
        raise DataError(
            f"{place}: there must be whole numbers as 'start' and 'end', or as 'word', which is the index of a word "
            f"counted from 0; there is {str(given):.80}."
        )
    return word


def _whole(value: object) -> int | None:
    """A whole number, however it was written; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
        return int(value)
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole and not isinstance(value, bool) else None  # pyright: ignore[reportArgumentType]


# Which words of a text a score is of: by characters, or by their numbers.


def overlapping(span: Span, words: Sequence[Span]) -> Sequence[int]:
    """The numbers of the words, given by their characters in order, that share a character with the span.

    >>> list(overlapping((4, 8), [(0, 2), (3, 6), (7, 9), (10, 11)]))
    [1, 2]
    """
    start, end = span
    if start >= end:
        return []
    return range(bisect_right([last for _, last in words], start), bisect_left([first for first, _ in words], end))


@dataclass(frozen=True, slots=True)
class TextWords:
    """The words of a text that scores may be of.

    Args:
        number: index of the text, as in `Batch.index`.
        id: what files call it.
        count: how many words attention may weigh.
        spans: the characters of each word; None if they are not known.
    """

    number: int
    id: str
    count: int
    text: str = ""
    spans: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class ExternalScores:
    """External scores by name and by the index of the text: one for each word.

    Args:
        notes: what was read, and what did not match, for the user to read.
    """

    scores: Mapping[str, Mapping[int, Float[Tensor, " _"]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def of_items(self, trace: Trace) -> dict[str, Float[Tensor, "batch item"]]:
        """The scores of the items of a trace, by name: NaN throughout a text that has none, 0 outside items.

        A sentence has the sum of its words' scores.
        """
        return {name: _of_items(texts, trace) for name, texts in self.scores.items()}


def words_of_examples(examples: Sequence[Example], numbers: Iterable[int]) -> list[TextWords]:
    """The words of these examples of a split.

    A text is identified by the file's id column; without one, by its row in the file; without that, by its index.
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
    known = [scored for scored in given if scored.text in by_id]
    if not known:
        raise DataError(_no_text(given, texts))
    scores, missed, count, bare = dict[str, dict[int, Tensor]](), list[str](), 0, Counter[str]()
    at_spaces = _numbered_at_spaces(known, by_id)
    for scored in known:
        text, touched = by_id[scored.text], set[int]()
        values = torch.zeros(text.count, dtype=torch.float64)
        for score, where in zip(scored.scores, scored.where, strict=True):
            words = _words_at(where, text, scored, at_spaces=scored.name in at_spaces)
            if words is None:
                continue
            count += 1
            missed += [] if words else [scored.place]
            touched |= {*words}
            values[list(words)] += score
        bare[scored.name] += text.count - len(touched)
        scores.setdefault(scored.name, {})[text.number] = values
    if len(missed) > MOST_UNMATCHED * count:
        raise DataError(
            f"scores must be of words of their texts; {len(missed)} of {count} fall on no word (first: {missed[0]}). "
            "Are they of other texts, or of texts that were cut otherwise? Character offsets, [start, end), fit any "
            "tokenizer."
        )
    notes = []
    for name, own in scores.items():
        words = sum(len(values) for values in own.values())
        missing = "" if len(own) == len(texts) else f" and none for {len(texts) - len(own)}, which are undefined for it"
        without = f"; {bare[name]} of {words} words have none and count as 0" if bare[name] else ""
        spaces = "; its words are those that spaces separate" if name in at_spaces else ""
        notes.append(f"'{name}' has scores for {len(own)} of {len(texts)} texts{missing}{without}{spaces}")
    if missed:
        notes.append(f"{len(missed)} of {count} scores fall on no word (first: {missed[0]})")
    if ids := len({scored.text for scored in given} - {*by_id}):
        notes.append(f"{ids} texts that scores name are not among the audited ones")
    return ExternalScores(scores, tuple(notes))


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
        f"{ours or 'none'} .... (A text's id is its value in the column 'id', or else its row in the file.)"
    )


def _numbered_at_spaces(given: Sequence[TextScores], by_id: Mapping[str, TextWords]) -> set[str]:
    """The names whose numbers count words as spaces separate them: in more texts they go as far as those than as ours.

    Numbers of our words would fall on the wrong ones without a notice.
    """
    votes: Counter[str] = Counter()
    for scored in given:
        text = by_id[scored.text]
        last = max((where + 1 for where in scored.where if isinstance(where, int)), default=-1)
        votes[scored.name] += (last == len(text.text.split())) - (last == text.count)
    return {name for name, vote in votes.items() if vote > 0}


def _words_at(where: Where, text: TextWords, scored: TextScores, *, at_spaces: bool) -> Sequence[int] | None:
    """The words that a score falls on; None for symbols and spaces, which are ignored."""
    if isinstance(where, int) and not at_spaces:
        return [where] if 0 <= where < text.count else []
    if text.spans is None:
        raise DataError(
            f"{scored.place}: scores of characters need the text, and that of '{text.id}' is not known. Give the "
            "numbers of words instead."
        )
    if isinstance(where, int):
        words = [word.span() for word in re.finditer(r"\S+", text.text)]
        return overlapping(words[where], text.spans) if 0 <= where < len(words) else []
    start, end = where
    is_blank = start == end or (0 <= start < end <= len(text.text) and not text.text[start:end].strip())
    return None if is_blank else overlapping(where, text.spans)


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


def external_scores_of(scores: object, texts: Sequence[TextWords], *, taken: Sequence[str] = ()) -> ExternalScores:
    """The scores that a user gives, laid over the words of the texts.

    Args:
        scores: the path of a table, a polars data frame with the same columns, or a dict from a name to a dict from a
            text's id to a score for each of its words.
        taken: names of other rankings.
    """
    if isinstance(scores, str | Path):
        given = read_scores(user_path(str(scores), "--scores"))
    elif isinstance(scores, polars.DataFrame):
        given = scores_of_table(records_of_frame("scores", scores), "scores")
    elif isinstance(scores, Mapping) and all(isinstance(own, Mapping) for own in scores.values()):
        given = [_of_dict(str(name), str(text), row) for name, own in scores.items() for text, row in own.items()]
    else:
        raise SettingError(
            "scores must be a path, a polars data frame, or a dict from a name to a dict from the id of a text to its "
            f"scores; it was {scores!r:.80}."
        )
    return match_scores(given, texts, taken=taken) if given else ExternalScores()


def _of_dict(name: str, text: str, row: object) -> TextScores:
    place = f"scores['{name}'], text {text!r:.40}"
    listed = row.detach().tolist() if isinstance(row, Tensor) else getattr(row, "tolist", lambda: row)()
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise SettingError(f"{place}: scores must be a list, an array or a tensor of numbers; it was {listed!r:.40}.")
    scores = tuple(_score(score, f"{place}: a score") for score in listed)
    return TextScores(name, text, scores, tuple(range(len(scores))), place)
