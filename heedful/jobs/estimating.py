"""Time that a plan takes on this machine, measured by a probe: batches of training, and the audit of a few texts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heedful.auditing.audit import audit_subject
from heedful.jobs.planning import Plan
from heedful.jobs.request import AuditWork
from heedful.jobs.running import processes_for
from heedful.jobs.work import dataset_of, prepared_for
from heedful.settings import AuditSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.subjects.opening import open_subject
from heedful.subjects.subject import Subject, chosen_texts
from heedful.training.loop import train
from heedful.training.methods import METHODS, stopping
from heedful.training.trained import Progress
from heedful.types import Dataset, Example

PROBE = 1.0
"""Seconds of training that are measured."""
PROBE_WORDS, PROBE_TEXTS = 800, (4, 32)
"""Words of the texts that are audited as a probe, and the least and the largest number of texts."""
GROWTH = 1.5
"""The time of a text grows with this power of its number of words."""
SCORING = 0.35
"""Time to score a text, as a share of the time to train on it."""
START = 4.0
"""Seconds until processes of this machine have started."""


@dataclass(frozen=True)
class Estimate:
    """Time of a plan.

    Args:
        quick: seconds with one seed and fewer texts.
        models: number of models to train or audit.
        texts: number of texts that each audit reads.
    """

    seconds: float
    quick: float
    models: int
    texts: int


class _EnoughError(Exception):
    """The probe of training is long enough."""


def estimate(
    plan: Plan, store: Store, *, quick_texts: int, device: str = "cpu", workers: int | None = None
) -> Estimate | None:
    """Measure how long the missing jobs of a plan take; None if there is nothing that can be probed.

    Args:
        quick_texts: number of texts of a quick audit.
        workers: processes that share the work; None: as many as `carry_out` starts.
    """
    jobs = plan.missing(store)
    training: dict[str, float] = {}
    audits: dict[str, float] = {}
    probed: dict[object, tuple[float, Subject, Dataset]] = {}
    known: dict[object, float] = {}
    texts = 0
    for key, job in jobs.items():
        if job.kind == "train":
            run = Run.model_validate_json(job.settings)
            if run.finetune is not None:
                return None
            kind = key_of(update_settings(run, {"seed": 0}))
            if kind not in probed:
                probed[kind] = _probe_training(run, device, store)
            training[key] = probed[kind][0]
    for key, job in jobs.items():
        if job.kind == "audit":
            work = AuditWork.model_validate_json(job.settings)
            needed = jobs.get(work.audit.run)
            if needed is None:
                prepared = prepared_for(work.audit, work.source, store, device)
                subject, dataset, kind = prepared.subject, prepared.data, key
            else:
                run = Run.model_validate_json(needed.settings)
                kind = key_of(update_settings(run, {"seed": 0}))
                _, subject, dataset = probed[kind]
            if not isinstance(dataset, Dataset):
                return None
            if kind not in known:
                known[kind] = _probe_audit(subject, dataset, work.audit.settings)
            audits[key] = known[kind]
            texts = len(chosen_texts(len(getattr(dataset, work.audit.settings.split)), work.audit.settings))
    if not training and not audits:
        return None
    processes = workers or processes_for(jobs, store)
    longest = max(
        (training.get(job.needs[0], 0.0) if job.needs else 0.0) + audits.get(key, 0.0) for key, job in jobs.items()
    )
    whole = sum(training.values()) + sum(audits.values())
    seconds = max(longest, whole / processes) + START * (processes > 1)
    share = _units(min(texts, quick_texts)) / max(1.0, _units(texts))
    quick = max(training.values(), default=0.0) + share * max(audits.values(), default=0.0)
    return Estimate(seconds, quick, max(len(audits), len(training)), texts)


def _units(texts: int) -> float:
    return texts + 2.0 * min(texts, 150)


def _probe_training(run: Run, device: str, store: Store) -> tuple[float, Subject, Dataset]:
    """Seconds of training, a model that learned a little, and its data."""
    dataset = dataset_of(run)
    method = METHODS[run.training.method]
    if method.needs_reference or run.reference or method.teachers is not None:
        run = update_settings(run, {"training.method": "vanilla", "training.options": {}, "reference": None})
    times: list[tuple[float, Progress]] = []

    def measure(progress: Progress) -> None:
        if progress.epoch:
            times.append((time.perf_counter(), progress))
            if times[-1][0] - times[0][0] > PROBE and len(times) > 2:
                raise _EnoughError

    began = time.perf_counter()
    try:
        train(run, dataset, device=device, report=measure)
        seconds = time.perf_counter() - began
    except _EnoughError:
        (first, _), (last, progress) = times[0], times[-1]
        epoch = (last - first) / (len(times) - 1) * progress.batches
        words = [sum(len(example.tokens) for example in own) for own in (dataset.train, dataset.dev)]
        seconds = first - began + _epochs(run) * epoch * (1 + SCORING * words[1] / words[0])
    few = replace(dataset, train=dataset.train[:200], dev=dataset.dev[:20], test=dataset.test[:20])
    trained = train(update_settings(run, {"training.epochs": 1}), few, device=device)
    return seconds, open_subject(trained, store), dataset


def _epochs(run: Run) -> float:
    """Epochs until training stops: halfway from the first possible to the last."""
    settings = run.training
    first, patience = stopping(METHODS[settings.method], settings)
    if not patience:
        return settings.epochs
    return (min(settings.epochs, max(first + patience, settings.min_epochs)) + settings.epochs) / 2


def _probe_audit(subject: Subject, dataset: Dataset, settings: AuditSettings) -> float:
    """Seconds of an audit, from a few texts of every length."""
    examples = getattr(dataset, settings.split)
    chosen = sorted((examples[place] for place in chosen_texts(len(examples), settings)), key=_words)
    mean = sum(map(_words, chosen)) / len(chosen)
    count = min(len(chosen), max(PROBE_TEXTS[0], min(PROBE_TEXTS[1], int(PROBE_WORDS / max(1.0, mean)))))
    share = count / len(chosen)
    few = _every(chosen, count)
    dev_texts = min(len(dataset.dev), settings.outcome.dev_texts)
    dev = _every(sorted(dataset.dev[:dev_texts], key=_words), round(share * dev_texts))
    changes = {"examples": None, "outcome.replaced_texts": round(share * settings.outcome.replaced_texts)}
    changed = update_settings(settings, changes)
    audit_subject(subject, replace(dataset, **{"dev": dev[:2], settings.split: few[:2]}), changed)
    began = time.perf_counter()
    audit_subject(subject, replace(dataset, **{"dev": dev, settings.split: few}), changed)
    return (time.perf_counter() - began) * _cost(chosen) / _cost(few)


def _words(example: Example) -> int:
    return len(example.tokens)


def _cost(examples: Sequence[Example]) -> float:
    return sum(_words(example) ** GROWTH for example in examples)


def _every(examples: Sequence[Example], count: int) -> tuple[Example, ...]:
    """Examples at equal distances."""
    return tuple(examples[int((place + 0.5) * len(examples) / count)] for place in range(count))
