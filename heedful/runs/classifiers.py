"""Hugging Face classifiers that users name, and the texts that they are audited on."""

from collections.abc import Sequence
from pathlib import Path

from heedful.data import load as load_dataset
from heedful.data import load_unlabeled
from heedful.errors import StoreError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.pretrained_modules import PREFIX, load_classifier
from heedful.runs.other_data import every_text_is_new
from heedful.settings import DataSettings, Run, TextSettings
from heedful.store.run_file import RUN_FILE, read_run_file
from heedful.types import Dataset

CONFIGURATION = "config.json"


def is_classifier(name: str) -> bool:
    """Whether a name is that of a Hugging Face model: `hf:NAME`, a folder with its configuration, or a path.

    >>> is_classifier("hf:textattack/bert-base-uncased-SST-2"), is_classifier("3f9a01b2")
    (True, False)
    """
    if name.startswith(PREFIX):
        return True
    place = Path(name).expanduser()
    return (place / CONFIGURATION).is_file() or "/" in name or place.is_dir()


def load_view(name: str, site: str = "last", scope: str = "row", device: str = "cpu") -> TransformerModel:
    """The classifier of that name, at a site and in a scope."""
    return TransformerModel(load_classifier(name, device=device), site, scope)


def absolute_name(name: str) -> str:
    """The name of a Hugging Face model as any process of this machine may call it."""
    return name if name.startswith(PREFIX) else str(Path(name).expanduser().resolve())


def run_of(name: str) -> Run | None:
    """The settings that a model in a folder was fine-tuned with, by its run.json; None where that does not say it."""
    place = Path(name).expanduser()
    if not (place / RUN_FILE).is_file():
        return None
    try:
        return read_run_file(place, is_named=False).run
    except StoreError:  # of another version, or of another tool: the model may be sound all the same
        return None


def trained_on(name: str) -> DataSettings | None:
    """The data that a model in a folder was fine-tuned on; None where nobody has written that down."""
    run = run_of(name)
    return None if run is None else run.data


def load_texts(data: DataSettings, models: Sequence[str] = ()) -> Dataset:
    """The data for models: of a single file every text is new, unless one of them was fine-tuned on it."""
    known = {own.fingerprint for name in models if (own := trained_on(name)) is not None}
    if (texts := load_unlabeled(data, TextSettings())) is not None:
        return texts
    dataset = load_dataset(data, TextSettings())
    is_new = Path(data.source).is_file() and dataset.fingerprint not in known
    return every_text_is_new(dataset) if is_new else dataset
