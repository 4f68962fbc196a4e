"""What was audited and how, as the verdict says it."""

import platform
from datetime import UTC, datetime
from typing import Any

import torch

from heedful import __version__
from heedful.auditing.about import settings_of, short_name_of
from heedful.auditing.prepared import PreparedAudit
from heedful.battery.question import Columns
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.schema import Training
from heedful.training.trained import Trained
from heedful.types import Dataset


def describe(prepared: PreparedAudit, columns: Columns) -> dict[str, Any]:
    """What was audited and how, as a verdict says it.

    Args:
        columns: what was measured, of which the scores of prediction are taken.
    """
    subject, model, data, settings = prepared.subject, prepared.model, prepared.data, prepared.settings
    run = model.run if isinstance(model, Trained) else None
    dataset = data if isinstance(data, Dataset) else None
    # Without training texts it is not split as it was: the scores that were stored are of other texts.
    is_own_data = bool(run and dataset and dataset.train and dataset.fingerprint == run.data.fingerprint)
    scores = (
        dict(model.scores.get(subject.split, {})) if isinstance(model, Trained) and is_own_data else _scores(columns)
    )
    made: dict[str, Any] = {"run": run and run.model_dump(mode="json")}
    made |= {} if run else {"model": type(model).__name__}
    shown = f"{run.network.encoder}, {run.network.attention} attention" if run else subject.name
    if run and run.training.method != "vanilla":
        shown = f"{shown}, {run.training.method}"
    if isinstance(model, TransformerModel):
        made, shown = {"run": None, **settings_of(model)}, short_name_of(model)
    return {
        "run": subject.name,
        "model": shown,
        "data": run.data.source if run and is_own_data else dataset.name if dataset else "",
        "fingerprint": dataset.fingerprint if dataset else "",
        "split": subject.split,
        "texts": len(subject.texts),
        "labels": subject.labels,
        "item": subject.item,
        "scores": scores,
        "trainings": (Training(run=subject.name, seed=run.seed if run else None, scores={**scores}),),
        "date": datetime.now(UTC).date().isoformat(),
        "settings": {"audit": settings.model_dump(mode="json"), **made},
        "versions": {"heedful": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }


def _scores(columns: Columns) -> dict[str, float]:
    """How well the model predicts the labels of the audited texts; empty if they have none."""
    if bool((columns["prediction.label"] < 0).any()):
        return {}
    return {"accuracy": columns["prediction.correct"][0].numpy().mean().item()}
