"""What jobs do: train a run, make an audit, or a part of one; each writes one folder, and reads others by the store.

The caller can be this process, another process, or a remote worker with its own store.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from heedful import __version__
from heedful.auditing.audit import PreparedAudit, prepare_audit
from heedful.auditing.rows import check_names
from heedful.data import load as load_dataset
from heedful.errors import DataError, SettingError
from heedful.jobs.audit_parts import ensure_prepared, make_part, request_of, scores_fingerprint
from heedful.jobs.pooled_audit import write_pooled
from heedful.jobs.request import AuditRequest, AuditSource, AuditWork, Job
from heedful.models.hugging_face.model_files import is_pretrained
from heedful.settings import AuditSettings, DataSettings, Run, TextSettings, key_of
from heedful.settings.validation import update_settings
from heedful.store.fingerprints import reading_digest, remember_fingerprint
from heedful.store.run_file import RunFile
from heedful.store.store import (
    REST,
    Store,
    audit_defect,
    run_defect,
)
from heedful.subjects.finished_run import batches_by_length
from heedful.subjects.opening import load_texts, open_subject
from heedful.subjects.subject import Subject, chosen_texts
from heedful.training.finetuning import finetune
from heedful.training.loop import train
from heedful.training.start import with_fingerprints
from heedful.training.teachers import teachers_of
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset

log = logging.getLogger(__name__)

Tick = Callable[[str, int, int], None]
"""Called with the current task, how much of it is done, and how much there is in all: batches, or texts."""

Report = Callable[[Progress], None]


def load_data(run: Run) -> tuple[Run, Dataset]:
    """The run's data, and the run with the fingerprints of that data, of its vectors and of its pretrained encoder.

    A run that has them already is of that data alone: where its content has changed since, there is an error.
    """
    dataset = _read(run)
    if run.data.fingerprint not in ("", dataset.fingerprint):
        raise DataError(
            f"'{run.data.source}' has changed since the run was trained on it: its fingerprint was "
            f"{run.data.fingerprint} and is {dataset.fingerprint}. Restore it, train again, or audit the finished "
            "model on what is there now: `heedful audit DATA --model KEY`."
        )
    return run if _is_complete(run) else with_fingerprints(run, dataset.fingerprint), dataset


def _is_complete(run: Run) -> bool:
    """Whether the run has all fingerprints."""
    network = run.network
    known = [run.data.fingerprint, network.vectors_fingerprint or not network.vectors]
    known += [network.encoder_fingerprint or not is_pretrained(network.encoder)]
    return all(known) and (run.finetune is None or bool(run.finetune.fingerprint))


def ensure(run: Run, store: Store, *, device: str = "cpu", report: Report | None = None) -> tuple[str, Trained, bool]:
    """The key of the run, the run itself, and whether it was there already."""
    return ensure_on(*load_data(run), store, device=device, report=report)


def ensure_on(
    run: Run, dataset: Dataset, store: Store, *, device: str = "cpu", report: Report | None = None
) -> tuple[str, Trained, bool]:
    """As `ensure`, with the run's data in memory."""
    if run.finetune is not None:
        raise SettingError("a run with `finetune` settings is made by `heedful.jobs.work.ensure_finetuned`.")
    run = store.with_full_reference(run)
    if (finished := store.get(run)) is not None:
        return key_of(run), finished, True
    reference = store.load(run.reference) if run.reference else None
    runs = teachers_of(run)
    teachers = list[Trained]()
    for number, teacher in enumerate(runs, start=1):
        name = f"teacher {number} of {len(runs)}"
        named = report and (lambda progress, name=name: report(replace(progress, teacher=name)))
        teachers.append(ensure_on(teacher, dataset, store, device=device, report=named)[1])
    trained = train(run, dataset, device=device, reference=reference, teachers=teachers, report=report)
    return store.save(trained), trained, False


def ensure_finetuned(
    run: Run, store: Store, *, device: str = "cpu", report: Report | None = None
) -> tuple[str, RunFile, bool]:
    """The key of the fine-tuned model that the run describes, its run.json, and whether it was there already."""
    run, dataset = load_data(run)
    key = key_of(run)
    problem = run_defect(store.folder / key)
    if problem is not None:
        if (store.folder / key).exists():
            log.warning("%s/%s is not a finished run and is made again: %s.", store.folder, key, problem)
        store.save(finetune(run, dataset, device=device, report=report))
    return key, store.read(key), problem is None


_ONE_AT_A_TIME = threading.Lock()
"""Training seeds torch's own generator, and parts share the audit that is ready: a process does one job at a time."""


def do(job: Job, store: Store, device: str, tick: Tick) -> None:
    """Make the folder of a job; what it needs is in the store."""
    with _ONE_AT_A_TIME:
        if job.kind == "pool":
            write_pooled([store.audits / key for key in json.loads(job.settings)], job.place(store))
        else:
            {"train": _train, "part": _make_part}.get(job.kind, _audit)(job, store, device, tick)


def _train(job: Job, store: Store, device: str, tick: Tick) -> None:
    run = Run.model_validate_json(job.settings)
    if key_of(run) != job.key:
        raise SettingError(f"the worker's Heedful ({__version__}) trains otherwise than the one that asked: update it.")

    def report(progress: Progress) -> None:
        teacher = f"{progress.teacher}, " if progress.teacher else ""
        if progress.epoch == 0:
            tick(f"{teacher}reading the texts by the encoder", progress.batch, progress.batches)
            return
        done = (progress.epoch - 1) * progress.batches + progress.batch
        tick(f"{teacher}epoch {progress.epoch} of {progress.epochs}", done, progress.epochs * progress.batches)

    dataset = dataset_of(run)
    if run.finetune is None:
        ensure_on(run, dataset, store, device=device, report=report)
    else:
        ensure_finetuned(run, store, device=device, report=report)


def _audit(job: Job, store: Store, device: str, tick: Tick) -> None:
    work = _work_of(job)
    ensure_prepared(
        work.audit,
        lambda: prepared_for(work.audit, work.source, store, device),
        store.audits,
        report=lambda done, texts: tick("auditing", done, texts),
    )


def _make_part(job: Job, store: Store, device: str, tick: Tick) -> None:
    work, place = _work_of(job), job.place(store)
    if audit_defect(store.audits / work.audit.key) is None:  # another process made the whole meanwhile
        return
    prepared = prepared_for(work.audit, work.source, store, device)
    texts = 0 if work.part == REST else prepared.texts_of(int(work.part))
    make_part(prepared, work.part, place, lambda done: tick("auditing", done, texts))


def _work_of(job: Job) -> AuditWork:
    """What is to be audited; a worker that would call it otherwise is of another version."""
    work = AuditWork.model_validate_json(job.settings)
    if work.audit.key != job.key.partition("/")[0]:
        raise SettingError(f"the worker's Heedful ({__version__}) audits otherwise than the one that asked: update it.")
    return work


def check_audits(jobs: Iterable[Job]) -> None:
    """Raise, before anything is trained, where an audit names a test, an option or a ranking that there is not."""
    for settings in {_work_of(job).audit.settings.model_dump_json() for job in jobs if job.kind == "audit"}:
        check_names(AuditSettings.model_validate_json(settings))


def words_of_audit(work: AuditWork, store: Store, runs: Mapping[str, Job]) -> Sequence[int]:
    """How many words each batch has that is audited.

    Args:
        runs: jobs, by key, that train what is not in the store.
    """
    for key, ready in _READY.items():
        if key.startswith(work.audit.key):
            return ready.texts.batches.words
    job = runs.get(work.audit.run)
    dataset = dataset_of(Run.model_validate_json(job.settings) if job else store.read(work.audit.run).run)
    examples = getattr(dataset, work.audit.settings.split)
    return batches_by_length(examples, chosen_texts(len(examples), work.audit.settings))[1]


def dataset_of(run: Run) -> Dataset:
    """The data of a run with all fingerprints."""
    dataset = _read(run)
    _check_content(run.data, dataset, run.data.fingerprint)
    return dataset


def _read(run: Run) -> Dataset:
    """The run's data, read once per process as long as its bytes are the same."""
    digest = reading_digest(run)
    data = update_settings(run.data, {"fingerprint": ""})
    read = _read_once if digest else _read_once.__wrapped__
    dataset = read(digest, data.model_dump_json(), run.text.model_dump_json(), run.reads_sentences)
    remember_fingerprint(digest, dataset.fingerprint)
    return dataset


@lru_cache(maxsize=2)
def _read_once(digest: str | None, data: str, text: str, sentences: bool) -> Dataset:
    settings = DataSettings.model_validate_json(data), TextSettings.model_validate_json(text)
    return load_dataset(*settings, sentences=sentences)


def _check_content(data: DataSettings, dataset: Dataset, fingerprint: str) -> None:
    if dataset.fingerprint != fingerprint:
        raise DataError(
            f"{data.source} has other content on the worker (fingerprint {dataset.fingerprint}) than where the "
            f"work was started ({fingerprint}): give both the same files, by a shared disk or a copy."
        )


_READY: dict[str, PreparedAudit] = {}
"""The last requested audits, by key and device: their next parts find model and texts in memory."""


def keep_ready(asked: AuditRequest, device: str, prepared: PreparedAudit) -> PreparedAudit:
    """Keep the audit in memory for jobs of this process that need it."""
    _READY[f"{asked.key} {device}"] = prepared
    return prepared


def prepared_for(asked: AuditRequest, source: AuditSource, store: Store, device: str) -> PreparedAudit:
    """The audit that is asked for, ready to be made."""
    if (ready := _READY.get(f"{asked.key} {device}")) is not None:
        return ready
    _READY.clear()
    if source.own:
        subject = open_subject(source.own, store, device=device)
        batches = load_texts(subject)
        if request_of(subject, batches, asked.settings).key != asked.key:
            raise SettingError(
                f"{source.own} returns something else on the worker than where the audit was started: give both the "
                "same files, and let the function draw nothing at random without a seed."
            )
        return keep_ready(asked, device, prepare_audit(subject, batches, asked.settings))
    subjects = {key: _subject(key, store, source, device) for key in asked.needs}
    subject, scores = subjects[asked.run], Path(source.scores) if source.scores else None
    if scores is not None and scores_fingerprint(scores) != asked.scores:
        raise SettingError(f"{scores} has other content on the worker than where the audit was started: give both one.")
    if source.data is None:
        dataset = dataset_of(store.read(asked.run).run)
    else:
        dataset = load_texts(subject, source.data, list(subjects.values()))
        assert isinstance(dataset, Dataset)
        _check_content(source.data, dataset, asked.data)
    compared = asked.comparison_models.map(subjects.__getitem__)
    return keep_ready(asked, device, prepare_audit(subject, dataset, asked.settings, compared, scores=scores))


def _subject(key: str, store: Store, source: AuditSource, device: str) -> Subject:
    """The model of that key: a Hugging Face model that the source names, or a finished run."""
    if (name := source.classifiers.get(key)) is not None:
        subject = open_subject(name, store, site=source.site, scope=source.scope, device=device)
        if subject.key != key:
            raise SettingError(
                f"{name} is another model on the worker than where the audit was started: give both the same files, by "
                "a shared disk or a copy."
            )
        return subject
    subject = open_subject(key, store, device=device)
    return subject.named(key)
