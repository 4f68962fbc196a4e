"""A Hugging Face classifier as a subject: labels matched by name, texts and pairs read as it reads them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jaxtyping import Int
from torch import Tensor

from heedful.battery import Context
from heedful.data.word_vectors import usual_vectors
from heedful.errors import DataError, StoreError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.sites import SCOPES, Scope
from heedful.models.hugging_face.tokenized_texts import (
    TextWords,
    WordVocabulary,
    batch_of,
    match_labels,
    read_text,
    read_texts,
    text_of,
)
from heedful.settings import AuditSettings, Run
from heedful.store.run_file import RUN_FILE, read_run_file
from heedful.subjects.opening import CONFIGURATION
from heedful.subjects.read_text import DescribedText
from heedful.subjects.subject import AUDITED, TRAINING, Subject, SubjectTexts, texts_of_split, with_classes
from heedful.types import Batch, Dataset, Example, Model

BEYOND: dict[Scope, str] = {
    "row": "Words reach that row through earlier layers all the same, so what follows holds for its last step.",
    "row-all-layers": "Words reach that row through other rows all the same, so what follows holds for it alone.",
    "all-rows": "No word reaches another position in any other way.",
}
"""What other attention leaves as it is, by scope."""


class HuggingFaceSubject(Subject):
    """A view of a Hugging Face classifier: the attention of one site, and other attention imposed in one scope."""

    may_read_query = True

    def __init__(self, model: TransformerModel):
        classifier = model.classifier
        place = Path(classifier.name)
        self.opened = self.model = self.view = model
        self.key = self.name = model.key
        self.labels, self.run = classifier.labels, run_of(place)
        self.file = place / CONFIGURATION if (place / CONFIGURATION).is_file() else None
        self.reads_query = self.run is not None and self.run.data.query is not None
        self.site = str(model.site)
        unusual = (part for part in (self.site, model.scope) if part not in ("last", "row"))
        self.title = ", ".join([place.name or classifier.name, *unusual])
        self.facts = {"Model": classifier.name, "Attention": self.site, "Scope": model.scope}
        self.settings = {
            "run": None,
            "model": classifier.name,
            "site": self.site,
            "scope": model.scope,
            "classifier": {
                "architecture": type(classifier.untouched).__name__,
                "fingerprint": classifier.fingerprint,
                "layers": classifier.anatomy.layers,
                "heads": max(call.heads for call in classifier.anatomy.calls),
                "reads": "one row" if classifier.anatomy.rows.place is not None else "several rows",
            },
        }
        self.how_to_audit = f"`heedful audit DATA --model {classifier.name}`"

    def texts(self, data: object, settings: AuditSettings) -> SubjectTexts:
        """Texts of a dataset as the classifier reads them."""
        dataset, chosen = texts_of_split(data, settings, "a Dataset, whose texts it reads")
        dataset, classifier = self._relabeled(dataset), self.view.classifier
        examples: tuple[Example, ...] = getattr(dataset, settings.split)
        texts, classes = [text_of(example) for example in examples], [example.label for example in examples]
        read = read_texts(classifier, texts, classes, examples=examples, chosen=chosen)
        known = [read.examples[number] for number in read.chosen]
        vocabulary = WordVocabulary.of([*known, *dataset.train, *dataset.dev])

        @cache
        def counts() -> Int[Tensor, "token classes"]:
            return vocabulary.counts(dataset.train or known, len(dataset.labels))

        context = Context(
            task=dataset.task,
            labels=dataset.labels,
            vocabulary=vocabulary.words,
            token_counts=counts,
            vectors=usual_vectors(),
            item_words=TextWords(classifier, texts, read.examples, vocabulary),
        )
        return SubjectTexts(
            name=self.name,
            model=self.model,
            split=settings.split,
            numbers=sorted(read.chosen),
            batches=read.batches,
            context=context,
            examples=read.examples,
            counted_on=TRAINING if dataset.train else AUDITED,
            site=self.site,
            scope=self.view.scope,
            notes=read.notes,
        )

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where the words of a text are."""
        return tuple(read_text(self.view.classifier.reader, text, 0).spans)

    def describe(self, text: str, query: str = "", number: int = 1) -> DescribedText:
        """The text, or pair of texts, as the classifier cuts it."""
        reader = self.view.classifier.reader
        tokenized = read_text(reader, (text, query) if query else text, number - 1)
        words, count = tokenized.words, len(tokenized.words)
        if not words:
            raise DataError(f"text {number} must have a word at least; it has none: {text!r:.60}.")
        note = f"The model reads the first {reader.longest} tokens; the rest had no influence."
        return DescribedText(
            text=text,
            query=query,
            words=words,
            spans=tokenized.spans,
            known=(True,) * count,
            items=tuple((place,) for place in range(count)),
            labels=words,
            item="word",
            notes=(note,) if tokenized.is_cut else (),
            second=tokenized.second,
            example=Example(words, 0, (query,) if query else (), text=text, query_text=query),
        )

    def batch_of(self, described: DescribedText) -> tuple[Model, Context, Batch]:
        """The text as a batch for the classifier."""
        classifier = self.view.classifier
        tokenized = read_text(classifier.reader, text_of(described.example), 0)
        context = Context("nli" if self.reads_query else "classification", self.labels)
        return self.model, context, batch_of([tokenized], [0], [0], classifier.network.device)

    def about(self, columns: Mapping[str, Any]) -> tuple[str, ...]:
        """Which attention is shown, where other attention is imposed, and what the mean over heads leaves out."""
        scope = self.view.scope
        sentences = [
            f"Attention is that of {self._shown_attention()}, over words; special tokens keep theirs.",
            f"Other attention is imposed on {SCOPES[scope]}. {BEYOND[scope]}",
        ]
        if "mean_of_heads.tvd" in columns:
            means = {
                name: columns[f"mean_of_heads.{name}"].mean().item() for name in ("special_weight", "tvd", "flips")
            }
            sentences.append(
                f"Special tokens have {100 * means['special_weight']:.0f}% of the weight. Imposed on every head, "
                f"what is shown moves the prediction by {means['tvd']:.2f} and changes {100 * means['flips']:.0f} of "
                "100 answers: the heads differ from their mean."
            )
        return tuple(sentences)

    def named(self, name: str) -> "HuggingFaceSubject":
        """The same by the key of its run, not by where its files are."""
        model = self.view
        return HuggingFaceSubject(TransformerModel(replace(model.classifier, name=name), model.site, model.scope))

    def usual_view(self) -> "HuggingFaceSubject":
        """The last layer of the same classifier, whose heads can be measured."""
        return HuggingFaceSubject(self.view.at("last", "row"))

    def _shown_attention(self) -> str:
        site, anatomy = self.view.site, self.view.classifier.anatomy
        whose = "the row that the classifier reads" if anatomy.rows.place is not None else "all rows, on average"
        last, counted = f"the last of {anatomy.layers} layers", f"(counted from 0, of {anatomy.layers})"
        shown = {
            "head": f"head {site.head} of layer {site.layer} {counted}",
            "layer": f"layer {site.layer} {counted}, the mean over its heads",
            "all": f"all {anatomy.layers} layers, the mean over all heads",
            "rollout": f"the rollout of all {anatomy.layers} layers (Abnar and Zuidema 2020)",
            "value-norm": f"{last}, by the length of what each word adds (Kobayashi et al. 2020)",
            "last": f"{last}, the mean over its heads",
        }
        return f"{shown[site.kind]}, {whose}"

    def _relabeled(self, dataset: Dataset) -> Dataset:
        """The data with its labels numbered as the classes of the model."""
        if not dataset.labels:
            return replace(dataset, labels=tuple(self.labels))
        matched = match_labels(self.labels, dataset.labels)
        is_new = matched.note and matched.note not in dataset.notes
        notes = (*dataset.notes, matched.note) if is_new else dataset.notes
        return replace(with_classes(dataset, matched.names, matched.classes), notes=notes)


def run_of(folder: Path) -> Run | None:
    """The settings that a model in a folder was fine-tuned with, by its run.json; None if that does not say it."""
    if not (folder / RUN_FILE).is_file():
        return None
    try:
        return read_run_file(folder, is_named=False).run
    except StoreError:  # of another version, or of another tool: the model may be sound all the same
        return None
