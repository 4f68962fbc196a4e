"""Audits of models that somebody names, and that are opened to learn what the audit is called."""

from collections.abc import Sequence
from pathlib import Path

from heedful.auditing.prepared import prepare_audit
from heedful.jobs.audit_parts import request_of
from heedful.jobs.planning import Plan, pooled_audits
from heedful.jobs.request import AuditRequest, AuditSource, absolute
from heedful.jobs.work import keep_ready, load_data
from heedful.runs.classifiers import absolute_name, load_texts, load_view
from heedful.runs.custom_models import absolute_own, load_custom
from heedful.runs.other_data import load_for
from heedful.settings import AuditSettings, DataSettings
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.data_folder import user_path
from heedful.store.store import Store


def plan_other_data(
    model: str,
    data: DataSettings | None,
    settings: AuditSettings,
    store: Store,
    *,
    device: str = "cpu",
    scores: str | None = None,
) -> Plan:
    """The audit of a finished run alone: on other data than its own, or on its own (None).

    Args:
        scores: a file of scores from outside.
    """
    trained = store.load(store.find(model))
    dataset = load_data(trained.run)[1] if data is None else load_for(trained, data)
    given = None if scores is None else user_path(scores, "--scores")
    beside = ComparisonModels(reference=None if trained.run.reference is None else store.load(trained.run.reference))
    source = AuditSource(data=data and absolute(data), scores="" if given is None else str(given.resolve()))
    request = request_of(trained, dataset, settings, beside, given)
    keep_ready(request, device, prepare_audit(trained, dataset, settings, beside, scores=given, device=device))
    return _plan([request], source, [f"{trained.run.network.encoder}, seed {trained.run.seed}"])


def plan_classifiers(
    models: Sequence[str],
    data: DataSettings,
    settings: AuditSettings,
    *,
    site: str = "last",
    scope: str = "row",
    device: str = "cpu",
    scores: str | None = None,
) -> Plan:
    """Audits of a Hugging Face classifier, or of several checkpoints of it, and one audit for all of these.

    Args:
        scores: a file of scores from outside.
    """
    loaded = [load_view(name, site, scope, device) for name in models]
    dataset = load_texts(data, models)
    given = None if scores is None else user_path(scores, "--scores")
    source = AuditSource(
        data=absolute(data),
        classifiers={model.key: absolute_name(name) for model, name in zip(loaded, models, strict=True)},
        site=site,
        scope=scope,
        scores="" if given is None else str(given.resolve()),
    )
    requests = []
    for model in loaded:
        beside = ComparisonModels(seeds=tuple(other for other in loaded if other is not model))
        requests.append(request_of(model, dataset, settings, beside, given))
        keep_ready(requests[-1], device, prepare_audit(model, dataset, settings, beside, scores=given, device=device))
    return _plan(requests, source, [Path(model.classifier.name).name for model in loaded])


def plan_custom(name: str, settings: AuditSettings, *, device: str = "cpu") -> Plan:
    """The audit of a model of the user's own, FILE.py:FUNCTION."""
    loaded = load_custom(name)
    request = loaded.request(settings)
    keep_ready(request, device, loaded.prepare(settings, device))
    return _plan([request], AuditSource(own=absolute_own(name)), [name])


def _plan(requests: Sequence[AuditRequest], source: AuditSource, titles: Sequence[str]) -> Plan:
    keys, pools = [request.key for request in requests], dict[str, tuple[str, ...]]()
    return Plan(
        (pooled_audits(keys, pools),),
        audits=dict(zip(keys, requests, strict=True)),
        pools=pools,
        sources=dict.fromkeys(keys, source),
        titles=dict(zip(keys, titles, strict=True)),
    )
