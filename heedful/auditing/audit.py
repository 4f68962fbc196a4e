"""An audit, whole: rows, the texts they speak of, and the verdict."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import polars as pl
import torch

from heedful import __version__
from heedful.auditing.companions import Companions, companion_rows
from heedful.auditing.rows import audit_rows
from heedful.auditing.subject import Subject, float64_eval_copy, subject_of, subject_of_batches
from heedful.errors import SettingError
from heedful.schema import ROWS, Advice, Headline, Line, Training, Verdict, Words
from heedful.settings import AuditSettings, key_of
from heedful.settings.validation import update_settings
from heedful.token_scores import attended_words
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, LinearModel, Model
from heedful.verdict.headline import headline
from heedful.verdict.pooling import pooled_verdict

DEV_TEXTS = 500
"""Dev texts on which the ranking to show is chosen, at most; never more than are audited."""

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Audit:
    """What an audit found.

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


def audit(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    companions: Companions[Trained | Model] = Companions(),  # noqa: B008 (frozen)
    *,
    labels: Sequence[str] = (),
    device: str = "cpu",
    report: Report | None = None,
) -> Audit:
    """Put every test to a model: one of ours with its data set, or any object with the protocol's verbs.

    Args:
        labels: what the classes are called, where the data does not say.
        report: called with (texts done, texts in all) after every batch.
    """
    settings = settings or AuditSettings()
    reference = companions.reference if isinstance(companions.reference, Trained) else None
    prepare = partial(_subject, data=data, settings=settings, labels=labels, device=device)
    subject = prepare(model, reference=reference)
    began = time.perf_counter()
    audited = audit_rows(subject, settings, report)
    others = Companions(companions.retrained, companions.seeds, companions.adversaries).map(prepare)
    rows = pl.concat([audited.rows, *companion_rows(subject, others, settings)])
    dev = _dev_rows(model, data, settings, len(subject.texts), partial(prepare, reference=reference))
    described = Verdict(
        **_description(subject, model, settings),
        lines=(),
        words=_words(subject, settings),
        notes=data.notes if isinstance(data, Dataset) else (),
        not_asked=dict(audited.not_asked),
        substitutions=audited.substitutions,
        synonym_source=audited.synonym_source,
        seconds=time.perf_counter() - began,
    )
    return Audit(rows, audited.examples, pooled_verdict([described], [rows], [dev]), dev)


def _subject(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    labels: Sequence[str],
    device: str,
    reference: Trained | None = None,
) -> Subject:
    if isinstance(model, Trained):
        if not isinstance(data, Dataset):
            raise SettingError("data must be the Dataset that the run was made for; it was a list of batches.")
        return subject_of(key_of(model.run), model, data, settings, device=device, reference=reference)
    if isinstance(data, Dataset):
        raise SettingError("data must be a list of `Batch` for a model of your own: only you can number its tokens.")
    if not data:
        raise SettingError("data must hold at least one batch; it is empty.")
    classes = 1 + max(int(batch.labels.max()) for batch in data)
    names = labels or [str(number) for number in range(classes)]
    return subject_of_batches(type(model).__name__, model, data, names)


def _dev_rows(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    texts: int,
    prepare: Callable[..., Subject],
) -> pl.DataFrame:
    """What every ranking does on so many dev texts, which only a data set has."""
    chosen_rankings = "by" in settings.options.get("erase_until_flip", {})
    is_left_out = bool(settings.tests) and "erase_until_flip" not in settings.tests
    if not isinstance(model, Trained) or not isinstance(data, Dataset) or chosen_rankings or is_left_out:
        return pl.DataFrame(schema=ROWS)
    changes = {"tests": ("erase_until_flip",), "split": "dev", "shown": 0, "examples": min(DEV_TEXTS, texts)}
    on_dev = update_settings(settings, changes)
    return audit_rows(prepare(model, settings=on_dev), on_dev).rows


def _words(subject: Subject, settings: AuditSettings) -> Words | None:
    """The most and the least attended words, where their scores were asked for and words are what is attended to."""
    is_asked = not settings.tests or "token_scores" in settings.tests
    if not is_asked or subject.item != "word" or not isinstance(subject.model, LinearModel):
        return None
    model = float64_eval_copy(subject.model)
    assert isinstance(model, LinearModel)
    counts, vocabulary = subject.context.token_counts(), subject.context.vocabulary
    words = attended_words(model, subject.batches(), counts, vocabulary, subject.labels)
    return Words.model_validate(asdict(words))


def _description(subject: Subject, model: Trained | Model, settings: AuditSettings) -> dict[str, Any]:
    """What was audited and how."""
    run = model.run if isinstance(model, Trained) else None
    scores = model.scores.get(subject.split, {}) if isinstance(model, Trained) else {}
    return {
        "run": subject.name,
        "model": f"{run.network.encoder}, {run.network.attention} attention" if run else subject.name,
        "data": run.data.source if run else "",
        "split": subject.split,
        "texts": len(subject.texts),
        "labels": subject.labels,
        "item": subject.item,
        "scores": scores,
        "trainings": (Training(run=subject.name, seed=run.seed if run else None, scores={**scores}),),
        "date": datetime.now(UTC).date().isoformat(),
        "settings": {"audit": settings.model_dump(mode="json"), "run": run.model_dump(mode="json") if run else None},
        "versions": {"heedful": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
