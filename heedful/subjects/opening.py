"""Subjects by their names, and the texts that are loaded for them. Finding out what a name means needs no torch.

Every name is looked up in the same order: the key of a run or its beginning, in the store or as its folder;
FILE.py:FUNCTION; hf:NAME, or a folder with config.json.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heedful.errors import DataError, SettingError, StoreError
from heedful.settings import DataSettings, Run
from heedful.settings.data_folder import user_path
from heedful.settings.validation import update_settings, validate_settings
from heedful.store.run_file import RUN_FILE
from heedful.store.store import Store, first_of

if TYPE_CHECKING:
    from heedful.subjects.custom_model import CustomModel
    from heedful.subjects.subject import Subject
    from heedful.training.trained import Trained
    from heedful.types import Batch, Dataset, Example

CUSTOM = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")
"""FILE.py:FUNCTION."""
CONFIGURATION = "config.json"
HUB = "hf:"
COLUMNS = ("text", "label", "query")
OF_SPLITS = (" moved to test", " are also in ")
"""Parts of notes on how one file was split, which say nothing if every text is new."""
OTHER_DATA = "To read other data, give DATA."
"""What to do instead, for a command that takes data."""


class UnknownModelError(StoreError):
    """A name means no model."""


@dataclass(frozen=True)
class NamedModel:
    """What a name means.

    Args:
        name: the whole key of a run; else as it was given.
        folder: folder of its files; None if it has none here.
    """

    kind: Literal["run", "custom", "classifier"]
    name: str
    folder: Path | None = None

    @property
    def absolute(self) -> str:
        """The name as any process of this machine may call it."""
        if self.kind == "custom":
            file, _, function = self.name.rpartition(":")
            return f"{user_path(file, '--model').resolve()}:{function}"
        return self.name if self.folder is None else str(self.folder.resolve())


def find_model(name: str | Path, store: Store) -> NamedModel:
    """What the name of a model means; an error that says what names there are where it means nothing."""
    text, keys = str(name), [folder.name for folder in store.folders()]
    if text.strip() and any(key.startswith(text) for key in keys):
        key = store.find(text)
        is_finetuned = store.read(key).run.finetune is not None
        folder = store.folder / key
        return NamedModel("classifier", str(folder), folder) if is_finetuned else NamedModel("run", key, folder)
    if CUSTOM.fullmatch(text):
        return NamedModel("custom", text)
    if text.startswith(HUB):
        return NamedModel("classifier", text)
    try:
        folder = Path(text).expanduser()
        if (folder / CONFIGURATION).is_file():
            return NamedModel("classifier", text if folder == Path(text) else str(folder), folder)
        if (folder / RUN_FILE).is_file():
            return NamedModel("run", folder.name, folder)
    except (OSError, ValueError, RuntimeError):  # no path: too long, a null byte, the home of an unknown user
        pass
    raise UnknownModelError(
        f"there is no model '{text:.200}'. Name a finished run by its key or the first characters of it (in "
        f"{store.folder}/: {first_of(keys)}); a Hugging Face model by hf:NAME or its folder, with {CONFIGURATION}; a "
        "custom model by FILE.py:FUNCTION. `heedful list runs` describes runs, `heedful train` makes one; --runs "
        "names another folder."
    )


def store_of(known: NamedModel) -> Store:
    """The store of a finished run."""
    return Store() if known.folder is None else Store(known.folder.parent)


def open_subject(
    model: Any,
    store: Store | None = None,
    *,
    site: str = "",
    scope: str = "",
    own: "CustomModel | None" = None,
    reference: "Trained | None" = None,
    device: str | None = None,
) -> "Subject":
    """The model of that name, or the loaded model, ready to be audited and explained.

    Args:
        model: a name, as `find_model` takes it, or what that found; a finished run, a view of a Hugging Face
            classifier, or any object with the protocol's verbs.
        store: where keys are looked up; None: loaded models need none.
        site, scope: for a Hugging Face model: the attention that is shown, and where other attention is imposed; empty:
            "last" and "row".
        own: what the user provides with a custom model.
        reference: the run whose attention a run with frozen attention imposes; None: that of the store.
        device: where it is measured; None: our models on the processor, others where they are.
    """
    from heedful.models.hugging_face.attention_view import TransformerModel
    from heedful.subjects.custom_model import CustomModel, CustomSubject, load_custom
    from heedful.subjects.finished_run import FinishedRun
    from heedful.subjects.hugging_face_subject import HuggingFaceSubject
    from heedful.training.trained import Trained

    if isinstance(model, FinishedRun | HuggingFaceSubject | CustomSubject):
        return model
    own, file = own or CustomModel(), None
    is_described = bool(own.words or own.name or own.labels)
    if isinstance(model, str | Path | NamedModel):
        store = store or Store()
        known = model if isinstance(model, NamedModel) else find_model(model, store)
        if known.kind != "classifier" and (site or scope):
            raise SettingError(
                f"site and scope are for Hugging Face models, and '{known.name}' is not one. Remove them."
            )
        if known.kind == "custom" and not is_described:
            return load_custom(known.name, device)
        model, file = _load(known, store, site, scope, device)
    if is_described and isinstance(model, TransformerModel | Trained | NamedModel):
        raise SettingError("words, name and labels are only for your own model, given as an object. Remove them.")
    if isinstance(model, TransformerModel):
        return HuggingFaceSubject(model)
    if not isinstance(model, Trained):
        return CustomSubject(model, own, device=device)
    imposes = model.run.network.attention == "frozen" and model.run.reference is not None
    if imposes and reference is None and store is not None:
        reference = store.load(model.run.reference or "")
    return FinishedRun(model, reference=reference, device=device, file=file)


def _load(known: NamedModel, store: Store, site: str, scope: str, device: str | None) -> tuple[Any, Path | None]:
    """The model that a name means, and the file that a run is described in."""
    if known.kind == "run":
        store = store_of(known)
        return store.load(known.name), store.folder / known.name / RUN_FILE
    if known.kind == "custom":
        return known, None
    from heedful.models.hugging_face.attention_view import TransformerModel
    from heedful.models.hugging_face.pretrained_modules import load_classifier

    if known.folder is not None and known.folder.parent == store.folder and (known.folder / RUN_FILE).is_file():
        store.check(known.folder.name)
    return TransformerModel(load_classifier(known.name, device=device or "cpu"), site or "last", scope or "row"), None


def load_texts(subject: "Subject", data: Any = None, compared: "Sequence[Subject]" = ()) -> "Dataset | Sequence[Batch]":
    """The data that a subject is audited on, cut as it reads texts.

    Of a single file every text is new to a model that was not trained on it: none is left for train.

    Args:
        data: settings, or a name or path; None: its own. Columns that it does not name are those of the model's own
            data, as far as a file has them. What is loaded already is left as it is.
        compared: other subjects that are audited on the same texts.
    """
    if not subject.reads_text:
        return subject.batches if data is None else data  # pyright: ignore[reportAttributeAccessIssue]
    from heedful.data import load, load_unlabeled
    from heedful.data.sources.records import SUFFIXES, read_records, suffix_of

    own_data = subject.own_data
    if isinstance(data, str | Path):
        data = validate_settings(DataSettings, {"source": str(data)}, "data.")
    if data is None:
        if own_data is None:
            raise SettingError(
                f"data (DATA) must be given with {subject.title}, a Hugging Face model: texts with its labels, a file "
                "or a dataset."
            )
        dataset = load(own_data, subject.text, sentences=subject.reads_sentences)
        if own_data.fingerprint not in ("", dataset.fingerprint):
            raise DataError(
                f"'{own_data.source}' has changed since the run was trained on it. To audit the run on it as it is "
                f"now, say so: data={own_data.source!r}, or `heedful audit DATA --model KEY`."
            )
        return dataset
    if not isinstance(data, DataSettings):
        return data  # pyright: ignore[reportReturnType] (checked when it is read)
    place = Path(data.source)
    is_file, is_known = place.is_file(), own_data is not None and place.exists()
    columns = read_records(place).columns if is_known and is_file and suffix_of(place) in SUFFIXES else None
    missing = [name for name in COLUMNS if is_known and getattr(data, name) is None]
    own = {name: getattr(own_data, name) for name in missing}
    known = {name: column for name, column in own.items() if columns is None or column in columns}
    data = update_settings(data, known)
    texts = None
    if known.get("label") is None:
        texts = load_unlabeled(data, subject.text, sentences=subject.reads_sentences)
    if texts is not None:
        return replace(texts, labels=tuple(subject.labels)) if subject.labels else texts
    dataset = load(data, subject.text, sentences=subject.reads_sentences)
    trained_on = {each.own_data.fingerprint for each in (subject, *compared) if each.own_data is not None}
    return _every_text_is_new(dataset) if is_file and dataset.fingerprint not in trained_on else dataset


def _every_text_is_new(dataset: "Dataset") -> "Dataset":
    """A single file's texts without any for train: those that would be are audited, too, in the order of their rows."""

    def place(example: "Example") -> int:
        return example.row or 0

    notes = tuple(note for note in dataset.notes if not any(part in note for part in OF_SPLITS))
    return replace(dataset, train=(), test=tuple(sorted(dataset.train + dataset.test, key=place)), notes=notes)


def recorded_source(run: Run, instead: str = OTHER_DATA) -> str | None:
    """The source that a stored run names, as text; None if Heedful generates the texts.

    Runs can be untrusted, so the reader is warned before anything is read; and nothing is used of it unless its
    content has the fingerprint that the run was trained on.

    Args:
        instead: a sentence on what to do where that is not wanted.

    >>> recorded_source(Run(data=DataSettings(source="hub:owner/name")))
    'run.json names hub:owner/name: the Hugging Face hub is asked for it. To read other data, give DATA.'
    """
    from heedful.data import DATASETS, named_sets
    from heedful.data.sources.hub import PREFIX

    source = run.data.source
    if source in DATASETS:
        return None
    if source.startswith(PREFIX) and not Path(source.removeprefix(PREFIX)).is_absolute():
        what = f"{source}: the Hugging Face hub is asked for it"
    elif source in named_sets():
        what = f"the dataset {source}: it is read from the data folder"
    else:
        what = f"{source}: it is read from {Path(source.removeprefix(PREFIX)).expanduser().absolute()}"
    return f"run.json names {what}. {instead}"
