"""An audit that is ready to be made: what is audited and beside which models, shard by shard in any order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from heedful.auditing.classifier import check_same_words, subject_of_classifier
from heedful.auditing.other_rankings import match_external_scores
from heedful.auditing.subject import Subject, subject_of, subject_of_batches
from heedful.auditing.validation import named, validate_batches, validate_labels, validate_model
from heedful.auditing.words import OwnWords
from heedful.data.batching import shards_of
from heedful.errors import SettingError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.settings import AuditSettings, key_of
from heedful.settings.comparison_models import ComparisonModels
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Model

Scores = Mapping[str, Mapping[str, object]] | pl.DataFrame | str | Path
"""Scores from outside: a table as a path or a data frame, or a dict by name and then by text."""
Checked = TypeVar("Checked")


@dataclass(frozen=True)
class CustomModel:
    """What a user says of a model of their own.

    Args:
        words: a list for each text, in the order of the texts, with a word for each item that attention weighs; or a
            dict or function from the number of a token to its word.
        name: what it is called; empty: by its class.
        labels: what its classes are called, in the order of its logits; empty: by their numbers.
    """

    words: OwnWords | None = None
    name: str = ""
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class PreparedAudit:
    """An audit that is ready to be made.

    Args:
        subject: what is audited.
        companions: models beside it, on the same texts.
        subject_for: the subject under other settings, on dev texts for instance.
    """

    model: Trained | Model
    data: Dataset | Sequence[Batch]
    settings: AuditSettings
    subject: Subject
    comparison_models: ComparisonModels[Subject]
    subject_for: Callable[..., Subject]

    @cached_property
    def shards(self) -> list[range]:
        """The batches of each shard."""
        return shards_of(self.subject.batches.words)

    def texts_of(self, shard: int) -> int:
        """How many texts the shard of that number has."""
        return sum(self.subject.batches.texts[batch] for batch in self.shards[shard])


def prepare_audit(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    comparison_models: ComparisonModels[Trained | Model] = ComparisonModels(),  # noqa: B008 (frozen)
    *,
    own: CustomModel = CustomModel(),  # noqa: B008 (frozen)
    scores: Scores | None = None,
    device: str | None = None,
) -> PreparedAudit:
    """The audit of a model, one of ours with its data set, or any object with the protocol's verbs.

    Args:
        scores: scores of words from outside, by name: rankings to be tested beside attention.
        device: where it is measured; None: our models on the processor, others where they are.
    """
    settings = _checked(settings or AuditSettings(), AuditSettings, "settings")
    reference = _checked(comparison_models, ComparisonModels, "companions").reference
    described = {"words": own.words, "name": own.name, "labels": own.labels}
    prepare = partial(_subject, data=data, settings=settings, device=device, **described)
    subject = prepare(model, reference=reference if isinstance(reference, Trained) else None)
    subject = replace(subject, given=match_external_scores(scores, subject, settings))
    others = ComparisonModels(comparison_models.retrained, comparison_models.seeds, comparison_models.adversaries)
    beside = others.map(lambda other: _same_classes(subject, prepare(other, words=None, name="", labels=())))
    return PreparedAudit(model, data, settings, subject, beside, partial(prepare, reference=reference))


def _checked(value: Checked, kind: type, name: str) -> Checked:
    if not isinstance(value, kind):
        raise SettingError(f"{name} must be heedful.{kind.__name__}(...); it is {named(value)}.")
    return value


def _subject(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    device: str | None,
    words: OwnWords | None,
    name: str,
    labels: Sequence[str],
    reference: Trained | None = None,
) -> Subject:
    if isinstance(model, TransformerModel):
        return _classifier_subject(model, data, settings, described=bool(words or name or labels))
    if not isinstance(model, Trained):
        validate_model(model)
        if not isinstance(name, str):
            raise SettingError(f"name must be a string, what to call the model; it is {named(name)}.")
        batches, title = validate_batches(data), name or type(model).__name__
        subject = subject_of_batches(title, model, batches, labels, words=words, device=device)
        validate_labels(batches, len(subject.labels))
        return subject
    if not isinstance(data, Dataset):
        raise SettingError(
            "data must be the Dataset that the run was made for, or another that it can read; it is "
            f"{named(data)}. Load one: heedful.load_data(...)."
        )
    if words or name or labels:
        raise SettingError(
            "words, name and labels must be left out: they are for a model of your own, and this is a finished run."
        )
    return subject_of(key_of(model.run), model, data, settings, device=device, reference=reference)


def _classifier_subject(
    model: TransformerModel, data: Dataset | Sequence[Batch], settings: AuditSettings, *, described: bool
) -> Subject:
    if not isinstance(data, Dataset):
        raise SettingError(
            f"data must be a Dataset, whose texts it reads; it is {named(data)}. Load one: heedful.load_data(...)."
        )
    if described:
        raise SettingError("words, name and labels must be left out: a Hugging Face model knows them.")
    return subject_of_classifier(model, data, settings)


def _same_classes(subject: Subject, companion: Subject) -> Subject:
    """The companion, if it tells the same classes apart, and a transformer the same words."""
    own, other = len(subject.labels), len(companion.labels)
    if own != other:
        raise SettingError(f"companions must tell the same {own} classes apart as the model; one has {other}.")
    return companion if subject.site is None else check_same_words(subject, companion)
