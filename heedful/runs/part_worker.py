"""A part of an audit, made by a worker that may share no disk with whoever asked."""

import threading
from collections.abc import Mapping
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field

from heedful import __version__
from heedful.auditing.audit import Report, audit_rest, audit_shard
from heedful.auditing.companions import Companions
from heedful.auditing.prepared import PreparedAudit, prepare_audit
from heedful.auditing.request import AuditRequest
from heedful.errors import DataError, SettingError
from heedful.models.transformers.model import TransformerModel
from heedful.runs.audit_parts import REST, part_files
from heedful.runs.audits import request_of
from heedful.runs.classifiers import load_texts, load_view
from heedful.runs.folders import Files
from heedful.runs.other_data import load_for
from heedful.runs.own_models import load_own
from heedful.runs.worker import dataset_of, unpack
from heedful.settings import DataSettings
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Dataset


class AuditSource(BaseModel):
    """Where a worker finds what is audited; runs are sent to it, everything else it reads by itself.

    Args:
        data: the texts, where they are not those of the run itself.
        classifiers: folder or name of each Hugging Face model, by its key.
        site, scope: of these.
        scores: a file of scores from outside; empty: there are none.
        own: FILE.py:FUNCTION of a user's own model; empty: it is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: DataSettings | None = None
    classifiers: dict[str, str] = Field(default_factory=dict)
    site: str = "last"
    scope: str = "row"
    scores: str = ""
    own: str = ""


def absolute(data: DataSettings) -> DataSettings:
    """The data as any process of this machine may call it, in whatever folder it runs."""
    place = Path(data.source)
    return update_settings(data, {"source": str(place.resolve())}) if place.exists() else data


class PartRequest(BaseModel):
    """A part of an audit: a shard, or what is no shard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    audit: AuditRequest
    part: str
    source: AuditSource = AuditSource()


def audit_part(
    request: str,
    runs: Mapping[str, Files],
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> Files:
    """Make the part that is requested (JSON), on one thread, and hand back its files.

    Args:
        runs: files of all runs that the audit needs.
        report: called with (texts done, texts of the part).
    """
    asked = PartRequest.model_validate_json(request)
    with _ONE_AT_A_TIME:
        torch.set_num_threads(1)
        prepared = _prepared(asked.audit, asked.source, runs, device)
        if asked.part == REST:
            return part_files(audit_rest(prepared))
        number = int(asked.part)
        texts = prepared.texts_of(number)
        return part_files(audit_shard(prepared, number, report and (lambda done: report(done, texts))))


_ONE_AT_A_TIME = threading.Lock()
"""The threads of a worker share the audit that is ready."""
_READY: dict[str, PreparedAudit] = {}
"""The audit of which parts were made last, by its key and device: the next part finds model and texts at hand."""


def _prepared(asked: AuditRequest, source: AuditSource, runs: Mapping[str, Files], device: str) -> PreparedAudit:
    name = f"{asked.key} {device}"
    if name not in _READY:
        _READY.clear()
        _READY[name] = _load(asked, source, runs, device)
    return _READY[name]


def _load(asked: AuditRequest, source: AuditSource, runs: Mapping[str, Files], device: str) -> PreparedAudit:
    if source.own:
        return _own(asked, source.own, device)
    models: dict[str, Trained | TransformerModel] = {key: unpack(key, files) for key, files in runs.items()}
    for key, name in source.classifiers.items():
        models[key] = _classifier(key, name, source, device)
    companions = asked.companions.map(models.__getitem__)
    model, dataset = models[asked.run], _dataset(models[asked.run], source, asked.data)
    scores = Path(source.scores) if source.scores else None
    if request_of(model, dataset, asked.settings, companions, scores).key != asked.key:
        raise SettingError(
            f"the worker's Heedful ({__version__}) audits otherwise than the one that asked, or its file of scores is "
            "another: give both the same."
        )
    own = Companions(companions.retrained, companions.seeds, companions.adversaries, companions.reference)
    return prepare_audit(model, dataset, asked.settings, own, scores=scores, device=device)


def _own(asked: AuditRequest, name: str, device: str) -> PreparedAudit:
    loaded = load_own(name)
    if loaded.request(asked.settings).key != asked.key:
        raise SettingError(
            f"{name} returns something else on the worker than where the audit was started: give both the same files, "
            "and let the function draw nothing at random without a seed."
        )
    return loaded.prepare(asked.settings, device)


def _classifier(key: str, name: str, source: AuditSource, device: str) -> TransformerModel:
    model = load_view(name, source.site, source.scope, device)
    if model.key != key:
        raise SettingError(
            f"{name} is another model on the worker than where the audit was started: give both the same files, by a "
            "shared disk or a copy."
        )
    return model


def _dataset(model: Trained | TransformerModel, source: AuditSource, fingerprint: str) -> Dataset:
    if isinstance(model, TransformerModel):
        assert source.data is not None
        dataset = load_texts(source.data, list(source.classifiers.values()))
    elif source.data is None:
        return dataset_of(model.run)
    else:
        dataset = load_for(model, source.data)
    if dataset.fingerprint != fingerprint:
        raise DataError(
            f"{source.data.source} has other content on the worker (fingerprint {dataset.fingerprint}) than where the "
            f"audit was started ({fingerprint}): give both the same files, by a shared disk or a copy."
        )
    return dataset
