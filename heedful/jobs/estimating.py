"""Time that a plan takes on this machine, measured by a probe: batches of training, and the audit of a few texts."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import torch

from heedful.auditing.audit import audit_subject
from heedful.jobs.planning import Plan
from heedful.jobs.request import AuditWork, Job
from heedful.jobs.running import processes_for, words_of_jobs
from heedful.jobs.work import dataset_of, prepared_for
from heedful.settings import AuditSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.subjects.opening import open_subject
from heedful.subjects.subject import Subject, chosen_texts
from heedful.training.loop import train
from heedful.training.methods import METHODS, stopping
from heedful.training.trained import Progress
from heedful.types import Batch, Dataset, Example

LITTLE = 80_000
"""Words, counted as training reads them, that no machine needs an estimate for."""
PROBE = 1.0
"""Seconds of training that are measured."""
PROBE_WORDS, FEWEST, MOST = 800, 4, 32
"""Words of the texts that are audited as a probe, and the smallest and the largest number of texts."""
GROWTH = 1.5
"""The time to audit a text grows with this power of its number of words."""
SCORING = 0.35
"""Time to score a text, as a share of the time to train on it."""
START = 4.0
"""Seconds until processes of this machine have started."""


@dataclass(frozen=True)
class Estimate:
    """Time of a plan.

    Args:
        seconds: until all is done, while others compute on this machine as now.
        computing: seconds of computing, the sum over processes.
        quick: seconds with one seed and fewer texts.
        models: number of models to train or audit.
        texts: number of texts that each audit reads.
    """

    seconds: float
    computing: float
    quick: float
    models: int
    texts: int


def estimate(
    plan: Plan, store: Store, *, quick_texts: int, device: str = "cpu", workers: int | None = None
) -> Estimate | None:
    """Measure how long the missing jobs of a plan take; None if that is short, or nothing can be probed.

    Args:
        quick_texts: number of texts of a quick audit.
        workers: processes that share the work; None: as many as `carry_out` starts.
    """
    jobs = plan.missing(store)
    is_long = any(source.classifiers for source in plan.sources.values()) or sum(words_of_jobs(jobs, store)) > LITTLE
    probe, began, computing = _Probe(jobs, store, device), time.perf_counter(), time.process_time()
    seconds = (
        {key: probe.seconds(job) for key, job in jobs.items() if job.kind in ("train", "audit")} if is_long else {}
    )
    known = {key: own for key, own in seconds.items() if own is not None}
    if not known or len(known) < len(seconds):
        return None
    busy = 1.0
    if probe.clock is time.process_time:  # others also compute here
        busy = max(1.0, (time.perf_counter() - began) / (time.process_time() - computing))
    audits = {key: known[key] for key in known if jobs[key].kind == "audit"}
    training = {key: known[key] for key in known if jobs[key].kind == "train"}
    chains = [sum(known.get(each, 0.0) for each in (key, *jobs[key].needs[:1])) for key in known]
    processes = workers or processes_for(jobs, store)
    start = START if processes > 1 else 0.0
    units = [each + 2.0 * min(each, quick_texts) for each in (min(probe.texts, quick_texts), max(1, probe.texts))]
    quick = max(training.values(), default=0.0) + units[0] / units[1] * max(audits.values(), default=0.0)
    whole = max(*chains, sum(known.values()) / processes)
    models = max(len(audits), len(training))
    return Estimate(busy * (start + whole), sum(known.values()), busy * quick, models, probe.texts)


class _EnoughError(Exception):
    """The probe of training is long enough."""


class _Probe:
    """Seconds of jobs. Those that differ in the seed alone are measured once."""

    def __init__(self, jobs: Mapping[str, Job], store: Store, device: str):
        self.jobs, self.store, self.device = jobs, store, device
        self.clock = time.process_time if device == "cpu" and torch.get_num_threads() == 1 else time.perf_counter
        self.trained: dict[str, tuple[float, Subject, Dataset]] = {}
        self.audited: dict[str, float] = {}
        self.texts = 0

    def seconds(self, job: Job) -> float | None:
        """Seconds of a job; None if it cannot be probed."""
        if job.kind == "train":
            trained = self._training(job)
            return None if trained is None else trained[0]
        work = AuditWork.model_validate_json(job.settings)
        subject: Subject
        data: Dataset | Sequence[Batch]
        if (needed := self.jobs.get(work.audit.run)) is None:
            prepared = prepared_for(work.audit, work.source, self.store, self.device)
            subject, data, kind = prepared.subject, prepared.data, job.key
        elif (trained := self._training(needed)) is not None:
            (_, subject, data), kind = trained, _kind(Run.model_validate_json(needed.settings))
        else:
            return None
        if not isinstance(data, Dataset):
            return None
        self.texts = len(chosen_texts(len(getattr(data, work.audit.settings.split)), work.audit.settings))
        if kind not in self.audited:
            self.audited[kind] = self._audit(subject, data, work.audit.settings)
        return self.audited[kind]

    def _training(self, job: Job) -> tuple[float, Subject, Dataset] | None:
        run = Run.model_validate_json(job.settings)
        if run.finetune is not None:
            return None
        if (kind := _kind(run)) not in self.trained:
            self.trained[kind] = self._train(run)
        return self.trained[kind]

    def _train(self, run: Run) -> tuple[float, Subject, Dataset]:
        """Seconds of training, a model that learned a little, and its data."""
        dataset, method = dataset_of(run), METHODS[run.training.method]
        if run.reference or method.needs_reference or method.teachers is not None:
            plain = {"training.method": "vanilla", "training.options": {}, "reference": None}
            run = update_settings(run, plain | {"network.attention": "additive"})
        times, batches = list[float](), 1

        def measure(progress: Progress) -> None:
            nonlocal batches
            if progress.epoch and progress.scores is None:
                if progress.epoch > 1 or (len(times) > 2 and times[-1] - times[0] > PROBE):
                    raise _EnoughError
                times.append(self.clock())
                batches = progress.batches

        began = self.clock()
        with suppress(_EnoughError):
            train(run, dataset, device=self.device, report=measure)
        epoch = (times[-1] - times[0]) / max(1, len(times) - 1) * batches
        words = [sum(map(_words, own)) for own in (dataset.train, dataset.dev)]
        seconds = times[0] - began + _epochs(run) * epoch * (1 + SCORING * words[1] / words[0])
        few = replace(dataset, train=dataset.train[:200], dev=dataset.dev[:20], test=dataset.test[:20])
        shortest = 1 + METHODS[run.training.method].honest_epochs
        trained = train(update_settings(run, {"training.epochs": shortest}), few, device=self.device)
        return seconds, open_subject(trained, self.store), dataset

    def _audit(self, subject: Subject, data: Dataset, settings: AuditSettings) -> float:
        """Seconds of an audit, from a few texts of every length."""
        examples = getattr(data, settings.split)
        chosen = sorted((examples[place] for place in chosen_texts(len(examples), settings)), key=_words)
        mean = sum(map(_words, chosen)) / len(chosen)
        count = min(len(chosen), max(FEWEST, min(MOST, int(PROBE_WORDS / max(1.0, mean)))))
        share, outcome = count / len(chosen), settings.outcome
        dev = sorted(data.dev[: outcome.dev_texts], key=_words)
        changes = {"examples": None, "outcome.replaced_texts": round(share * outcome.replaced_texts)}
        changed, measured = update_settings(settings, changes), []
        for size in (2, 2, count):  # the first loads what audits need
            few, few_dev = _every(chosen, size), _every(dev, min(size, round(share * len(dev))))
            began = self.clock()
            audit_subject(subject, replace(data, **{"dev": few_dev, settings.split: few}), changed)
            measured.append((self.clock() - began, _cost(few)))
        _, (start, least), (most, cost) = measured
        return start + max(0.0, most - start) * (_cost(chosen) - least) / max(1.0, cost - least)


def _kind(run: Run) -> str:
    """The same for runs that differ in the seed alone."""
    return key_of(update_settings(run, {"seed": 0}))


def _epochs(run: Run) -> float:
    """Epochs until training stops: halfway from the first possible to the last."""
    settings = run.training
    first, patience = stopping(METHODS[settings.method], settings)
    if not patience:
        return settings.epochs
    return (min(settings.epochs, max(first + patience, settings.min_epochs)) + settings.epochs) / 2


def _words(example: Example) -> int:
    return len(example.tokens)


def _cost(examples: Sequence[Example]) -> float:
    return sum(_words(example) ** GROWTH for example in examples)


def _every(examples: Sequence[Example], count: int) -> tuple[Example, ...]:
    """Examples at equal distances."""
    return tuple(examples[int((place + 0.5) * len(examples) / count)] for place in range(count))
