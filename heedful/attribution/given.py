"""Scores from outside (SHAP, captum, LRP, ferret ...), laid over the words that attention weighs: rankings by name."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.items import item_of_token, items_are_tokens
from heedful.attribution.score_records import TextScores
from heedful.attribution.word_offsets import find_strings, numbered_words, overlapping
from heedful.data.tokenizer import Span, spans_in
from heedful.errors import DataError, SettingError
from heedful.types import Example, Trace

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
class GivenScores:
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
) -> GivenScores:
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
    return GivenScores(scores, tuple(_notes(scores, len(texts), ids, losses, at_spaces)))


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
    items, attendable = trace.encoded.items.cpu(), trace.batch.attendable.cpu()
    values = torch.zeros(items.shape, dtype=torch.float64)
    of_tokens = torch.zeros(attendable.shape, dtype=torch.float64)
    for row, number in enumerate(trace.batch.index.tolist()):
        own = texts.get(number)
        if own is None:
            values[row, items[row]] = torch.nan
        elif len(own) == int(items[row].sum()):
            values[row, items[row]] = own
        elif len(own) == int(attendable[row].sum()) and not items_are_tokens(trace):
            of_tokens[row, attendable[row]] = own
        else:
            raise DataError(
                f"there must be a score for each word of text {number}; there are {len(own)} scores, and attention "
                f"weighs {int(items[row].sum())} items."
            )
    if not of_tokens.any():
        return values
    owner = item_of_token(trace).cpu()
    return values.scatter_add(1, owner.clamp_min(0), of_tokens.where(owner >= 0, 0.0))
