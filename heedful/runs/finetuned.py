"""Fine-tuned Hugging Face models among the finished runs: found, described, or made now."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import SettingError
from heedful.runs.finetuned_files import write_finetuned
from heedful.runs.folders import written_whole
from heedful.runs.run_file import RunFile
from heedful.runs.store import Store, log, run_problem
from heedful.runs.trained_files import read_scores
from heedful.runs.worker import load_data
from heedful.settings import Run, key_of
from heedful.training.finetuned import Finetuned
from heedful.training.finetuning import finetune
from heedful.training.trained import Progress
from heedful.types import Dataset


@dataclass(frozen=True)
class FinetunedRun:
    """A fine-tuned model on disk.

    Args:
        folder: what `heedful.models.transformers.load_classifier` and transformers' `from_pretrained` load.
    """

    key: str
    folder: Path
    described: RunFile

    @property
    def run(self) -> Run:
        """Its settings: `run.data` says what it was trained on, `run.text` how that was read."""
        return self.described.run

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """Every metric on dev and test."""
        return read_scores(self.described)


def is_finetuned(store: Store, key: str) -> bool:
    """Whether the run of that key, or of the only key that begins so, is a fine-tuned Hugging Face model."""
    return store.read(key).run.finetune is not None


def find_finetuned(store: Store, key: str) -> FinetunedRun:
    """The fine-tuned model of that key, or of the only key that begins so."""
    key = store.find(key)
    described = store.read(key)
    if described.run.finetune is None:
        raise SettingError(f"run {key} must be a fine-tuned Hugging Face model; it is one of Heedful's own models.")
    return FinetunedRun(key, store.folder / key, described)


def save_finetuned(finetuned: Finetuned, store: Store) -> str:
    """Store a fine-tuned model; the key it is found by. What is there already stays, unless it is of no use."""
    key = key_of(finetuned.run)
    place = store.folder / key
    with written_whole(place, replace=place.is_dir() and run_problem(place) is not None) as part:
        write_finetuned(finetuned, part)
    return key


def ensure_finetuned(
    run: Run, store: Store, *, device: str = "cpu", report: Callable[[Progress], None] | None = None
) -> tuple[FinetunedRun, bool]:
    """The fine-tuned model that the run describes, and whether it was there already."""
    return ensure_finetuned_on(*load_data(run), store, device=device, report=report)


def ensure_finetuned_on(
    run: Run, dataset: Dataset, store: Store, *, device: str = "cpu", report: Callable[[Progress], None] | None = None
) -> tuple[FinetunedRun, bool]:
    """As `ensure_finetuned`, with the run's data at hand."""
    key = key_of(run)
    place = store.folder / key
    problem = run_problem(place)
    if problem is not None:
        if place.exists():
            log.warning("%s is not a finished run and is made again: %s.", place, problem)
        save_finetuned(finetune(run, dataset, device=device, report=report), store)
    return find_finetuned(store, key), problem is None
