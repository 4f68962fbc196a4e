"""A finished run as a subject: texts cut by its tokenizer, labels in its order, frozen attention of its reference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.battery import Context
from heedful.data.batching import Batches, blocks_in_order, collate, encode_split, to_device
from heedful.data.sentences import sentence_starts
from heedful.data.sources.columns import QUERIES
from heedful.data.tokenizer import UNKNOWN, Span
from heedful.errors import DataError
from heedful.models.hugging_face.word_embedding import PretrainedWords
from heedful.settings import AuditSettings, key_of
from heedful.subjects.checks import validate_device
from heedful.subjects.read_text import DescribedText
from heedful.subjects.subject import (
    AUDITED,
    TRAINING,
    Subject,
    SubjectTexts,
    float64_eval_copy,
    item_names,
    texts_of_split,
    with_classes,
)
from heedful.token_scores import token_counts
from heedful.training.metrics import outputs
from heedful.training.start import read_in_advance
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Example, Model

TEXTS, TOKENS = 64, 2**13
"""Texts and tokens, padding included, of a batch at most."""
SOME = 500
"""Texts that are encoded at a time."""
MOST_NAMED = 5
"""Unknown words that a note lists."""
LONGEST = 40
"""Characters of such a word that are shown."""


class FinishedRun(Subject):
    """A finished run.

    Args:
        reference: the run whose attention a model with frozen attention imposes.
        device: where it is measured; None: on the processor.
        file: its run.json, where it is stored.
    """

    def __init__(
        self,
        trained: Trained,
        *,
        reference: Trained | None = None,
        device: str | None = None,
        file: Path | None = None,
    ):
        run = trained.run
        imposes = run.network.attention == "frozen"
        self.opened = self.trained = trained
        self.reference = reference if imposes else None
        self.device = validate_device(device) or torch.device("cpu")
        self.model, self.labels, self.run, self.file = trained.model.to(self.device), trained.labels, run, file
        self.key = self.name = key_of(run)
        shown = f"{run.network.encoder}, {run.network.attention} attention"
        self.title = shown if run.training.method == "vanilla" else f"{shown}, {run.training.method}"
        self.facts = {"Model": shown, "Data": run.data.source, "Run": f"{self.key} (seed {run.seed})"}
        self.settings = {"run": run.model_dump(mode="json")}
        self.text, self.reads_sentences = run.text, run.reads_sentences
        self.item = "sentence" if run.reads_sentences else "word"
        self.reads_query = trained.model.query_encoder is not None
        if self.reads_query:  # if only the query is known: NLI, whose rule for the same prediction is stricter
            self.task = run.data.task or QUERIES.get((run.data.query or "").lower(), "nli")
        self.how_to_audit = f"`heedful audit --model {self.key}`"

    def texts(self, data: object, settings: AuditSettings) -> SubjectTexts:
        """Texts of a dataset as the run reads them."""
        wanted = "the Dataset that the run was made for, or another that it can read"
        dataset, chosen = texts_of_split(data, settings, wanted)
        trained, dataset = self.trained, self._readable(dataset)
        examples: Sequence[Example] = getattr(dataset, settings.split)
        if isinstance(trained.model.embedding, PretrainedWords):
            read_in_advance(
                trained.model, {settings.split: encode_split([examples[text] for text in chosen], trained.words)}
            )

        @cache
        def counts() -> Int[Tensor, "token classes"]:
            counted = dataset.train or [examples[text] for text in chosen]
            parts = (
                encode_split(counted[start : start + SOME], trained.words) for start in range(0, len(counted), SOME)
            )
            shape = trained.words.size, len(dataset.labels)
            return sum((token_counts(part, *shape) for part in parts), torch.zeros(shape, dtype=torch.long))

        @cache
        def sentences() -> list[tuple[int, ...]]:
            tokens: list[tuple[int, ...]] = []
            for example in dataset.train or examples:
                ids, ends = trained.words.ids(example.tokens), (*example.sentences[1:], len(example.tokens))
                tokens += (tuple(ids[start:end]) for start, end in zip(example.sentences, ends, strict=True))
            return tokens

        return SubjectTexts(
            name=self.name,
            model=self.model,
            split=settings.split,
            numbers=chosen,
            batches=self._batches(examples, chosen),
            context=replace(self._context, task=dataset.task, token_counts=counts, computed={}),
            examples=examples,
            item="sentence" if examples[0].sentences else "word",
            counted_on=TRAINING if dataset.train else AUDITED,
            sentences=sentences if examples[0].sentences else None,
        )

    def spans(self, text: str) -> tuple[Span, ...]:
        """Where the words of a text are."""
        return tuple(self.trained.words.split(text)[1])

    def describe(self, text: str, query: str = "", number: int = 1) -> DescribedText:
        """The text as the run's data would have been read."""
        words = self.trained.words
        for role, given in {"text": text, "query": query}.items():
            if any("\ud800" <= character <= "\udfff" for character in given):
                raise DataError(
                    f"the {role} of text {number} must be valid UTF-8, and is not: {given!r:.60}. Convert it."
                )
        (tokens, spans), query_tokens = words.split(text), words.split(query)[0]
        if not tokens:
            raise DataError(f"text {number} must have a word at least; it has none: {text!r:.60}.")
        if self.reads_query and not query_tokens:
            raise DataError(f"the query of text {number} must have a word at least; it has none: {query!r:.60}.")
        count, most = len(tokens), self.text.max_tokens
        tokens, spans = tokens[:most], spans[:most]
        starts = sentence_starts(text, spans) if self.reads_sentences else ()
        example = Example(tokens, 0, query_tokens, starts, text=text)
        is_cut = len(tokens) < count
        notes = [f"The model reads the first {most} of {count:,} words; the rest had no influence."] if is_cut else []
        firsts: Sequence[int] = starts or range(len(tokens))
        ends = (*firsts[1:], len(tokens))
        return DescribedText(
            text=text,
            query=query,
            words=tuple(text[start:end] for start, end in spans),
            spans=tuple(spans),
            known=tuple(place != UNKNOWN for place in words.ids(tokens)),
            items=tuple(tuple(range(start, end)) for start, end in zip(firsts, ends, strict=True)),
            labels=tuple(item_names(example)),
            item=self.item,
            notes=(*notes, *self._unknown(tokens)),
            example=example,
        )

    def batch_of(self, described: DescribedText) -> tuple[Model, Context, Batch]:
        """The text as a batch for a copy of the model."""
        return self._copy, replace(self._context, computed={}), self._batches([described.example], [0]).read(0)

    def scores_on(self, data: Dataset, split: str) -> Mapping[str, float] | None:
        """The stored scores, if the data is the run's own, split as it was."""
        is_own = bool(data.train) and data.fingerprint == self.trained.run.data.fingerprint
        return dict(self.trained.scores.get(split, {})) if is_own else None

    @cached_property
    def _copy(self) -> Model:
        return float64_eval_copy(self.model)

    @cached_property
    def _context(self) -> Context:
        return Context(self.task, self.labels, self.trained.words.words, vectors=self.trained.run.network.vectors or "")

    def _batches(self, examples: Sequence[Example], chosen: Sequence[int]) -> Batches:
        """The chosen texts in batches, each read when it is its turn."""
        imposed = None
        if self.reference is not None:
            imposed = outputs(self.reference.model, encode_split(examples, self.reference.words)).attention
        sizes, words, block = batches_by_length(examples, chosen)
        is_marked = any(example.annotators for example in examples)

        def read(number: int) -> Batch:
            index = block(number)
            split = encode_split([examples[text] for text in index], self.trained.words, marked=is_marked)
            attention = None if imposed is None else [imposed[text] for text in index]
            batch = replace(collate(split, range(len(index)), attention), index=torch.tensor(index))
            return to_device(batch, self.device)

        return Batches(sizes, words, read)

    def _readable(self, dataset: Dataset) -> Dataset:
        """The data with the labels in the run's order; raises if the run cannot read it or lacks a label."""
        if self.reads_query != (dataset.task != "classification"):
            reads = "a query with each text" if self.reads_query else "texts without a query"
            raise DataError(
                f"the data must be of the run's kind: it reads {reads}; '{dataset.name}' is of {dataset.task}."
            )
        unknown = [label for label in dataset.labels if label not in self.labels]
        if unknown:
            raise DataError(
                f"the data must have the run's labels, {', '.join(map(repr, self.labels))}; '{dataset.name}' also has "
                f"{', '.join(map(repr, unknown[:5]))}. Rename these labels or leave out their texts "
                "(`data.only_labels`)."
            )
        if not dataset.labels or dataset.labels == self.labels:
            return replace(dataset, labels=self.labels)
        return with_classes(dataset, self.labels, [self.labels.index(label) for label in dataset.labels])

    def _unknown(self, tokens: Sequence[str]) -> list[str]:
        """What to know of words that the model never saw: it cannot tell them apart."""
        ids = self.trained.words.ids(tokens)
        unknown_words = list(
            dict.fromkeys(token for token, number in zip(tokens, ids, strict=True) if number == UNKNOWN)
        )
        if not unknown_words:
            return []
        if all(number == UNKNOWN for number in ids):
            return [
                "The model knows none of these words and reads them all as the same unknown word: do not rely on this."
            ]
        shown = [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in unknown_words[:MOST_NAMED]]
        listed = ", ".join(f"“{word}”" for word in shown)
        more = f" and {len(unknown_words) - MOST_NAMED} more" if len(unknown_words) > MOST_NAMED else ""
        read_as = "an unknown word" if len(unknown_words) == 1 else "one and the same unknown word"
        return [f"The model does not know {listed}{more}, which it reads as {read_as}."]


def batches_by_length(
    examples: Sequence[Example], texts: Sequence[int]
) -> tuple[list[int], list[int], Callable[[int], list[int]]]:
    """The chosen texts in batches, shortest first: how many texts and words each has, and from its number to them."""
    lengths = [len(examples[text].tokens) for text in texts]
    blocks = blocks_in_order(lengths, TEXTS, TOKENS)
    words = [sum(lengths[place] for place in block.tolist()) for block in blocks]
    return [len(block) for block in blocks], words, lambda number: [texts[place] for place in blocks[number].tolist()]
