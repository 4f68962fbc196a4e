"""What is left to do of a study, and how long one core takes for it: by recorded times, or by probes."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

from heedful.errors import HeedfulError
from heedful.formatting import format_seconds
from heedful.jobs.request import AuditRequest
from heedful.jobs.result_table import Durations, but_seed, finished_verdict
from heedful.jobs.work import dataset_of
from heedful.papers.pipeline import Prepared, plan_study
from heedful.report.loading import audit
from heedful.settings import AuditSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.training.loop import train
from heedful.training.methods import METHODS
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset, Example

TRAINED_TEXTS, AUDITED_TEXTS = 160, 4
"""Texts of a probe."""


@dataclass(frozen=True)
class Cost:
    """What is left to do of a study.

    Args:
        training, auditing: seconds of one core, if no training stops early.
        unknown: how many models and audits nobody can tell the time of: they are in no sum.
    """

    models: int
    audits: int
    training: float
    auditing: float
    unknown: int

    def text(self, workers: int) -> str:
        """The same in words."""
        if not self.models + self.audits:
            return "All are done."
        seconds = self.training + self.auditing
        unknown = f" {self.unknown} more take a time that is unknown." if self.unknown else ""
        return (
            f"{self.models} models and {self.audits} audits to do: at most about {seconds / 3_600:.1f} core-hours "
            f"({self.training / 3_600:.1f} for models, {self.auditing / 3_600:.1f} for audits), "
            f"{format_seconds(seconds / workers)} on {workers} workers.{unknown}"
        )


def expected_cost(prepared: Prepared, store: Store) -> Cost:
    """What is left to do of a study; reads its data."""
    missing = plan_study(prepared).missing(store)
    finished, probes = Durations(store.listing()[0].values()), _Probes()
    of_audits = _audit_seconds(prepared, store)
    models, audits = list[float | None](), list[float | None]()
    for key in missing:
        if (asked := prepared.audits.get(key)) is None:
            run = prepared.runs[key]
            models.append(finished.alike(run) or probes.training(run))
        else:
            run = prepared.runs[asked.run]
            audits.append(of_audits.get(_kind(asked, run)) or probes.auditing(run, asked.settings))
    known = [sum(each for each in times if each is not None) for times in (models, audits)]
    return Cost(len(models), len(audits), *known, unknown=sum(each is None for each in (*models, *audits)))


def _audit_seconds(prepared: Prepared, store: Store) -> Mapping[str, float]:
    """How long audits took that differ in the seed of their run alone."""
    times = defaultdict[str, list[float]](list)
    for key, asked in prepared.audits.items():
        verdict = finished_verdict(store.audits / key)
        if verdict is not None and verdict.seconds:
            times[_kind(asked, prepared.runs[asked.run])].append(verdict.seconds)
    return {kind: median(own) for kind, own in times.items()}


def _kind(asked: AuditRequest, run: Run) -> str:
    return but_seed(run) + asked.settings.model_dump_json()


class _Probes:
    """Times of models and audits, each kind measured once on a few texts of its data."""

    def __init__(self):
        self._models: dict[str, tuple[Trained, float] | None] = {}
        self._audits: dict[str, float | None] = {}

    def training(self, run: Run) -> float | None:
        """Seconds of all epochs; None if such a model cannot be trained on a few texts."""
        speed = self._speed(run)
        return None if speed is None else speed[1] * run.training.epochs * _words(dataset_of(run).train)

    def auditing(self, run: Run, settings: AuditSettings) -> float | None:
        """Seconds of all texts of an audit, other models aside; None if it cannot be made of a few texts."""
        kind = _alike(run) + settings.model_dump_json()
        dataset = dataset_of(run)
        if kind not in self._audits:
            self._audits[kind] = _measured(lambda: self._audit_time(run, settings, dataset))
        per_text = self._audits[kind]
        count = len(getattr(dataset, settings.split))
        return None if per_text is None else per_text * min(settings.examples or count, count)

    def _speed(self, run: Run) -> tuple[Trained, float] | None:
        if (kind := _alike(run)) not in self._models:
            few = _few(dataset_of(run), TRAINED_TEXTS)
            self._models[kind] = _measured(lambda: _train_few(run, few))
        return self._models[kind]

    def _audit_time(self, run: Run, settings: AuditSettings, dataset: Dataset) -> float | None:
        if (tried := self._speed(run)) is None:
            return None
        few = _few(dataset, AUDITED_TEXTS)
        began = time.process_time()
        audit(tried[0], few, update_settings(settings, {"examples": AUDITED_TEXTS, "shown": 0}))
        return (time.process_time() - began) / AUDITED_TEXTS


Value = TypeVar("Value")


def _measured(measure: Callable[[], Value]) -> Value | None:
    """What a probe returns; None if it cannot be done."""
    try:
        return measure()
    except HeedfulError:
        return None


def _train_few(run: Run, few: Dataset) -> tuple[Trained, float] | None:
    """A model of that kind, hardly trained, and seconds for each word of an epoch; None for a fine-tuned transformer.

    A method that refers to a finished run gets the same network, trained as plainly.
    """
    if run.finetune is not None or run.network.encoder.startswith("hf:"):
        return None
    method, reference = METHODS[run.training.method], None
    epochs = method.honest_epochs + 2
    run = update_settings(run, {"data.fingerprint": "", "training.epochs": epochs, "training.record_flow": ()})
    if run.reference is not None:
        plain = {"training.method": "vanilla", "training.options": {}, "training.epochs": 1, "reference": None}
        attention = "additive" if run.network.attention == "frozen" else run.network.attention
        reference = train(update_settings(run, {**plain, "network.attention": attention}), few)
        run = update_settings(run, {"reference": key_of(reference.run)})
    ends = list[float]()

    def note(progress: Progress) -> None:
        if progress.batch == progress.batches and progress.epoch >= epochs - 1:
            ends.append(time.process_time())

    trained = train(run, few, reference=reference, report=note)
    # The last batch of the epoch before the last, the scores of that epoch, the last batch of the last epoch.
    return trained, (ends[2] - ends[1]) / _words(few.train)


def _alike(run: Run) -> str:
    """What decides how long a word takes."""
    network = run.network.model_dump_json(include={"encoder", "hidden_size", "vectors", "words", "sentences", "heads"})
    return f"{run.data.source} {network} {run.training.method} {run.finetune}"


def _few(dataset: Dataset, count: int) -> Dataset:
    """That many texts of each split, from all over it."""
    return replace(dataset, **{name: _spread(getattr(dataset, name), count) for name in ("train", "dev", "test")})


def _spread(examples: tuple[Example, ...], count: int) -> tuple[Example, ...]:
    return examples[:: max(1, len(examples) // count)][:count]


def _words(examples: Iterable[Example]) -> int:
    return sum(len(example.tokens) for example in examples)
