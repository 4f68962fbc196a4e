"""An audit, whole: rows, the texts they speak of, and the verdict."""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import torch

import heedful
from heedful import __version__
from heedful.auditing.about import about_attention, settings_of, short_name_of
from heedful.auditing.attended_words import indicative_words, words_of
from heedful.auditing.classifier import check_same_words, subject_of_classifier
from heedful.auditing.companions import Companions, companion_rows
from heedful.auditing.heads import asks_of_heads, heads_of
from heedful.auditing.other_rankings import match_given
from heedful.auditing.rows import audit_rows
from heedful.auditing.subject import Subject, subject_of, subject_of_batches
from heedful.auditing.validation import named, validate_batches, validate_labels, validate_model
from heedful.auditing.words import OwnWords
from heedful.errors import SettingError
from heedful.models.transformers.model import TransformerModel
from heedful.schema import ROWS, Advice, Headline, Line, Training, Verdict
from heedful.settings import AuditSettings, key_of
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Model
from heedful.verdict.headline import headline
from heedful.verdict.pooling import pooled_verdict

DEV_TEXTS = 500
"""Dev texts on which the ranking to show is chosen, at most; never more than are audited."""

Report = Callable[[int, int], None]
Scores = Mapping[str, object] | str | Path
"""Scores from outside: by name a path, a data frame, a dict by text or a row a text; or a file of any names."""
Checked = TypeVar("Checked")


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit found. A notebook shows it; `save` keeps it, and `heedful.load` brings it back.

    It is drawn by the layers above this one, which `heedful` names and this module does not import.

    Args:
        examples: the texts that are shown word by word.
        dev: rows of the dev texts on which the ranking to show is chosen; empty where there are none.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    verdict: Verdict
    dev: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ROWS))

    @property
    def headline(self) -> Headline:
        """The answer, in words: `print(audit.headline.lead, *audit.headline.sentences)`."""
        return headline(self.verdict)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The verdict's questions, answered."""
        return self.verdict.lines

    @property
    def advice(self) -> Advice | None:
        """What to show; None where no decision could be changed, or no ranking was tested."""
        return self.verdict.advice

    def to_html(self) -> str:
        """The whole report: one page that needs nothing but itself."""
        return heedful.audit_page(self)

    def save(self, place: str | Path) -> Path:
        """Write the audit into a folder, or its report into a file that ends in .html; the place.

        `heedful.load`, `heedful report` and `heedful compare` read the folder. An audit that was saved there before
        makes way; a folder that holds anything else is left as it is, with an error.
        """
        return heedful.save_audit_to(self, place)

    def _repr_html_(self) -> str:
        return heedful.audit_in_notebook(self)

    def __repr__(self) -> str:
        verdict = self.verdict
        on = f" on {verdict.data}" if verdict.data else ""
        texts = f"{verdict.texts:,} {verdict.split} texts"
        return f"Audit({verdict.model or verdict.run}{on}, {texts}: {self.headline.lead})"


def audit(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    companions: Companions[Trained | Model] = Companions(),  # noqa: B008 (frozen)
    *,
    words: OwnWords | None = None,
    name: str = "",
    labels: Sequence[str] = (),
    scores: Scores | None = None,
    device: str | None = None,
    report: Report | None = None,
) -> Audit:
    """Put every test to a model: one of ours with its data set, or any object with the protocol's verbs.

    Args:
        words: the words of a model of the user's own: a list for each text, in the order of the texts, with a word for
            each item that attention weighs; or a dict or function from the number of a token to its word.
        name: what a model of the user's own is called; empty: by its class.
        labels: what its classes are called, in the order of its logits; empty: by their numbers.
        scores: scores of words from outside, by name: rankings to be tested beside attention.
        device: where it is measured; None: our models on the processor, others where they are.
        report: called with (texts done, texts in all) after every batch.
    """
    settings = _checked(settings or AuditSettings(), AuditSettings, "settings")
    reference = _checked(companions, Companions, "companions").reference
    described = {"words": words, "name": name, "labels": labels}
    prepare = partial(_subject, data=data, settings=settings, device=device, **described)
    subject = prepare(model, reference=reference if isinstance(reference, Trained) else None)
    subject = replace(subject, given=match_given(scores, subject, settings))
    began = time.perf_counter()
    audited = audit_rows(subject, settings, report)
    others = Companions(companions.retrained, companions.seeds, companions.adversaries)
    beside = others.map(lambda other: _same_classes(subject, prepare(other, words=None, name="", labels=())))
    rows = pl.concat([audited.rows, *companion_rows(subject, beside, settings)])
    dev = _dev_rows(model, data, settings, len(subject.texts), partial(prepare, reference=reference))
    listed = words_of(subject, settings)
    verdict = Verdict(
        **_description(subject, model, data, settings, rows),
        lines=(),
        words=listed,
        indicative_words=listed.polar if listed else indicative_words(subject, settings),
        counted_on=subject.counted_on,
        **_of_transformer(model, data, settings, rows),
        notes=(*(data.notes if isinstance(data, Dataset) else ()), *subject.notes, *subject.given.notes),
        not_asked=dict(audited.not_asked),
        substitutions=audited.substitutions,
        synonym_source=audited.synonym_source,
        seconds=time.perf_counter() - began,
    )
    return Audit(rows, audited.examples, pooled_verdict([verdict], [rows], [dev]), dev)


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


def _of_transformer(
    model: Trained | Model, data: Dataset | Sequence[Batch], settings: AuditSettings, rows: pl.DataFrame
) -> dict[str, Any]:
    """What a verdict says of transformers alone."""
    if not isinstance(model, TransformerModel) or not isinstance(data, Dataset):
        return {}
    heads = heads_of(model, data, settings) if asks_of_heads(settings) else None
    return {"about": about_attention(model, rows), "heads": heads}


def _same_classes(subject: Subject, companion: Subject) -> Subject:
    """The companion, if it tells the same classes apart, and a transformer the same words."""
    own, other = len(subject.labels), len(companion.labels)
    if own != other:
        raise SettingError(f"companions must tell the same {own} classes apart as the model; one has {other}.")
    return companion if subject.site is None else check_same_words(subject, companion)


def _dev_rows(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    texts: int,
    prepare: Callable[..., Subject],
) -> pl.DataFrame:
    """What every ranking does on so many dev texts, which only a data set has; nothing where these are audited."""
    chosen_rankings = "by" in settings.options.get("erase_until_flip", {})
    is_left_out = bool(settings.tests) and "erase_until_flip" not in settings.tests
    has_dev = isinstance(model, Trained | TransformerModel) and isinstance(data, Dataset) and bool(data.dev)
    if not has_dev or chosen_rankings or is_left_out or settings.split == "dev":
        return pl.DataFrame(schema=ROWS)
    changes = {"tests": ("erase_until_flip",), "split": "dev", "shown": 0, "examples": min(DEV_TEXTS, texts)}
    on_dev = update_settings(settings, changes)
    return audit_rows(prepare(model, settings=on_dev), on_dev).rows


def _description(
    subject: Subject,
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    rows: pl.DataFrame,
) -> dict[str, Any]:
    """What was audited and how."""
    run = model.run if isinstance(model, Trained) else None
    dataset = data if isinstance(data, Dataset) else None
    # Without training texts it is not split as it was: the scores that were stored are of other texts.
    is_own_data = bool(run and dataset and dataset.train and dataset.fingerprint == run.data.fingerprint)
    scores = dict(model.scores.get(subject.split, {})) if isinstance(model, Trained) and is_own_data else _scores(rows)
    made: dict[str, Any] = {"run": run and run.model_dump(mode="json")}
    made |= {} if run else {"model": type(model).__name__}
    shown = f"{run.network.encoder}, {run.network.attention} attention" if run else subject.name
    if isinstance(model, TransformerModel):
        made, shown = {"run": None, **settings_of(model)}, short_name_of(model)
    return {
        "run": subject.name,
        "model": shown,
        "data": run.data.source if run and is_own_data else dataset.name if dataset else "",
        "fingerprint": dataset.fingerprint if dataset else "",
        "split": subject.split,
        "texts": len(subject.texts),
        "labels": subject.labels,
        "item": subject.item,
        "scores": scores,
        "trainings": (Training(run=subject.name, seed=run.seed if run else None, scores={**scores}),),
        "date": datetime.now(UTC).date().isoformat(),
        "settings": {"audit": settings.model_dump(mode="json"), **made},
        "versions": {"heedful": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }


def _scores(rows: pl.DataFrame) -> dict[str, float]:
    """How well the model predicts the labels of the audited texts."""
    correct = rows.filter((pl.col("test") == "prediction") & (pl.col("measure") == "correct"))["value"]
    return {"accuracy": correct.to_numpy().mean().item()}
