"""Audits of models given by name, which are opened to determine the name of the audit."""

from collections.abc import Sequence

from heedful.auditing.audit import prepare_audit
from heedful.errors import SettingError
from heedful.jobs.audit_parts import request_of
from heedful.jobs.planning import Plan, pooled_audits
from heedful.jobs.request import AuditSource, absolute
from heedful.jobs.work import keep_ready
from heedful.settings import AuditSettings, ComparisonModels, DataSettings
from heedful.settings.data_folder import user_path
from heedful.store.store import Store
from heedful.subjects.opening import NamedModel, load_texts, open_subject


def plan_named(
    models: Sequence[NamedModel],
    data: DataSettings | None,
    settings: AuditSettings,
    store: Store,
    *,
    site: str = "",
    scope: str = "",
    device: str = "cpu",
    scores: str | None = None,
) -> Plan:
    """The audit of a model, or of several checkpoints of one, each compared with the others, and one audit for all of
    these.

    Args:
        data: None: their own.
        scores: a file of external scores.
    """
    subjects = [open_subject(model, store, site=site, scope=scope, device=device) for model in models]
    kind = models[0].kind
    if kind == "classifier" and data is None:
        known = [subject.own_data for subject in subjects]
        if None in known:
            unknown = models[known.index(None)].name
            raise SettingError(f"DATA must be given with --model {unknown}: texts with the labels of that model.")
        if len({own.fingerprint for own in known if own is not None}) > 1:
            raise SettingError("DATA must be given: the models that --model names were trained on different data.")
        data = known[0]
    dataset = load_texts(subjects[0], data, subjects[1:])
    given = None if scores is None else user_path(scores, "--scores")
    places = {subject.key: model.absolute for subject, model in zip(subjects, models, strict=True)}
    source = AuditSource(
        data=data and absolute(data),
        classifiers=places if kind == "classifier" else {},
        site=site or "last",
        scope=scope or "row",
        scores="" if given is None else str(given.resolve()),
        own=models[0].absolute if kind == "custom" else "",
    )
    audits, titles, pools = {}, {}, dict[str, tuple[str, ...]]()
    for subject in subjects:
        others = ComparisonModels(seeds=tuple(other for other in subjects if other is not subject))
        request = request_of(subject, dataset, settings, others, given)
        keep_ready(request, device, prepare_audit(subject, dataset, settings, others, scores=given))
        run = subject.run
        named = f"{run.network.encoder}, seed {run.seed}" if run is not None and kind == "run" else subject.title
        audits[request.key], titles[request.key] = request, named
    wanted = pooled_audits([*audits], pools)
    return Plan((wanted,), audits=audits, pools=pools, sources=dict.fromkeys(audits, source), titles=titles)
