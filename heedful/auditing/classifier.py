"""A Hugging Face classifier as the subject of an audit: labels matched by name, texts read as it reads them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from jaxtyping import Int
from torch import Tensor

from heedful.auditing.audited_texts import chosen_texts
from heedful.auditing.subject import AUDITED, TRAINING, Subject
from heedful.battery import Context
from heedful.data.word_vectors import usual_vectors
from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.tokenized_texts import TextWords, WordVocabulary, match_labels, read_texts, text_of
from heedful.settings import AuditSettings
from heedful.types import Dataset, Example


def subject_of_classifier(
    model: TransformerModel, dataset: Dataset, settings: AuditSettings, *, labels: tuple[str, ...] = ()
) -> Subject:
    """A view of a classifier and a data set, ready to be audited: so many texts, drawn by the audit's seed.

    Args:
        labels: what to call the classes; empty: as the data does.
    """
    dataset = relabelled(dataset, model.classifier.labels)
    examples: tuple[Example, ...] = getattr(dataset, settings.split)
    if not examples:
        raise DataError(f"the data must have {settings.split} texts to audit; '{dataset.name}' has none.")
    texts = [text_of(example) for example in examples]
    chosen = chosen_texts(len(examples), settings)
    classes = [example.label for example in examples]
    read = read_texts(model.classifier, texts, classes, examples=examples, chosen=chosen)
    known = [read.examples[number] for number in read.chosen]
    vocabulary = WordVocabulary.of([*known, *dataset.train, *dataset.dev])

    @cache
    def counts() -> Int[Tensor, "token classes"]:
        return vocabulary.counts(dataset.train or known, len(dataset.labels))

    context = Context(
        task=dataset.task,
        labels=labels or dataset.labels,
        vocabulary=vocabulary.words,
        token_counts=counts,
        vectors=usual_vectors(),
        item_words=TextWords(model.classifier, texts, read.examples, vocabulary),
    )
    return Subject(
        name=model.key,
        model=model,
        split=settings.split,
        texts=sorted(read.chosen),
        batches=read.batches,
        context=context,
        examples=read.examples,
        counted_on=TRAINING if dataset.train else AUDITED,
        site=str(model.site),
        scope=model.scope,
        notes=read.notes,
    )


def relabelled(dataset: Dataset, labels: Sequence[str]) -> Dataset:
    """The data with its labels numbered as the classes of a model.

    Args:
        labels: what the model calls its classes.
    """
    if not dataset.labels:
        return replace(dataset, labels=tuple(labels))
    matched = match_labels(labels, dataset.labels)
    parts = {
        split: tuple(replace(example, label=matched.classes[example.label]) for example in getattr(dataset, split))
        for split in ("train", "dev", "test")
    }
    notes = (*dataset.notes, matched.note) if matched.note and matched.note not in dataset.notes else dataset.notes
    return replace(dataset, labels=matched.names, notes=notes, **parts)


def check_same_words(subject: Subject, companion: Subject) -> Subject:
    """The companion, if it cuts the texts into the same words, so that attention can be compared word by word."""
    for number in subject.texts:
        own, other = subject.examples[number].tokens, companion.examples[number].tokens
        if own != other:
            raise SettingError(
                "models that are audited together must cut texts into the same words; text "
                f"{number} has {len(own)} words for one and {len(other)} for another: their tokenizers differ. Audit "
                "them one by one."
            )
    return companion
