"""What jobs do: train a run, make an audit, or a part of one; each writes one folder, and reads others by the store.

Who calls them is not their business: this process, a process beside it, or a worker elsewhere with a store of its own.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from heedful import __version__
from heedful.auditing.audit import PreparedAudit, audit_extras, audit_shard, prepare_audit
from heedful.data import load as load_dataset
from heedful.errors import DataError, SettingError
from heedful.jobs.audit_parts import REST, ensure_prepared, request_of, scores_fingerprint, write_part
from heedful.jobs.request import AuditRequest, AuditSource, AuditWork
from heedful.models.hugging_face.model_files import is_pretrained
from heedful.settings import DataSettings, Run, TextSettings, key_of
from heedful.settings.validation import update_settings
from heedful.store.fingerprints import reading_digest, remember_fingerprint
from heedful.store.store import FinetunedRun, Store, find_finetuned, log, run_defect, save_finetuned
from heedful.subjects.opening import load_texts, open_subject
from heedful.subjects.subject import Subject
from heedful.training.finetuning import finetune
from heedful.training.loop import train
from heedful.training.start import with_fingerprints
from heedful.training.teachers import teachers_of
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset

Tick = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is in all: batches, or texts."""

Report = Callable[[Progress], None]


def load_data(run: Run) -> tuple[Run, Dataset]:
    """The run's data, and the run with the fingerprints of that data, of its vectors and of its pretrained encoder.

    A run that has them already is of that data alone: where its content has changed since, there is an error.
    """
    dataset = _read(run)
    if run.data.fingerprint not in ("", dataset.fingerprint):
        raise DataError(
            f"'{run.data.source}' has changed since the run was trained on it: its fingerprint was "
            f"{run.data.fingerprint} and is {dataset.fingerprint}. Restore it, train anew, or audit the finished model "
            "on what is there now: `heedful audit DATA --model KEY`."
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
    """As `ensure`, with the run's data at hand."""
    if run.finetune is not None:
        raise SettingError("a run with `finetune` settings is made by `heedful.jobs.work.ensure_finetuned`.")
    run = store.with_full_reference(run)
    if (finished := store.get(run)) is not None:
        return key_of(run), finished, True
    reference = store.load(run.reference) if run.reference else None
    runs = teachers_of(run)
    teachers = [
        ensure_on(teacher, dataset, store, device=device, report=report and _named(report, number, len(runs)))[1]
        for number, teacher in enumerate(runs, start=1)
    ]
    trained = train(run, dataset, device=device, reference=reference, teachers=teachers, report=report)
    return store.save(trained), trained, False


def _named(report: Report, number: int, count: int) -> Report:
    """Reports the progress of a teacher as such."""
    return lambda progress: report(replace(progress, teacher=f"teacher {number} of {count}"))


def ensure_finetuned(
    run: Run, store: Store, *, device: str = "cpu", report: Report | None = None
) -> tuple[FinetunedRun, bool]:
    """The fine-tuned model that the run describes, and whether it was there already."""
    return ensure_finetuned_on(*load_data(run), store, device=device, report=report)


def ensure_finetuned_on(
    run: Run, dataset: Dataset, store: Store, *, device: str = "cpu", report: Report | None = None
) -> tuple[FinetunedRun, bool]:
    """As `ensure_finetuned`, with the run's data at hand."""
    key = key_of(run)
    place = store.folder / key
    problem = run_defect(place)
    if problem is not None:
        if place.exists():
            log.warning("%s is not a finished run and is made again: %s.", place, problem)
        save_finetuned(finetune(run, dataset, device=device, report=report), store)
    return find_finetuned(store, key), problem is None


def needed_runs(run: Run) -> tuple[str, ...]:
    """Keys of the runs that must be finished before a run is trained: its reference, or its teachers."""
    return (run.reference,) if run.reference else tuple(map(key_of, teachers_of(run)))


_ONE_AT_A_TIME = threading.Lock()
"""Training seeds torch's own generator, and parts share the audit that is ready: a process does one job at a time."""


def do_training(settings: str, key: str, store: Store, place: Path, device: str, tick: Tick) -> None:
    """Train the run of these settings (JSON); what it needs is in the store.

    Args:
        key: what the run is called where it was asked for; a worker that would call it otherwise is of another version.
    """
    run = Run.model_validate_json(settings)
    if key_of(run) != key:
        raise SettingError(f"the worker's Heedful ({__version__}) trains otherwise than the one that asked: update it.")

    def report(progress: Progress) -> None:
        teacher = f"{progress.teacher}, " if progress.teacher else ""
        if progress.epoch == 0:
            tick(f"{teacher}reading the texts by the encoder", progress.batch, progress.batches)
            return
        done = (progress.epoch - 1) * progress.batches + progress.batch
        tick(f"{teacher}epoch {progress.epoch} of {progress.epochs}", done, progress.epochs * progress.batches)

    with _ONE_AT_A_TIME:
        ensured = ensure_on if run.finetune is None else ensure_finetuned_on
        ensured(run, dataset_of(run), store, device=device, report=report)


def do_audit(settings: str, key: str, store: Store, place: Path, device: str, tick: Tick) -> None:
    """Make the audit that is asked for (JSON), as far as its parts are not there."""
    asked = AuditWork.model_validate_json(settings)
    _check_version(asked.audit.key, key)
    with _ONE_AT_A_TIME:
        ensure_prepared(
            asked.audit,
            lambda: prepared_for(asked.audit, asked.source, store, device),
            place.parent,
            report=lambda done, texts: tick("auditing", done, texts),
        )


def do_part(settings: str, key: str, store: Store, place: Path, device: str, tick: Tick) -> None:
    """Make a part of the audit that is asked for (JSON)."""
    asked = AuditWork.model_validate_json(settings)
    _check_version(asked.audit.key, key.partition("/")[0])
    with _ONE_AT_A_TIME:
        prepared = prepared_for(asked.audit, asked.source, store, device)
        if asked.part == REST:
            write_part(audit_extras(prepared), place)
            return
        texts = prepared.texts_of(int(asked.part))
        write_part(audit_shard(prepared, int(asked.part), lambda done: tick("auditing", done, texts)), place)


def _check_version(found: str, wanted: str) -> None:
    if found != wanted:
        raise SettingError(f"the worker's Heedful ({__version__}) audits otherwise than the one that asked: update it.")


def dataset_of(run: Run) -> Dataset:
    """The data of a run with all fingerprints."""
    dataset = _read(run)
    _check_content(run.data, dataset, run.data.fingerprint)
    return dataset


def _read(run: Run) -> Dataset:
    """The run's data, read once a process as long as its bytes are the same."""
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
"""The audit that was asked for last, by its key and device: its next part finds model and texts at hand."""


def keep_ready(asked: AuditRequest, device: str, prepared: PreparedAudit) -> PreparedAudit:
    """The audit, which the next job of this process that asks for it finds at hand."""
    _READY.clear()
    _READY[f"{asked.key} {device}"] = prepared
    return prepared


def prepared_for(asked: AuditRequest, source: AuditSource, store: Store, device: str) -> PreparedAudit:
    """The audit that is asked for, ready to be made."""
    if (ready := _READY.get(f"{asked.key} {device}")) is not None:
        return ready
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
    beside = asked.comparison_models.map(subjects.__getitem__)
    return keep_ready(asked, device, prepare_audit(subject, dataset, asked.settings, beside, scores=scores))


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
