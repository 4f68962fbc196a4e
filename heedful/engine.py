"""A run, done once: found in the store, or trained now and stored."""

from collections.abc import Callable

from heedful import datasets
from heedful.settings import Run, key_of
from heedful.store import Store
from heedful.training import Progress, Trained, train
from heedful.types import Dataset


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
