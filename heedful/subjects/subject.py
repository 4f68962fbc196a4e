"""What every kind of subject offers: the model, texts as it reads them, and what it is called."""

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from heedful.attribution.external_scores import ExternalScores
from heedful.battery import Context, Evidence
from heedful.data.batching import Batches
from heedful.data.sampling import random_order
from heedful.data.tokenizer import Span, spans_in
from heedful.errors import DataError, HeedfulError, SettingError
from heedful.models.linearity import validate_linearity
from heedful.models.trace import trace
from heedful.settings import AuditSettings, DataSettings, Run, TextSettings
from heedful.subjects.checks import checked_trace, first_line, named, validate_trace
from heedful.subjects.read_text import DescribedText, ReadText, written
from heedful.types import Batch, Dataset, Example, Model, Task, Trace

Texts = str | Batch | Sequence[str] | Sequence[tuple[str, str]] | Sequence[Batch]
"""A text or several; (text, query) if the model reads a query; batches for a custom model."""
TRAINING, AUDITED = "the training texts", "the audited texts"
"""What label-indicative words may be counted on."""


@dataclass(frozen=True)
class SubjectTexts:
    """A subject's model, and texts as it reads them.

    Args:
        name: name of the model in the rows: a run's key, or the user's name for it.
        numbers: which examples of the split are read.
        batches: batches of these, each read when needed; `Batch.index` says which example a row is.
        examples: the whole split, for its words; empty if unknown.
        context: what tests may need to know beyond the batches: task, labels, vocabulary.
        words: the names of each text's items, by the text's index, if there are no examples.
        item: what attention weighs: "word" or "sentence".
        is_own: whether the model is a user's own, of which nothing is taken for granted.
        counted_on: the texts on which label-indicative words are counted.
        site, scope: for a transformer, which attention is shown, and where other attention is imposed.
        notes: what reading did to the texts, for the user to read.
        given: external scores.
        sentences: tokens of all sentences of the training texts, if attention weighs sentences of our own models.
    """

    name: str
    model: Model
    split: str
    numbers: Sequence[int]
    batches: Batches
    context: Context
    examples: Sequence[Example] = ()
    words: Mapping[int, Sequence[str]] = field(default_factory=dict)
    item: str = "word"
    is_own: bool = False
    counted_on: str = TRAINING
    site: str | None = None
    scope: str | None = None
    notes: tuple[str, ...] = ()
    given: ExternalScores = field(default_factory=ExternalScores)
    sentences: Callable[[], Sequence[tuple[int, ...]]] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """What the classes are called."""
        return self.context.labels

    def part(self, chosen: range) -> "SubjectTexts":
        """The same with some of its batches alone."""
        return replace(self, batches=self.batches.part(chosen))

    def trace(self, model: Model, batch: Batch) -> Trace:
        """What a copy of the subject's model makes of the batch, checked."""
        return checked_trace(model, batch) if self.is_own else validate_trace(trace(model, batch))


class Subject(Protocol):
    """A model that can be audited and explained: a finished run, a Hugging Face classifier, or a user's own model.

    Args:
        opened: the model as it was loaded or given.
        key: by which its audits are known.
        name: what rows call it.
        title: what tables and figures call it.
        facts: what pages say of it, by name.
        settings: what was audited, for the audit's files.
        run: the settings that Heedful trained it with; None if it did not.
        text, reads_sentences: how texts are cut for it.
        reads_query, may_read_query: whether it reads a query with each text, and whether it can.
        reads_text: whether it cuts texts into tokens itself; otherwise the user numbers them.
        item: what attention weighs: "word" or "sentence".
        file: without which it can no longer be loaded; None if it exists only in memory.
        site: which attention of a transformer is shown; None for other models.
        how_to_audit: what to call, in words.
    """

    opened: Any
    model: Model
    key: str
    name: str
    title: str
    labels: tuple[str, ...]
    facts: Mapping[str, str]
    settings: Mapping[str, Any]
    how_to_audit: str
    run: Run | None = None
    text: TextSettings = TextSettings()
    task: Task = "classification"
    reads_sentences: bool = False
    reads_query: bool = False
    may_read_query: bool = False
    reads_text: bool = True
    item: str = "word"
    file: Path | None = None
    site: str | None = None

    @property
    def own_data(self) -> DataSettings | None:
        """The data that it was trained on, as far as that is known."""
        return None if self.run is None else self.run.data

    def texts(self, data: Any, settings: AuditSettings) -> SubjectTexts:
        """Texts of a dataset as it reads them, ready to be audited: all, or a sample drawn by the audit's seed."""
        ...

    def spans(self, text: str) -> tuple[Span, ...]:
        """Where the words of a text are."""
        ...

    def describe(self, text: str, query: str = "", number: int = 1) -> DescribedText:
        """The text as the subject cuts it, and what the reader of its explanation should know.

        Args:
            number: position of the text, counted from 1, for errors.
        """
        ...

    def batch_of(self, described: DescribedText) -> tuple[Model, Context, Batch]:
        """A copy of the model to be measured, what it knows, and the text as a batch."""
        ...

    def scores_on(self, data: Dataset, split: str) -> Mapping[str, float] | None:
        """How well it predicts the labels of that data, where that was stored when it was trained."""
        return None

    def about(self, columns: Mapping[str, Any]) -> tuple[str, ...]:
        """What is to be known of its attention before an audit is read."""
        return ()

    def named(self, name: str) -> "Subject":
        """The same by the key of its run, not by where its files are."""
        return self

    def usual_view(self) -> Any:
        """A transformer's last layer, whose heads can be measured; None for other models."""
        return None

    def read(self, text: str, query: str = "", *, labels: Sequence[str] = (), most: int = sys.maxsize) -> ReadText:
        """The text as the model reads it, measured as in an audit.

        Args:
            labels: what the classes are called; empty: as the model calls them.
            most: words that are read at most.
        """
        if not text.strip():
            raise DataError("text must have a word at least; it is empty. Type one, or pick an example.")
        if self.reads_query and not query.strip():
            raise DataError("query must be given: this model reads a question or hypothesis with each text. Type one.")
        if query and not self.reads_query and not self.may_read_query:
            raise DataError(
                "query cannot be combined with this model, which reads texts without a "
                "question or hypothesis. Remove it."
            )
        spans, notes = self.spans(text), []
        if not spans:
            raise DataError("text must have a word at least; it has none that the model would read. Type one.")
        if len(spans) > most:
            notes = [f"The page reads the first {most:,} of {len(spans):,} words; the model did not see the rest."]
            text = text[: spans[most - 1][1]]
        described = self.describe(text, query)
        model, context, batch = self.batch_of(described)
        context = replace(context, labels=tuple(map(written, labels or context.labels)))
        seen = validate_trace(trace(model, batch))
        evidence = Evidence(validate_linearity(model, seen), seen, context)
        return ReadText(**{**vars(described), "notes": (*notes, *described.notes)}, evidence=evidence)

    def read_all(self, texts: Texts, labels: Sequence[str] = ()) -> tuple[SubjectTexts, Mapping[int, DescribedText]]:
        """Texts that are to be explained, in batches, and what is known of each by its number.

        Args:
            labels: what the classes are called; empty: as the model calls them.
        """
        pairs = self._pairs(texts)
        described = [self.describe(*pair, number) for number, pair in enumerate(pairs, start=1)]
        examples = tuple(each.example for each in described)
        task = "nli" if self.may_read_query and any(query for _, query in pairs) else self.task
        dataset = Dataset("", "", task, self.labels, train=(), dev=(), test=examples)
        read = self.texts(dataset, AuditSettings(examples=len(examples)))
        context = replace(read.context, labels=tuple(labels) or read.context.labels)
        return replace(read, context=context), dict(enumerate(described))

    def _pairs(self, texts: Texts) -> list[tuple[str, str]]:
        """Each text with its query, or an empty query if it has none."""
        is_pair = isinstance(texts, tuple) and len(texts) == 2 and all(isinstance(part, str) for part in texts)
        may_pair = self.reads_query or self.may_read_query
        given = [texts] if isinstance(texts, str) or (may_pair and is_pair) else texts
        wanted = "a string, or a pair of them" if self.may_read_query else "a string"
        if self.reads_query and not self.may_read_query:
            wanted = "a pair (text, query), since this run reads a query with each text"
        if not isinstance(given, Sequence) or not given:
            raise SettingError(f"texts must be a list, and each text {wanted}; it is {texts!r:.60}.")
        pairs = []
        for text in given:
            match text:
                case str() if not self.reads_query or self.may_read_query:
                    pairs.append((text, ""))
                case (str(), str()) if may_pair:
                    pairs.append(text)
                case _:
                    raise SettingError(f"each text must be {wanted}; one is {text!r:.60}.")
        return pairs


def texts_of_split(data: object, settings: AuditSettings, wanted: str) -> tuple[Dataset, Sequence[int]]:
    """The dataset, and which texts of the audited split are read: all, or as many as the settings allow.

    Args:
        wanted: what data must be, for the error.
    """
    if not isinstance(data, Dataset):
        raise SettingError(f"data must be {wanted}; it is {named(data)}. Load one: heedful.load_data(...).")
    count = len(getattr(data, settings.split))
    if not count:
        raise DataError(f"the data must have {settings.split} texts to audit; '{data.name}' has none.")
    return data, chosen_texts(count, settings)


def chosen_texts(count: int, settings: AuditSettings) -> Sequence[int]:
    """Which of the `count` texts of a split are audited: all, or as many as the settings allow."""
    most = settings.examples or count
    return range(count) if most >= count else sorted(random_order(count, settings.seed, most))


def with_classes(dataset: Dataset, labels: tuple[str, ...], classes: Sequence[int]) -> Dataset:
    """The data with its labels named and numbered otherwise.

    Args:
        classes: the new number of each of its labels.
    """
    parts = {
        split: tuple(replace(example, label=classes[example.label]) for example in getattr(dataset, split))
        for split in ("train", "dev", "test")
    }
    return replace(dataset, labels=labels, **parts)


def item_names(example: Example) -> list[str]:
    """What the items of a text are called: its words, or its sentences where it has boundaries.

    As they are written in the text, where the tokens were cut from it; otherwise as the model reads them.

    >>> item_names(Example(("so", "good", ".", "yes"), 1, sentences=(0, 3), text="So GOOD. Yes!"))
    ['So GOOD.', 'Yes']
    >>> item_names(Example(("so", "good", ".", "yes"), 1, sentences=(0, 3)))
    ['so good .', 'yes']
    """
    starts = example.sentences or range(len(example.tokens))
    ends = (*starts[1:], len(example.tokens))
    spans = spans_in(example.text, example.tokens)
    if spans is None:
        return [" ".join(example.tokens[start:end]) for start, end in zip(starts, ends, strict=True)]
    return [example.text[spans[start][0] : spans[end - 1][1]] for start, end in zip(starts, ends, strict=True)]


def check_count(names: Sequence[str], count: int, number: int) -> None:
    """Refuse names that are more or fewer than the items of a text."""
    if len(names) != count:
        raise SettingError(
            f"words must name each item that attention weighs: text {number} has {count} items, and `words` has "
            f"{len(names)} for it. Leave out padding, and start and end symbols that have no weight."
        )


def float64_eval_copy(model: Model) -> Model:
    """A copy in float64 and evaluation mode, where the model is a module; weights that are no numbers are named."""
    if not isinstance(model, nn.Module):
        return model
    for name, tensor in model.named_parameters():
        if not tensor.isfinite().all():
            raise HeedfulError(f"the model's parameter '{name}' holds NaN or infinite numbers: it cannot be audited.")
    try:
        return copied(model).double().eval()
    except (TypeError, RuntimeError) as error:  # a device without float64
        raise SettingError(
            f"model must be where there is float64, in which it is measured: {first_line(error)}. Give device='cpu'."
        ) from error


def copied(model: nn.Module) -> Any:
    """A copy of the model."""
    try:
        return deepcopy(model)
    except Exception as error:  # what it holds may refuse, with whatever error
        raise SettingError(
            f"model must be one that can be copied: a copy of it is measured. Copying failed: {first_line(error)}. "
            "Keep no tensors of a forward pass, locks or open files in it."
        ) from error
