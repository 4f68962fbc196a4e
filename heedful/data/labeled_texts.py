"""Labeled texts as their source gives them, and how they become a Dataset: labels, limits, tokens, notes."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from sys import intern
from typing import get_args

from heedful.data.rationales import characters_of, marked_tokens
from heedful.data.sampling import seeded_generator, stratified_order
from heedful.data.sentences import sentence_starts
from heedful.data.tokenizer import Span, WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings
from heedful.types import Dataset, Example, Split, Task

# Texts that occur twice: in one split, or in two, where a test text was seen in training.

Content = tuple[tuple[str, ...], tuple[str, ...]]


def content_of(example: Example) -> Content:
    """What the model reads of an example: the tokens of the text and of the query."""
    return example.tokens, example.query


def count_repeated(examples: Sequence[Example]) -> int:
    """How many examples say what an earlier one says.

    >>> count_repeated([Example(("a",), 0), Example(("b",), 0), Example(("a",), 1), Example(("a",), 0)])
    2
    """
    return len(examples) - len(set(map(content_of, examples)))


def count_conflicting(examples: Iterable[Example]) -> int:
    """How many different texts occur with more than one label.

    >>> count_conflicting([Example(("a",), 0), Example(("b",), 0), Example(("a",), 1), Example(("a",), 0)])
    1
    """
    pairs = {(content_of(example), example.label) for example in examples}
    return sum(count > 1 for count in Counter(content for content, _ in pairs).values())


def count_overlaps(examples: Mapping[Split, Sequence[Example]]) -> dict[tuple[Split, Split], int]:
    """For each two splits, how many texts of the second are also in the first.

    >>> count_overlaps({"train": [Example(("a",), 0)], "test": [Example(("a",), 1), Example(("b",), 0)]})
    {('train', 'test'): 1}
    """
    contents = {split: set(map(content_of, part)) for split, part in examples.items()}
    return {
        (first, second): sum(content_of(example) in contents[first] for example in examples[second])
        for first, second in combinations(examples, 2)
    }


def overlap_notes(examples: Mapping[Split, Sequence[Example]]) -> list[str]:
    """A note for each two splits that share texts.

    >>> overlap_notes({"train": [Example(("a",), 0)], "test": [Example(("a",), 1), Example(("b",), 0)]})
    ['1 of the 2 texts of test are also in train: scores on test may be too good']
    """
    return [
        f"{count:,} of the {len(examples[second]):,} texts of {second} are also in {first}"
        f"{f': scores on {second} may be too good' if first == 'train' else ''}"
        for (first, second), count in count_overlaps(examples).items()
        if count
    ]


SPLITS: tuple[Split, ...] = get_args(Split)


UNLABELED = -1
"""The label of a text without one."""
NO_LABELS = "the texts have no labels, so accuracy is not checked"


@dataclass(frozen=True, slots=True)
class LabeledText:
    """A text and its label, before tokenization.

    Args:
        rationale: [start, end) spans over `text.split(" ")` of the rationale for the label; None if unknown.
        marks: [start, end) characters that each annotator marked; None if only the rationale is known.
        row, id: where the text is in its file, as in `Example`; they are no part of the content.
    """

    text: str
    label: str
    query: str = ""
    rationale: tuple[Span, ...] | None = None
    row: int | None = None
    id: str | None = None
    marks: tuple[tuple[Span, ...], ...] | None = None


@dataclass(frozen=True)
class Dropped:
    """How many rows were dropped, from which split or file, and what they were ("empty texts")."""

    count: int
    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.count} {self.what} dropped from {self.where}"


@dataclass(frozen=True)
class LabeledTexts:
    """All labeled texts of a source.

    Args:
        labels: the names of the labels in their order, where the source gives one; otherwise they are sorted.
        dropped: rows of the source that are not labeled texts.
        is_generated: whether Heedful made the texts, in which case repetitions are as wanted.
    """

    name: str
    task: Task
    train: Sequence[LabeledText]
    dev: Sequence[LabeledText]
    test: Sequence[LabeledText]
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    is_generated: bool = False


def to_dataset(source: LabeledTexts, data: DataSettings, text: TextSettings, *, sentences: bool = False) -> Dataset:
    """The texts as tokenized examples, with notes on what was dropped or truncated and on texts in two splits.

    In this order: labels other than `only_labels` are dropped; the content is hashed; then, split by split, empty texts
    and texts outside the length limits are dropped, and longer ones are truncated to `max_tokens`, until there are
    `train_limit` or `test_limit` texts. A limited split is a stratified sample, seeded by `split_seed`, in the source's
    order; a smaller limit gives a subset of what a larger one gives.
    """
    return read_dataset(source, data, text, sentences=sentences)[0]


def read_dataset(
    source: LabeledTexts, data: DataSettings, text: TextSettings, *, sentences: bool = False
) -> tuple[Dataset, tuple[Dropped, ...]]:
    """As `to_dataset`, with a list of what was dropped."""
    source = _with_labels(source, data.only_labels)
    labels = _label_order(source)
    needs_query = source.task != "classification"
    reader = _Reader(WordTokenizer.from_settings(text), text, labels, needs_query, sentences, not source.is_generated)
    examples: dict[Split, tuple[Example, ...]] = {}
    dropped, notes = list(source.dropped), [*source.notes, *map(str, source.dropped)]
    for split in SPLITS:
        limit = data.train_limit if split == "train" else data.test_limit
        kept = _sample(getattr(source, split), reader, limit, f"{split}|{data.split_seed}")
        examples[split] = tuple(example for example, _ in kept if example is not None)
        lost = [Dropped(n, what, split) for what, n in Counter(w for e, w in kept if e is None).items()]
        shortened = Counter(what for example, what in kept if example is not None and what)
        dropped += lost
        notes += [*map(str, lost), *(f"{count} {what} {split}" for what, count in shortened.items())]
    _check_examples(source.name, labels, examples)
    if not source.is_generated:
        notes += overlap_notes(examples)
    fingerprint = fingerprint_of(source, labels)
    dataset = Dataset(source.name, fingerprint, source.task, labels, **examples, notes=tuple(notes))
    return dataset, tuple(dropped)


def unlabeled_dataset(
    source: LabeledTexts, data: DataSettings, text: TextSettings, *, sentences: bool = False
) -> Dataset:
    """Texts without labels, all of them to be audited, for a model that is trained."""
    reader = _Reader(WordTokenizer.from_settings(text), text, (), source.task != "classification", sentences, True)
    kept = _sample(source.test, reader, data.test_limit, f"test|{data.split_seed}")
    examples = tuple(example for example, _ in kept if example is not None)
    if not examples:
        raise DataError(f"{source.name} must have a text with words in it; it has none.")
    dropped = Counter(what for example, what in kept if example is None)
    notes = (*source.notes, NO_LABELS, *(str(Dropped(count, what, "test")) for what, count in dropped.items()))
    fingerprint = fingerprint_of(source, ())
    return Dataset(source.name, fingerprint, source.task, (), train=(), dev=(), test=examples, notes=notes)


def fingerprint_of(source: LabeledTexts, labels: Sequence[str]) -> str:
    """A hash of the content and the order of the labels, whatever the file format and the tokenization."""
    digest = hashlib.sha256(json.dumps([source.task, labels]).encode())
    for split in SPLITS:
        for text in getattr(source, split):
            # Texts without such marks keep the hash that they had before there were any.
            marks = [] if text.marks is None else [text.marks]
            content = [split, text.text, text.label, text.query, text.rationale, *marks]
            digest.update(json.dumps(content, ensure_ascii=False).encode())
    return digest.hexdigest()


def _with_labels(source: LabeledTexts, wanted: Sequence[str]) -> LabeledTexts:
    if not wanted:
        return source
    known = {text.label for split in SPLITS for text in getattr(source, split)}
    if unknown := [label for label in wanted if label not in known]:
        raise SettingError(
            f"data.only_labels must name labels of {source.name}; unknown: {', '.join(map(repr, unknown))}. "
            f"It has: {', '.join(sort_labels(known))}."
        )
    kept = {split: tuple(text for text in getattr(source, split) if text.label in wanted) for split in SPLITS}
    counts = ", ".join(f"{len(kept[split])} of {len(getattr(source, split))} in {split}" for split in SPLITS)
    return replace(source, **kept, notes=(*source.notes, f"only labels {', '.join(wanted)} kept: {counts}"))


def sort_labels(names: Iterable[str]) -> list[str]:
    """The names in order: numerically if all are integers, otherwise alphabetically.

    >>> sort_labels({"10", "9"}), sort_labels({"10", "9", "b"})
    (['9', '10'], ['10', '9', 'b'])
    """
    names = set(names)
    if all(re.fullmatch(r"[+-]?[0-9]{1,18}", name) for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def _label_order(source: LabeledTexts) -> tuple[str, ...]:
    counts = Counter(text.label for text in source.train)
    if len(counts) < 2:
        present = "none" if not counts else f"only '{next(iter(counts))}'"
        raise DataError(f"{source.name}: the training texts must have at least two labels; they have {present}.")
    if len(counts) > max(50, len(source.train) / 2):
        raise DataError(
            f"{source.name}: the label must be a class, but the {len(source.train)} training texts have {len(counts)} "
            "different labels. Is it the right column? Name another by --label."
        )
    for split in ("dev", "test"):
        if unseen := Counter(text.label for text in getattr(source, split) if text.label not in counts):
            label, count = unseen.most_common(1)[0]
            raise DataError(
                f"{source.name}: label '{label}' is on {count} texts of {split} and on none of train (labels there: "
                f"{', '.join(sort_labels(counts))}). Correct the labels, or choose some by "
                """--set data.only_labels='["NAME", ...]'."""
            )
    return tuple(label for label in (source.labels or sort_labels(counts)) if label in counts)


@dataclass(frozen=True)
class _Reader:
    tokenizer: WordTokenizer
    text: TextSettings
    labels: tuple[str, ...]
    needs_query: bool
    sentences: bool
    by_people: bool

    def read(self, labelled: LabeledText) -> tuple[Example | None, str]:
        """The example, or None if the text is dropped, and what was dropped or what was done to it."""
        tokens, spans = self.tokenizer.split(labelled.text)
        query = self.tokenizer.split(labelled.query)[0] if self.needs_query else ()
        if reason := self._reason_to_drop(len(tokens), len(query)):
            return None, reason
        kept = len(tokens) if self.text.max_tokens is None else self.text.max_tokens
        spans = spans[:kept]
        rationale, annotators = self._marked(labelled, spans)
        example = Example(
            tokens=tuple(map(intern, tokens[:kept])),
            label=self.labels.index(labelled.label) if self.labels else UNLABELED,
            query=tuple(map(intern, query)),
            sentences=sentence_starts(labelled.text, spans) if self.sentences else (),
            rationale=rationale,
            text=labelled.text,
            query_text=labelled.query if self.needs_query else "",
            row=labelled.row,
            id=labelled.id,
            annotators=annotators,
        )
        return example, f"texts cut to {kept} tokens in" if kept < len(tokens) else ""

    def _marked(
        self, labelled: LabeledText, spans: Sequence[Span]
    ) -> tuple[tuple[int, ...] | None, tuple[tuple[int, ...], ...]]:
        """The tokens of the rationale, and those that each annotator marked."""
        if labelled.marks is not None:
            annotators = tuple(marked_tokens(marks, spans) for marks in labelled.marks)
            return tuple(sorted({*chain.from_iterable(annotators)})), annotators
        if labelled.rationale is None:
            return None, ()
        positions = marked_tokens(characters_of(labelled.text, labelled.rationale), spans)
        return positions, (positions,) if self.by_people else ()

    def _reason_to_drop(self, length: int, query_length: int) -> str:
        if not length:
            return "empty texts"
        if self.needs_query and not query_length:
            return "texts with an empty query"
        if self.text.longer_than is not None and length <= self.text.longer_than:
            return f"texts of {self.text.longer_than} tokens or fewer"
        if self.text.shorter_than is not None and length >= self.text.shorter_than:
            return f"texts of {self.text.shorter_than} tokens or more"
        return ""


def _sample(
    texts: Sequence[LabeledText], reader: _Reader, limit: int | None, seed: str
) -> list[tuple[Example | None, str]]:
    """What `reader` makes of the texts, sampled until `limit` are kept; in the source's order."""
    if limit is None or limit >= len(texts):
        return [reader.read(text) for text in texts]
    outcomes: dict[int, tuple[Example | None, str]] = {}
    for place in stratified_order([text.label for text in texts], seeded_generator(seed)):
        outcomes[place] = reader.read(texts[place])
        limit -= outcomes[place][0] is not None
        if not limit:
            break
    return [outcomes[place] for place in sorted(outcomes)]


def _check_examples(name: str, labels: Sequence[str], examples: dict[Split, tuple[Example, ...]]) -> None:
    advice = (
        "Give more texts, or change --set data.train_limit, data.test_limit, data.only_labels, text.longer_than and "
        "text.shorter_than."
    )
    for split, kept in examples.items():
        if not kept:
            raise DataError(f"{name}: no text is left in {split}; there must be at least one. {advice}")
    trained = {example.label for example in examples["train"]}
    if missing := [label for number, label in enumerate(labels) if number not in trained]:
        raise DataError(f"{name}: no training text with label '{missing[0]}' is left. {advice}")
