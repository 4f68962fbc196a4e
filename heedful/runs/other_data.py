"""A finished run on other data than it was trained on: read as the run reads, its labels in the run's order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from heedful.auditing.subject import readable_by
from heedful.data import load as load_dataset
from heedful.data import load_unlabeled
from heedful.data.sources.records import SUFFIXES, read_records, suffix_of
from heedful.settings import DataSettings
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Dataset, Example

COLUMNS = ("text", "label", "query")
OF_SPLITS = (" taken for test", " are also in ")
"""Parts of notes on how one file was split, which say nothing where every text is new."""


def load_for(trained: Trained, data: DataSettings) -> Dataset:
    """The data as the finished run reads it. Of a single file every text is new to the model: none is left for train.

    Args:
        data: columns that it does not name are those of the run's own data, where it is a file or a folder.
    """
    run, is_path = trained.run, Path(data.source).exists()
    own = {name: getattr(run.data, name) for name in COLUMNS if is_path and getattr(data, name) is None}
    if (texts := _unlabeled(trained, data, own)) is not None:
        return readable_by(trained, texts)
    dataset = load_dataset(update_settings(data, own), run.text, sentences=run.reads_sentences)
    if Path(data.source).is_file() and dataset.fingerprint != run.data.fingerprint:
        dataset = every_text_is_new(dataset)
    return readable_by(trained, dataset)


def _unlabeled(trained: Trained, data: DataSettings, own: Mapping[str, str | None]) -> Dataset | None:
    """Texts without labels, if a single file has neither the run's own column of labels nor another."""
    run, path = trained.run, Path(data.source)
    if not path.is_file() or suffix_of(path) not in SUFFIXES:
        return None
    columns = read_records(path).columns
    if own.get("label") in columns:
        return None
    known = {name: column for name, column in own.items() if column in columns}
    texts = load_unlabeled(update_settings(data, known), run.text, sentences=run.reads_sentences)
    return None if texts is None else replace(texts, labels=trained.labels)


def every_text_is_new(dataset: Dataset) -> Dataset:
    """A single file's texts without any for train: those that would be are audited, too."""
    notes = tuple(note for note in dataset.notes if not any(part in note for part in OF_SPLITS))
    return replace(dataset, train=(), test=_in_order(dataset.train + dataset.test), notes=notes)


def _in_order(examples: Sequence[Example]) -> tuple[Example, ...]:
    """The examples in the order of their rows."""
    return tuple(sorted(examples, key=lambda example: example.row or 0))
