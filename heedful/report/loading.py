"""Models, audits and datasets by their names; and the audit of a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.auditing.audit import Audit, Report, Scores, audit_subject
from heedful.data import load as load_dataset
from heedful.errors import SettingError, StoreError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.report.audits import read_audit
from heedful.settings import AuditSettings, ComparisonModels, DataSettings, Run, TextSettings
from heedful.settings.validation import validate_settings
from heedful.store.store import Store, find_audit
from heedful.subjects.checks import named
from heedful.subjects.custom_model import CustomModel, CustomWords
from heedful.subjects.opening import UnknownModelError, find_model, load_texts, open_subject
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Model

Place = str | Path


def load(
    name: Place, *, runs: Place = "runs", audits: Place = "audits", site: str = "", scope: str = ""
) -> Trained | Audit | TransformerModel:
    """A finished run, a finished audit or a Hugging Face classifier: by its key, folder or name.

    Args:
        name: a key, of which a unique prefix is enough, a folder (`runs/3f9a...`, where `Audit.save` wrote, or a
            Hugging Face model), or `hf:NAME`.
        runs, audits: where keys are looked up, runs first.
        site, scope: of a Hugging Face model, the attention that is shown, and where attention is imposed; empty:
            "last" and "row". docs/transformers.md lists them.
    """
    if not isinstance(name, str | Path) or not str(name).strip():
        raise SettingError(f"name must be the folder or the key of a finished run or audit; it is {name!r:.60}.")
    store, folder = Store(runs), Path(audits)
    try:
        find_model(name, store)
    except UnknownModelError:
        if site or scope:
            raise
        try:
            files = read_audit(find_audit(str(name), folder))
        except StoreError as error:
            if Path(name).is_dir() or (folder / name).is_dir():
                raise
            raise StoreError(
                f"there is no finished run '{name}' in {store.folder}/ and no audit of that name in {audits}/. "
                "`heedful list runs` lists the runs; `runs=` and `audits=` name other folders. A dataset is loaded by "
                "heedful.load_data."
            ) from error
        return Audit(files.rows, files.examples, files.verdict, files.outcomes)
    return open_subject(name, store, site=site, scope=scope).opened


def load_data(
    source: Place | DataSettings | Run,
    *,
    text: str | None = None,
    label: str | None = None,
    query: str | None = None,
    rationale: str | None = None,
) -> Dataset:
    """A dataset: a built-in or named one, a file or folder, `hub:NAME`, or what a run reads.

    Args:
        source: as for `heedful train`; or the settings of the data, or of a whole run, which say more.
        text, label, query: the columns, where the source has columns that are not found by themselves.
        rationale: the column of human rationales, or several with commas between them, one per annotator.
    """
    if isinstance(source, Run):
        return _load(source.data, source)
    if isinstance(source, DataSettings):
        return _load(source, Run())
    if not isinstance(source, str | Path):
        raise SettingError(f"source must name a dataset or a file, or be settings of one; it is {source!r:.60}.")
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
    words: CustomWords | None = None,
    name: str = "",
    labels: Sequence[str] = (),
    scores: Scores | None = None,
    runs: Place = "runs",
    device: str | None = None,
    report: Report | None = None,
) -> Audit:
    """Run every test on a model's attention.

    Args:
        model: a finished run, or its folder or key; a Hugging Face classifier, or its folder or `hf:NAME`; or any
            object with the methods embed, encode, attend and decode.
        data: for a finished run or a Hugging Face model a dataset, or its name, file or settings (of a single file all
            texts are audited); None: the data that it was trained on. For your own model a list of batches:
            only they can number its tokens.
        settings: which tests, on how many texts.
        comparison_models: the same model from other seeds, without attention, or trained against it.
        words: the words of your own model: a list for each text, in the order of the texts, with a word for
            each item that attention weighs; or a dict or function from a token ID to its word.
        name: name of your own model; empty: that of its class.
        labels: what its classes are called, in the order of its logits; empty: by their numbers.
        scores: external scores of words (SHAP, captum, LRP ...), each a ranking that is tested with attention. A
            dict from a name to a path, a polars data frame, a dict from the id of a text to a score for each of its
            words, or a list or tensor with a row for each audited text; or the path of a file of one name or several.
        runs: where finished runs are looked up.
        device: where it is measured; None: our models on the processor, others where they are.
        report: called with (texts done, texts in all) after every batch.
    """
    store = Store(runs)
    if not isinstance(comparison_models, ComparisonModels):
        raise SettingError(
            f"comparison_models must be heedful.ComparisonModels(...); it is {named(comparison_models)}."
        )
    try:
        own = CustomModel(words, name, labels)
        subject = open_subject(model, store, own=own, reference=comparison_models.reference, device=device)
    except UnknownModelError:
        if isinstance(loaded := load(str(model), runs=runs), Audit):
            raise SettingError(
                f"model must be a finished run; '{model}' is an audit. Its run is {loaded.verdict.run}."
            ) from None
        raise
    beside = comparison_models.map(lambda other: open_subject(other, store, device=device))
    return audit_subject(subject, load_texts(subject, data), settings, beside, scores=scores, report=report)
