"""A run, done once: found in the store, or trained now and stored; here, or by a worker that shares no disk with us."""

import threading
from collections.abc import Callable
from functools import lru_cache
from tempfile import TemporaryDirectory

import torch

from heedful import __version__, datasets
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, Run, TextSettings, key_of
from heedful.store import Store, written_whole
from heedful.training import Progress, Trained, train
from heedful.types import Dataset

Files = dict[str, bytes]
"""A finished run on its way between machines: the files of its folder."""


def load_data(run: Run) -> tuple[Run, Dataset]:
    """The run's data, and the run with the fingerprint of that data."""
    dataset = datasets.load(run.data, run.text, sentences=run.network.encoder == "hierarchical")
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


_ONE_AT_A_TIME = threading.Lock()
"""Training seeds torch's own generator, which the threads of a worker share."""


@lru_cache(maxsize=2)
def _data(data_settings: str, text_settings: str, sentences: bool) -> Dataset:
    """The data as read before, where the settings (JSON, with the fingerprint) are those of a run before."""
    data, text = DataSettings.model_validate_json(data_settings), TextSettings.model_validate_json(text_settings)
    dataset = datasets.load(data, text, sentences=sentences)
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
    return {path.name: path.read_bytes() for path in (store.folder / key).iterdir()}


def keep(key: str, files: Files, store: Store) -> None:
    """Store the files of a finished run, whole or not at all; what is there already stays as it is."""
    with written_whole(store.folder / key) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)


def _unpacked(key: str, files: Files) -> Trained:
    with TemporaryDirectory() as folder:
        keep(key, files, Store(folder))
        return Store(folder).load(key)
