"""Labelled texts as their source gives them, and how they become a Dataset: labels, limits, tokens, notes."""

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from sys import intern
from typing import get_args

from heedful.data.draws import generator_of, stratified_order
from heedful.data.sentences import sentence_starts
from heedful.data.tokenizer import Span, WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings
from heedful.types import Dataset, Example, Split, Task

SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled text.

    Args:
        rationale: [start, end) spans over `text.split(" ")` that the label rests on; None where unknown.
    """

    text: str
    label: str
    query: str = ""
    rationale: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class Rows:
    """All labelled texts of a source.

    Args:
        labels: the names of the labels in their order, where the source says; else they are sorted.
    """

    name: str
    task: Task
    train: Sequence[Row]
    dev: Sequence[Row]
    test: Sequence[Row]
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def to_dataset(rows: Rows, data: DataSettings, text: TextSettings, *, sentences: bool = False) -> Dataset:
    """The rows as examples, with a note on all that was left out or cut.

    In this order: other labels than `only_labels` go; the content is hashed; then, split by split, texts without a
    token and texts outside the length limits go, and longer ones are cut to `max_tokens`, until there are `train_limit`
    or `test_limit` texts. A limited split is a sample with the labels in their proportion, seeded by `split_seed`, in
    the source's order; a smaller limit gives a part of what a larger one gives.
    """
    rows = _with_labels(rows, data.only_labels)
    labels = _label_order(rows)
    reader = _Reader(WordTokenizer.from_settings(text), text, labels, rows.task != "classification", sentences)
    examples: dict[Split, tuple[Example, ...]] = {}
    notes = list(rows.notes)
    for split in SPLITS:
        limit = data.train_limit if split == "train" else data.test_limit
        kept = _sample(getattr(rows, split), reader, limit, f"{split}|{data.split_seed}")
        examples[split] = tuple(example for example, _ in kept if example is not None)
        notes += _told(split, Counter(outcome for _, outcome in kept))
    _check_examples(rows.name, labels, examples)
    return Dataset(rows.name, fingerprint_of(rows, labels), rows.task, labels, **examples, notes=tuple(notes))


def fingerprint_of(rows: Rows, labels: Sequence[str]) -> str:
    """A hash of what the rows say and of the labels' order, whatever file they came from and however they are cut."""
    digest = hashlib.sha256(json.dumps([rows.task, labels]).encode())
    for split in SPLITS:
        for row in getattr(rows, split):
            digest.update(
                json.dumps([split, row.text, row.label, row.query, row.rationale], ensure_ascii=False).encode()
            )
    return digest.hexdigest()


def rationale_positions(text: str, rationale: Iterable[Span], spans: Sequence[Span]) -> tuple[int, ...]:
    """The tokens, given by their characters, that share a character with a span over `text.split(" ")`.

    >>> rationale_positions("it isn't bad", [(1, 2)], [(0, 2), (3, 6), (6, 7), (7, 8), (9, 12)])
    (1, 2, 3)
    """
    words = text.split(" ")
    begins = list(accumulate((len(word) + 1 for word in words), initial=0))
    token_starts, token_ends = [start for start, _ in spans], [end for _, end in spans]
    positions: set[int] = set()
    for first, last in rationale:
        if first < last:
            end = begins[last - 1] + len(words[last - 1])
            positions |= {*range(bisect_right(token_ends, begins[first]), bisect_left(token_starts, end))}
    return tuple(sorted(positions))


def _with_labels(rows: Rows, wanted: Sequence[str]) -> Rows:
    if not wanted:
        return rows
    known = {row.label for split in SPLITS for row in getattr(rows, split)}
    if unknown := [label for label in wanted if label not in known]:
        raise SettingError(
            f"only_labels must name labels of {rows.name}; {', '.join(map(repr, unknown))} is none of them. "
            f"It has: {', '.join(sort_labels(known))}."
        )
    kept = {split: tuple(row for row in getattr(rows, split) if row.label in wanted) for split in SPLITS}
    said = ", ".join(f"{len(kept[split])} of {len(getattr(rows, split))} in {split}" for split in SPLITS)
    return replace(rows, **kept, notes=(*rows.notes, f"only labels {', '.join(wanted)} kept: {said}"))


def sort_labels(names: Iterable[str]) -> list[str]:
    """The names in order: by number where all are whole numbers, else by alphabet.

    >>> sort_labels({"10", "9"}), sort_labels({"10", "9", "b"})
    (['9', '10'], ['10', '9', 'b'])
    """
    names = set(names)
    if all(re.fullmatch(r"[+-]?[0-9]{1,18}", name) for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def _label_order(rows: Rows) -> tuple[str, ...]:
    counts = Counter(row.label for row in rows.train)
    if len(counts) < 2:
        found = "none" if not counts else f"'{next(iter(counts))}' alone"
        raise DataError(f"{rows.name}: the training texts must have at least two labels; they have {found}.")
    if len(counts) > max(50, len(rows.train) / 2):
        raise DataError(
            f"{rows.name}: the label must be a class, but the {len(rows.train)} training texts have {len(counts)} "
            "different ones. Is it the right column? Name it by `label`."
        )
    for split in ("dev", "test"):
        if unseen := Counter(row.label for row in getattr(rows, split) if row.label not in counts):
            label, count = unseen.most_common(1)[0]
            raise DataError(
                f"{rows.name}: label '{label}' is on {count} texts of {split} and on none of train (labels there: "
                f"{', '.join(sort_labels(counts))}). Correct the labels, or choose some by `only_labels`."
            )
    return tuple(label for label in (rows.labels or sort_labels(counts)) if label in counts)


@dataclass(frozen=True)
class _Reader:
    tokenizer: WordTokenizer
    text: TextSettings
    labels: tuple[str, ...]
    needs_query: bool
    sentences: bool

    def read(self, row: Row) -> tuple[Example | None, str]:
        """The example, if the row may become one, and what happened to it."""
        tokens, spans = self.tokenizer.split(row.text)
        query = self.tokenizer.split(row.query)[0] if self.needs_query else ()
        if refused := self._refusal(len(tokens), len(query)):
            return None, refused
        kept = len(tokens) if self.text.max_tokens is None else self.text.max_tokens
        spans = spans[:kept]
        example = Example(
            tokens=tuple(map(intern, tokens[:kept])),
            label=self.labels.index(row.label),
            query=tuple(map(intern, query)),
            sentences=sentence_starts(row.text, spans) if self.sentences else (),
            rationale=None if row.rationale is None else rationale_positions(row.text, row.rationale, spans),
            text=row.text,
        )
        return example, f"texts cut to {kept} tokens in" if kept < len(tokens) else ""

    def _refusal(self, length: int, query_length: int) -> str:
        if not length:
            return "empty texts dropped from"
        if self.needs_query and not query_length:
            return "texts with an empty query dropped from"
        if self.text.longer_than is not None and length <= self.text.longer_than:
            return f"texts of {self.text.longer_than} tokens or fewer dropped from"
        if self.text.shorter_than is not None and length >= self.text.shorter_than:
            return f"texts of {self.text.shorter_than} tokens or more dropped from"
        return ""


def _sample(rows: Sequence[Row], reader: _Reader, limit: int | None, seed: str) -> list[tuple[Example | None, str]]:
    """What became of the rows that were looked at until there were enough, in the source's order."""
    if limit is None or limit >= len(rows):
        return [reader.read(row) for row in rows]
    found: dict[int, tuple[Example | None, str]] = {}
    for place in stratified_order([row.label for row in rows], generator_of(seed)):
        found[place] = reader.read(rows[place])
        limit -= found[place][0] is not None
        if not limit:
            break
    return [found[place] for place in sorted(found)]


def _told(split: Split, outcomes: Counter[str]) -> list[str]:
    return [f"{count} {outcome} {split}" for outcome, count in outcomes.items() if outcome]


def _check_examples(name: str, labels: Sequence[str], examples: dict[Split, tuple[Example, ...]]) -> None:
    advice = "Give more texts, or change the limits, `only_labels`, `longer_than` and `shorter_than`."
    for split, kept in examples.items():
        if not kept:
            raise DataError(f"{name}: no text is left in {split}; there must be at least one. {advice}")
    trained = {example.label for example in examples["train"]}
    if missing := [label for number, label in enumerate(labels) if number not in trained]:
        raise DataError(f"{name}: no training text with label '{missing[0]}' is left. {advice}")
