"""A run, done once: found in the store, or trained now and stored; here, or by a worker that shares no disk with us."""

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from pydantic import BaseModel, ConfigDict

from heedful import __version__
from heedful.auditing.audit import audit, audit_key, save_audit
from heedful.auditing.companions import Company
from heedful.data import load as load_dataset
from heedful.errors import DataError, SettingError
from heedful.runs.store import Store, written_whole
from heedful.settings import AuditSettings, DataSettings, Run, TextSettings, key_of
from heedful.training.loop import train
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset

Files = dict[str, bytes]
"""A finished run on its way between machines: the files of its folder."""


def load_data(run: Run) -> tuple[Run, Dataset]:
    """The run's data, and the run with the fingerprint of that data."""
    dataset = load_dataset(run.data, run.text, sentences=run.network.encoder == "hierarchical")
    data = run.data.model_copy(update={"fingerprint": dataset.fingerprint})
    return run.model_copy(update={"data": data}), dataset


def ensure(
    run: Run, store: Store, *, device: str = "cpu", report: Callable[[Progress], None] | None = None
) -> tuple[str, Trained, bool]:
    """The key of the run, the run itself, and whether it was there already."""
    return ensure_on(*load_data(run), store, device=device, report=report)


def ensure_on(
    run: Run, dataset: Dataset, store: Store, *, device: str = "cpu", report: Callable[[Progress], None] | None = None
) -> tuple[str, Trained, bool]:
    """As `ensure`, with the run's data at hand."""
    if run in store:
        return key_of(run), store.load(key_of(run)), True
    reference = store.load(run.reference) if run.reference else None
    trained = train(run, dataset, device=device, reference=reference, report=report)
    return store.save(trained), trained, False


def work(
    settings: str,
    key: str,
    reference: Files | None,
    *,
    device: str = "cpu",
    report: Callable[[Progress], None] | None = None,
) -> Files:
    """What a worker does: train the run of these settings (JSON), on one thread, and hand back its files.

    Args:
        key: what the run is called where it was asked for; a worker that would call it otherwise is of another version.
        reference: the files of the run that `run.reference` names.
    """
    run = Run.model_validate_json(settings)
    if key_of(run) != key:
        raise SettingError(f"the worker's Heedful ({__version__}) trains otherwise than the one that asked: update it.")
    with _ONE_AT_A_TIME:
        torch.set_num_threads(1)
        dataset = _data(run.data.model_dump_json(), run.text.model_dump_json(), run.network.encoder == "hierarchical")
        base = None if run.reference is None or reference is None else _unpacked(run.reference, reference)
        return packed(train(run, dataset, device=device, reference=base, report=report))


class Inspection(BaseModel):
    """An audit that is asked for: of which run, with which settings, beside which other runs, all by their keys.

    Args:
        data: fingerprint of the run's data.
        seeds: runs that differ in the seed alone.
        adversaries: runs trained to predict as this one does and attend elsewhere.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    data: str
    settings: AuditSettings = AuditSettings()
    retrained: str | None = None
    seeds: tuple[str, ...] = ()
    adversaries: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of the runs that must be there."""
        return (self.run, *(key for keys in self._beside.values() for key in keys))

    @property
    def key(self) -> str:
        """The audit's name on disk."""
        return audit_key(self.run, self.data, self.settings, self._beside)

    @property
    def _beside(self) -> dict[str, tuple[str, ...]]:
        retrained = (self.retrained,) if self.retrained else ()
        return {"retrained": retrained, "seed": self.seeds, "adversary": self.adversaries}


def inspect(
    settings: str,
    key: str,
    runs: Mapping[str, Files],
    *,
    device: str = "cpu",
    report: Callable[[int, int], None] | None = None,
) -> Files:
    """What a worker does for an audit: make the one of this inspection (JSON), on one thread, and hand back its files.

    Args:
        key: what the audit is called where it was asked for.
        runs: files of all runs that it needs, and of the one that the audited run refers to.
    """
    asked = Inspection.model_validate_json(settings)
    if asked.key != key:
        raise SettingError(f"the worker's Heedful ({__version__}) audits otherwise than the one that asked: update it.")
    there = {name: _unpacked(name, files) for name, files in runs.items()}
    run = there[asked.run].run
    with _ONE_AT_A_TIME, TemporaryDirectory() as folder:
        torch.set_num_threads(1)
        dataset = _data(run.data.model_dump_json(), run.text.model_dump_json(), run.network.encoder == "hierarchical")
        company = Company(
            retrained=there.get(asked.retrained or ""),
            reference=there.get(run.reference or ""),
            seeds=tuple(there[name] for name in asked.seeds),
            adversaries=tuple(there[name] for name in asked.adversaries),
        )
        found = audit(there[asked.run], dataset, asked.settings, company, device=device, report=report)
        save_audit(found, Path(folder) / key)
        return _files(Path(folder) / key)


_ONE_AT_A_TIME = threading.Lock()
"""Training seeds torch's own generator, which the threads of a worker share."""


@lru_cache(maxsize=2)
def _data(data_settings: str, text_settings: str, sentences: bool) -> Dataset:
    """The data as read before, where the settings (JSON, with the fingerprint) are those of a run before."""
    data, text = DataSettings.model_validate_json(data_settings), TextSettings.model_validate_json(text_settings)
    dataset = load_dataset(data, text, sentences=sentences)
    if dataset.fingerprint != data.fingerprint:
        raise DataError(
            f"{data.source} has other content on the worker (fingerprint {dataset.fingerprint}) than where the sweep "
            f"was started ({data.fingerprint}): give both the same files, by a shared disk or a copy."
        )
    return dataset


def packed(trained: Trained) -> Files:
    """The files that a finished run is stored as."""
    with TemporaryDirectory() as folder:
        key = Store(folder).save(trained)
        return files_of(key, Store(folder))


def files_of(key: str, store: Store) -> Files:
    """The files of a stored run."""
    return _files(store.folder / key)


def _files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def keep(files: Files, place: Path) -> None:
    """Store files as a folder, whole or not at all; what is there already stays as it is."""
    with written_whole(place) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)


def _unpacked(key: str, files: Files) -> Trained:
    with TemporaryDirectory() as folder:
        keep(files, Path(folder) / key)
        return Store(folder).load(key)
