"""Finished runs, audits and data sets by their names; and the audit of whatever these, or the user, have."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heedful.auditing import audit as auditing
from heedful.auditing.audit import Audit, Report, Scores
from heedful.auditing.words import OwnWords
from heedful.data import load as load_dataset
from heedful.errors import DataError, SettingError, StoreError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.model_files import PREFIX
from heedful.report.audits import read_audit
from heedful.runs.classifiers import CONFIGURATION, load_texts, load_view, trained_on
from heedful.runs.other_data import load_for
from heedful.settings import AuditSettings, DataSettings, Run, TextSettings
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.validation import validate_settings
from heedful.store.store import Store, find_audit, is_finetuned
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Model

Place = str | Path


def load(
    name: Place, *, runs: Place = "runs", audits: Place = "audits", site: str = "", scope: str = ""
) -> Trained | Audit | TransformerModel:
    """A finished run, a finished audit or a Hugging Face classifier: by its folder, or by its key or name.

    Args:
        name: a folder (`runs/3f9a...`, where `Audit.save` wrote, or a Hugging Face model), a key, of which the first
            characters will do, or `hf:NAME`.
        runs, audits: where keys are looked up, runs first.
        site, scope: of a Hugging Face model, the attention that is shown, and where other attention is imposed; empty:
            "last" and "row". docs/transformers.md lists them.
    """
    if not isinstance(name, str | Path) or not str(name).strip():
        raise SettingError(f"name must be the folder or the key of a finished run or audit; it is {name!r:.60}.")
    place, store = Path(name), Store(runs)
    if folder := _classifier_of(str(name), store):
        return load_view(folder, site or "last", scope or "row")
    if site or scope:
        raise SettingError(f"site and scope must be left out: they are for Hugging Face models, and '{name}' is none.")
    if (place / "run.json").is_file():
        return Store(place.parent).load(place.name)
    is_run = any(folder.name.startswith(str(name)) for folder in store.folders())
    if is_run:
        return store.load(str(name))
    try:
        return _read(find_audit(str(name), Path(audits)))
    except StoreError as error:
        if place.is_dir() or (Path(audits) / place).is_dir():
            raise
        raise StoreError(
            f"there is no finished run '{name}' in {store.folder}/ and no audit of that name in {audits}/. `heedful "
            "list runs` lists the runs; `runs=` and `audits=` name other folders. A data set is loaded by "
            "heedful.load_data."
        ) from error


def _classifier_of(name: str, store: Store) -> str:
    """The folder or name of a Hugging Face classifier, also of one among the finished runs; empty where it is none."""
    place = Path(name)
    if name.startswith(PREFIX) or (place / CONFIGURATION).is_file():
        return name
    keys = [folder.name for folder in store.folders() if folder.name.startswith(name)]
    return str(store.folder / keys[0]) if len(keys) == 1 and is_finetuned(store, keys[0]) else ""


def _read(folder: Path) -> Audit:
    files = read_audit(folder)
    return Audit(files.rows, files.examples, files.verdict, files.outcomes)


def load_data(
    source: Place | DataSettings | Run,
    *,
    text: str | None = None,
    label: str | None = None,
    query: str | None = None,
    rationale: str | None = None,
) -> Dataset:
    """A data set: a built-in or named one, a file or folder, `hub:NAME`, or what a run reads.

    Args:
        source: as for `heedful train`; or the settings of the data, or of a whole run, which say more.
        text, label, query: the columns, where the source has columns that are not found by themselves.
        rationale: the column of what people marked, or several with commas between them, one an annotator.
    """
    if isinstance(source, Run):
        return _load(source.data, source)
    if isinstance(source, DataSettings):
        return _load(source, Run())
    if not isinstance(source, str | Path):
        raise SettingError(f"source must name a data set or a file, or be settings of one; it is {source!r:.60}.")
    columns = {"text": text, "label": label, "query": query, "rationale": rationale}
    return _load(validate_settings(DataSettings, {"source": str(source), **columns}, "data."), Run())


def _load(data: DataSettings, run: Run) -> Dataset:
    text: TextSettings = run.text
    return load_dataset(data, text, sentences=run.network.encoder == "hierarchical")


def audit(
    model: Trained | Model | Place,
    data: Dataset | Sequence[Batch] | Place | DataSettings | None = None,
    settings: AuditSettings | None = None,
    comparison_models: ComparisonModels[Any] = ComparisonModels(),  # noqa: B008 (frozen)
    *,
    words: OwnWords | None = None,
    name: str = "",
    labels: Sequence[str] = (),
    scores: Scores | None = None,
    runs: Place = "runs",
    device: str | None = None,
    report: Report | None = None,
) -> Audit:
    """Put every test to a model's attention.

    Args:
        model: a finished run, or its folder or key; a Hugging Face classifier, or its folder or `hf:NAME`; or any
            object with the methods embed, encode, attend and decode.
        data: for a finished run or a Hugging Face model a data set, or its name, file or settings (of a single file all
            texts are audited); None: the data that it was trained on. For a model of the user's own a list of batches:
            only they can number its tokens.
        settings: which tests, on how many texts.
        companions: the same model from other seeds, without attention, or trained against it.
        words: the words of a model of the user's own: a list for each text, in the order of the texts, with a word for
            each item that attention weighs; or a dict or function from the number of a token to its word.
        name: what a model of the user's own is called; empty: by its class.
        labels: what its classes are called, in the order of its logits; empty: by their numbers.
        scores: scores of words from outside (SHAP, captum, LRP ...), each a ranking to be tested beside attention. A
            dict from a name to a path, a polars data frame, a dict from the id of a text to a score for each of its
            words, or a list or tensor with a row for each audited text; or the path of a file of one name or several.
        runs: where finished runs are looked up.
        device: where it is measured; None: our models on the processor, others where they are.
        report: called with (texts done, texts in all) after every batch.
    """
    if isinstance(model, str | Path):
        model = _finished_run(model, runs)
    if isinstance(model, Trained):
        data = _data_of(model, data)
        comparison_models = _with_reference(model, comparison_models, runs)
    if isinstance(model, TransformerModel):
        data = _texts_for(model, data)
    return auditing.audit(
        model,
        data,  # pyright: ignore[reportArgumentType] (checked there)
        settings,
        comparison_models,
        words=words,
        name=name,
        labels=labels,
        scores=scores,
        device=device,
        report=report,
    )


def _texts_for(model: TransformerModel, data: Any) -> Any:
    """The texts that a Hugging Face model is audited on; None: those that it was fine-tuned on."""
    if data is None and (data := trained_on(model.classifier.name)) is None:
        raise SettingError("data must be given with a Hugging Face model: texts with its labels, a file or a data set.")
    if isinstance(data, str | Path):
        data = validate_settings(DataSettings, {"source": str(data)}, "data.")
    return load_texts(data, [model.classifier.name]) if isinstance(data, DataSettings) else data


def _finished_run(name: Place, runs: Place) -> Trained | TransformerModel:
    loaded = load(name, runs=runs)
    if isinstance(loaded, Audit):
        raise SettingError(f"model must be a finished run; '{name}' is an audit. Its run is {loaded.verdict.run}.")
    return loaded


def _data_of(trained: Trained, data: Any) -> Any:
    """The data that a finished run is audited on; what is neither its own nor a name is left as it is."""
    run = trained.run
    if data is None:
        dataset = load_data(run)
        if dataset.fingerprint != run.data.fingerprint:
            raise DataError(
                f"'{run.data.source}' has changed since the run was trained on it. To audit the run on it as it is "
                f"now, say so: data={run.data.source!r}."
            )
        return dataset
    if isinstance(data, str | Path):
        data = validate_settings(DataSettings, {"source": str(data)}, "data.")
    return load_for(trained, data) if isinstance(data, DataSettings) else data


def _with_reference(trained: Trained, comparison_models: ComparisonModels[Any], runs: Place) -> ComparisonModels[Any]:
    """With the run whose attention the model imposes, where it does and nobody gave it."""
    is_frozen = trained.run.network.attention == "frozen" and trained.run.reference is not None
    if not is_frozen or not isinstance(comparison_models, ComparisonModels) or comparison_models.reference is not None:
        return comparison_models
    return replace(comparison_models, reference=Store(runs).load(trained.run.reference or ""))
