"""A run or an audit, done once: found on disk, or done now; here, or by a worker that shares no disk with us."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from heedful import __version__
from heedful.auditing.audit import audit
from heedful.auditing.request import AuditRequest
from heedful.data import load as load_dataset
from heedful.errors import DataError, SettingError, StoreError
from heedful.models.pretrained.fingerprint import is_pretrained
from heedful.models.transformers.loading import load_classifier
from heedful.models.transformers.model import TransformerModel
from heedful.runs.audits import save_audit
from heedful.runs.finetuned_files import pack_finetuned
from heedful.runs.folders import Files, files_in, write_files
from heedful.runs.run_file import read_run_file
from heedful.runs.store import Store
from heedful.runs.trained_files import read_trained
from heedful.settings import DataSettings, Run, TextSettings, key_of
from heedful.training.finetuning import finetune
from heedful.training.loop import train
from heedful.training.start import with_fingerprints
from heedful.training.teachers import teachers_of
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset


def load_data(run: Run) -> tuple[Run, Dataset]:
    """The run's data, and the run with the fingerprints of that data, of its vectors and of its pretrained encoder.

    A run that has them already is of that data alone: where its content has changed since, there is an error.
    """
    dataset = load_dataset(run.data, run.text, sentences=reads_sentences(run))
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


def reads_sentences(run: Run) -> bool:
    """Whether the run's model needs to know where sentences begin."""
    return run.network.encoder == "hierarchical"


def ensure(
    run: Run, store: Store, *, device: str = "cpu", report: Callable[[Progress], None] | None = None
) -> tuple[str, Trained, bool]:
    """The key of the run, the run itself, and whether it was there already."""
    return ensure_on(*load_data(run), store, device=device, report=report)


def ensure_on(
    run: Run, dataset: Dataset, store: Store, *, device: str = "cpu", report: Callable[[Progress], None] | None = None
) -> tuple[str, Trained, bool]:
    """As `ensure`, with the run's data at hand."""
    if run.finetune is not None:
        raise SettingError("a run with `finetune` settings is made by `heedful.runs.finetuned.ensure_finetuned`.")
    run = store.with_full_reference(run)
    if (finished := store.get(run)) is not None:
        return key_of(run), finished, True
    reference = store.load(run.reference) if run.reference else None
    teachers = _ensure_teachers(run, dataset, store, device, report)
    trained = train(run, dataset, device=device, reference=reference, teachers=teachers, report=report)
    return store.save(trained), trained, False


def _ensure_teachers(
    run: Run, dataset: Dataset, store: Store, device: str, report: Callable[[Progress], None] | None
) -> list[Trained]:
    """The finished teachers of a run."""
    runs = teachers_of(run)
    return [
        ensure_on(teacher, dataset, store, device=device, report=report and _named(report, number, len(runs)))[1]
        for number, teacher in enumerate(runs, start=1)
    ]


def _named(report: Callable[[Progress], None], number: int, count: int) -> Callable[[Progress], None]:
    """Reports the progress of a teacher as such."""
    return lambda progress: report(replace(progress, teacher=f"teacher {number} of {count}"))


def needed_runs(run: Run) -> tuple[str, ...]:
    """Keys of the runs that must be finished before a run is trained: its reference, or its teachers."""
    return (run.reference,) if run.reference else tuple(map(key_of, teachers_of(run)))


def train_run(
    settings: str,
    key: str,
    runs: Mapping[str, Files],
    *,
    device: str = "cpu",
    report: Callable[[Progress], None] | None = None,
) -> Files:
    """What a worker does: train the run of these settings (JSON), on one thread, and hand back its files.

    Args:
        key: what the run is called where it was asked for; a worker that would call it otherwise is of another version.
        runs: files of the runs that it needs (`needed_runs`), by their keys.
    """
    run = Run.model_validate_json(settings)
    if key_of(run) != key:
        raise SettingError(f"the worker's Heedful ({__version__}) trains otherwise than the one that asked: update it.")
    with _ONE_AT_A_TIME:
        torch.set_num_threads(1)
        if run.finetune is not None:
            return pack_finetuned(finetune(run, dataset_of(run), device=device, report=report))
        others = {name: unpack(name, files) for name, files in runs.items()}
        teachers = [others[name] for name in map(key_of, teachers_of(run)) if name in others]
        base = others.get(run.reference or "")
        return pack(train(run, dataset_of(run), device=device, reference=base, teachers=teachers, report=report))


def audit_run(
    request: str,
    key: str,
    runs: Mapping[str, Files],
    *,
    device: str = "cpu",
    report: Callable[[int, int], None] | None = None,
) -> Files:
    """What a worker does for an audit: make the one that is requested (JSON), on one thread, and hand back its files.

    Args:
        key: what the audit is called where it was asked for.
        runs: files of all runs that it needs.
    """
    asked = AuditRequest.model_validate_json(request)
    if asked.key != key:
        raise SettingError(f"the worker's Heedful ({__version__}) audits otherwise than the one that asked: update it.")
    models = {name: unpack_any(name, files, device) for name, files in runs.items()}
    with _ONE_AT_A_TIME, TemporaryDirectory() as folder:
        torch.set_num_threads(1)
        model, run = models[asked.run]
        companions = asked.companions.map(lambda name: models[name][0])
        finished = audit(model, dataset_of(run), asked.settings, companions, device=device, report=report)
        save_audit(finished, Path(folder) / key)
        return files_in(Path(folder) / key)


_ONE_AT_A_TIME = threading.Lock()
"""Training seeds torch's own generator, which the threads of a worker share."""


def dataset_of(run: Run) -> Dataset:
    """The data of a run with all fingerprints, as read before where it was read before."""
    return _cached_dataset(run.data.model_dump_json(), run.text.model_dump_json(), reads_sentences(run))


@lru_cache(maxsize=2)
def _cached_dataset(data_settings: str, text_settings: str, sentences: bool) -> Dataset:
    """The data as read before, where the settings (JSON, with the fingerprint) are those of a run before."""
    data, text = DataSettings.model_validate_json(data_settings), TextSettings.model_validate_json(text_settings)
    dataset = load_dataset(data, text, sentences=sentences)
    if dataset.fingerprint != data.fingerprint:
        raise DataError(
            f"{data.source} has other content on the worker (fingerprint {dataset.fingerprint}) than where the "
            f"work was started ({data.fingerprint}): give both the same files, by a shared disk or a copy."
        )
    return dataset


def pack(trained: Trained) -> Files:
    """The files that a finished run is stored as."""
    with TemporaryDirectory() as folder:
        key = Store(folder).save(trained)
        return files_in(Path(folder) / key)


def unpack_any(key: str, files: Files, device: str = "cpu") -> tuple[Trained | TransformerModel, Run]:
    """The finished run that these files hold, one of our models or a fine-tuned one, and its settings."""
    with TemporaryDirectory() as parent:
        folder = Path(parent) / key
        write_files(files, folder)
        run = read_run_file(folder).run
        if run.finetune is None:
            return unpack(key, files), run
        classifier = replace(load_classifier(str(folder), device=device), name=key)
        return TransformerModel(classifier), run


def unpack(key: str, files: Files) -> Trained:
    """The finished run that these files hold."""
    with TemporaryDirectory() as parent:
        folder = Path(parent) / key
        write_files(files, folder)
        try:
            return read_trained(read_run_file(folder), folder)
        except StoreError as error:
            raise StoreError(
                f"run {key} cannot be used: {error}. Delete its folder where runs are stored, and call again."
            ) from error
