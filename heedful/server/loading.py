"""Models to serve: finished runs by their keys, Hugging Face classifiers by their folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.auditing.explain import described_model
from heedful.errors import SettingError
from heedful.models.transformers.model import TransformerModel
from heedful.report.audit_files import AuditFiles
from heedful.report.pooled import audited_model
from heedful.runs.classifiers import CONFIGURATION, is_classifier, load_view, run_of
from heedful.server.actions import ACTIONS
from heedful.server.audit_strip import audit_strip
from heedful.server.classifier_reader import ClassifierReader
from heedful.server.examples import examples_of_audit, examples_of_data
from heedful.server.model_info import ExampleText, ModelInfo
from heedful.server.reading import written
from heedful.server.run_reader import RunReader
from heedful.server.served import ServedModel
from heedful.settings import Run, key_of
from heedful.store.run_file import RUN_FILE
from heedful.store.store import Store, find_finetuned, is_finetuned
from heedful.training.trained import Trained
from heedful.types import LinearModel

TRANSFORMER_TEXTS = 8
"""Texts that are kept of a transformer, whose states are large."""


def load_served(
    names: Sequence[str], *, runs: str | Path = "runs", audits: str | Path = "audits", device: str = "cpu"
) -> list[ServedModel]:
    """The named models, ready to be served.

    Args:
        names: keys of finished runs (their first characters will do), folders of Hugging Face classifiers, `hf:NAME`.
    """
    store, served = Store(runs), []
    for name in names:
        if not name.strip():
            raise SettingError(f"MODEL must be the key of a finished run or a Hugging Face model; it was '{name}'.")
        served.append(_load(name, store, Path(audits), device))
        if served[-1].info.id in {other.info.id for other in served[:-1]}:
            raise SettingError(f"MODEL must name each model once; '{name}' is named twice.")
    return _with_own_names(served)


def _load(name: str, store: Store, audits: Path, device: str) -> ServedModel:
    # A key comes first: a folder of the same name is given as ./NAME.
    is_key = store.has_prefix(name)
    if is_key and is_finetuned(store, name):
        return serve_classifier(str(find_finetuned(store, name).folder), audits=audits, device=device)
    if not is_key and is_classifier(name):
        return serve_classifier(name, audits=audits, device=device)
    trained = store.load(store.find(name))
    run = trained.run
    imposes = run.network.attention == "frozen" and run.reference is not None
    reference = store.load(run.reference) if imposes and run.reference else None
    folder = store.folder / key_of(run)
    return serve_run(trained, folder=folder, audits=audits, device=device, reference=reference)


def serve_run(
    trained: Trained,
    *,
    folder: Path | None = None,
    audits: Path | None = None,
    device: str = "cpu",
    reference: Trained | None = None,
) -> ServedModel:
    """A finished run, ready to be served.

    Args:
        folder: where it is stored: once that is gone, it is served no longer.
        audits: where its audit may be.
        reference: the run whose attention it imposes.
    """
    reader, key = RunReader(trained, device=device, reference=reference), key_of(trained.run)
    audit = None if audits is None else audited_model(audits, key)
    is_linear = isinstance(reader.model, LinearModel)
    traits = {
        "id": key,
        "labels": trained.labels,
        "is_linear": is_linear,
        "is_hierarchical": trained.run.network.encoder == "hierarchical",
        "has_query": reader.has_query,
        "solver": ("exact" if len(trained.labels) == 2 else "bound") if is_linear else "search",
    }
    examples = _examples(audit, trained.run)
    return ServedModel(
        _info(described_model(trained), traits, audit, examples),
        reader,
        audit=audit,
        marks=_marks(examples),
        problem=lambda: _missing(folder, RUN_FILE, "run"),
    )


def serve_classifier(name: str, *, audits: Path | None = None, device: str = "cpu") -> ServedModel:
    """A Hugging Face classifier, ready to be served."""
    model = load_view(name, device=device)
    place = Path(name).expanduser()
    folder = place if (place / CONFIGURATION).is_file() else None
    return serve_view(model, run=run_of(name), folder=folder, audits=audits)


def serve_view(
    model: TransformerModel, *, run: Run | None = None, folder: Path | None = None, audits: Path | None = None
) -> ServedModel:
    """A view of a Hugging Face classifier, ready to be served.

    Args:
        run: the settings that it was fine-tuned with, where it was by Heedful.
    """
    audit = None if audits is None else audited_model(audits, model.key)
    labels = model.classifier.labels if audit is None else audit.verdict.labels
    has_query = run is not None and run.data.query is not None
    traits = {
        "id": model.key,
        "labels": labels,
        "is_linear": False,
        "is_hierarchical": False,
        "has_query": has_query,
        "solver": "search",
    }
    examples = _examples(audit, run)
    return ServedModel(
        _info(described_model(model), traits, audit, examples),
        ClassifierReader(model, tuple(labels), has_query=has_query),
        audit=audit,
        marks=_marks(examples),
        problem=lambda: _missing(folder, CONFIGURATION, "model"),
        most_texts=TRANSFORMER_TEXTS,
    )


def _info(
    about: dict[str, str], traits: dict[str, Any], audit: AuditFiles | None, examples: list[ExampleText]
) -> ModelInfo:
    """What the page knows of the model; its name may be made longer where another has the same."""
    named = Path(about["Model"]).name if "/" in about["Model"] else about["Model"]
    return ModelInfo(
        name=written(named),
        about={name: written(value) for name, value in about.items()},
        item="sentence" if traits["is_hierarchical"] else "word",
        examples=examples,
        actions=[action.info for action in ACTIONS.values()],
        audit=None if audit is None else audit_strip(audit.verdict),
        report=audit is not None,
        **{**traits, "labels": [written(label) for label in traits["labels"]]},
    )


def _with_own_names(served: list[ServedModel]) -> list[ServedModel]:
    """The models, those of one name distinguished by their data and keys."""
    names = [model.info.name for model in served]
    for model in served:
        if names.count(model.info.name) > 1:
            apart = ", ".join(part for part in (model.info.about.get("Data", ""), model.info.id[:6]) if part)
            model.info = ModelInfo.model_validate({**dict(model.info), "name": f"{model.info.name} ({apart})"})
    return served


def _examples(audit: AuditFiles | None, run: Run | None) -> list[ExampleText]:
    examples = [] if audit is None else examples_of_audit(audit)
    return examples or ([] if run is None else examples_of_data(run))


def _marks(examples: Sequence[ExampleText]) -> dict[tuple[str, str], tuple[int, ...]]:
    return {(each.text, each.query): tuple(each.marks) for each in examples if each.marks is not None}


def _missing(folder: Path | None, name: str, kind: str) -> str:
    """Why a model is served no longer; empty where its folder is still there."""
    if folder is None or (folder / name).is_file():
        return ""
    return (
        f"the {kind} {folder.name} is no longer in {folder.parent}/: it was deleted or moved. Restart `heedful serve`."
    )
