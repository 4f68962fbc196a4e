"""From settings to what must be there in the end: runs with their fingerprints, comparison models, audits. No torch.

Torch is imported only where data, vectors or a pretrained encoder were never read before, and where work is left.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heedful.jobs.request import AuditRequest, AuditSource, AuditWork, Job
from heedful.settings import AuditSettings, ComparisonModels, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.fingerprints import known_fingerprint, reading_digest
from heedful.store.store import Store, audits_of_run, pooled_key

ADVERSARY_SEEDS = (10, 50, 257, 500_231, 100_078, 12_504, 90_754_789, 8_988_812, 2)
"""The nine seeds of Amini and Kosseim's adversaries."""


@dataclass(frozen=True)
class RunWithBase:
    """A run to be done, the run that must be done before because this one refers to it, and the one before that."""

    run: Run
    base: Run | None = None
    root: Run | None = None
    """What the base refers to."""


@dataclass(frozen=True)
class Plan:
    """What must be in the store in the end.

    Args:
        wanted: keys of the runs and audits that are asked for; others are made only where these need them.
        runs: by key.
        audits: by key.
        pools: keys of the audits of each seed, by the key of the audit of all.
        sources: where an audit finds what is not in the store, by its key.
        titles: what audits of models that are no runs are called, by key.
    """

    wanted: tuple[str, ...]
    runs: Mapping[str, Run] = field(default_factory=dict)
    audits: Mapping[str, AuditRequest] = field(default_factory=dict)
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, AuditSource] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def missing(self, store: Store) -> dict[str, Job]:
        """The jobs that are left to do, by key, each after those that it needs."""
        seen, left = set[str](), dict[str, Job]()
        runs = dict(self.runs)

        def visit(key: str) -> None:
            if key in seen or (job := self._job(key, runs)) is None:
                return
            seen.add(key)
            if job.problem(store) is not None:
                job = replace(job, needs=self._needs(key, runs))
                for needed in job.needs:
                    visit(needed)
                left[key] = job

        for key in self.wanted:
            visit(key)
        return left

    def names(self) -> dict[str, str]:
        """What each job is called for the reader, by its key."""
        from heedful.training.teachers import teachers_of

        runs = self.runs
        names = {key_of(teacher): f"{_name(run)}, teacher" for run in runs.values() for teacher in teachers_of(run)}
        names |= {key: _name(run) for key, run in runs.items()}
        names |= {key: f"{_name(runs[each.run])}, audit" for key, each in self.audits.items() if each.run in runs}
        names |= {
            key: f"{names[members[0]]} of all seeds" for key, members in self.pools.items() if members[0] in names
        }
        return names | dict(self.titles)

    def _job(self, key: str, runs: Mapping[str, Run]) -> Job | None:
        """The job of that key; None if it is not a job of this plan."""
        if key in runs:
            return Job(key, "train", runs[key].model_dump_json())
        if key in self.audits:
            work = AuditWork(audit=self.audits[key], source=self.sources.get(key, AuditSource()))
            return Job(key, "audit", work.model_dump_json())
        return Job(key, "pool", json.dumps(self.pools[key])) if key in self.pools else None

    def _needs(self, key: str, runs: dict[str, Run]) -> tuple[str, ...]:
        """What the job of that key needs; `runs` gets the teachers of a run."""
        if key in self.pools:
            return self.pools[key]
        if key in self.audits:
            source = self.sources.get(key, AuditSource())
            needed = () if source.own else self.audits[key].needs
            return tuple(each for each in needed if each not in source.classifiers)
        run = runs[key]
        if run.reference:
            return (run.reference,)
        from heedful.training.teachers import teachers_of

        teachers = {key_of(teacher): teacher for teacher in teachers_of(run)}
        runs |= teachers
        return tuple(teachers)


def _name(run: Run) -> str:
    encoder = run.network.encoder if run.finetune is None else run.finetune.model
    return f"{encoder}, seed {run.seed}"


def without_attention(run: Run) -> Run:
    """The same model trained with uniform attention."""
    return update_settings(run, {"network.attention": "uniform"})


def adversary_of(run: Run, seed: int, changes: Mapping[str, Any] | None = None) -> Run:
    """The run of an adversary of a run (whose data has its fingerprint): predict alike, attend elsewhere.

    Amini and Kosseim's settings: at most 80 epochs, stop after 10 without improvement, the mean over the batch; but the
    epoch is chosen on dev, and not before 20 have passed, since an adversary may sit on a plateau for as long.

    Args:
        changes: other training settings.
    """
    settings = {"method": "adversary", "options": {}, "epochs": 80, "patience": 10, "min_epochs": 20, "chosen_from": 1}
    settings |= {"loss_sum": "mean", "class_weights": False, **(changes or {})}
    training = {f"training.{name}": value for name, value in settings.items()}
    return update_settings(run, {**training, "seed": seed, "reference": key_of(run)})


def plan_audits(
    runs: Sequence[Run],
    settings: AuditSettings,
    store: Store,
    *,
    seeds: int = 1,
    deep: bool = False,
    adversaries: int = 3,
    retrained: Run | None = None,
) -> Plan:
    """Audits of runs that are trained where they are missing; of several seeds, one audit for all of them.

    The data decides what runs are called, and is read if it never was.

    Args:
        seeds: number of consecutive seeds to train each run with; each is compared with the others.
        deep: also compare with the same model trained with uniform attention, and with adversaries.
        adversaries: how many of these.
        retrained: the run without attention, where it is there already.
    """
    wanted, all_runs, audits = list[str](), dict[str, Run](), dict[str, AuditRequest]()
    pools = dict[str, tuple[str, ...]]()
    for first in resolve([store.with_full_reference(run) for run in runs]):
        group = [update_settings(first.run, {"seed": first.run.seed + more}) for more in range(seeds)]
        own = []
        for run in group:
            compared = ComparisonModels(
                retrained=retrained or (without_attention(run) if deep else None),
                seeds=tuple(other for other in group if other is not run),
                adversaries=tuple(adversary_of(run, seed) for seed in ADVERSARY_SEEDS[: adversaries if deep else 0]),
            )
            all_runs |= {key_of(each): each for each in (run, *compared)}
            own.append(audit_of(run, settings, compared))
        audits |= {each.key: each for each in own}
        wanted.append(pooled_audits([each.key for each in own], pools))
    return Plan(tuple(wanted), all_runs, audits, pools)


def audit_of(
    run: Run,
    settings: AuditSettings,
    compared: ComparisonModels[Run] = ComparisonModels(),  # noqa: B008 (frozen)
) -> AuditRequest:
    """The audit of a run on its own data, with its comparison models."""
    keys = replace(compared.map(key_of), reference=run.reference)
    return AuditRequest(run=key_of(run), data=run.data.fingerprint, settings=settings, comparison_models=keys)


def pooled_audits(audits: Sequence[str], pools: dict[str, tuple[str, ...]]) -> str:
    """The key of the audit of all seeds, which `pools` gets; of one seed, that of its own."""
    if len(audits) == 1:
        return audits[0]
    pools[key := pooled_key(audits)] = tuple(audits)
    return key


def plan_sweep(runs: Sequence[RunWithBase | Run], settings: AuditSettings | None, store: Store) -> Plan:
    """Runs, and an audit of each by itself (None: of none); of none that is there only to teach another."""
    from heedful.training.teachers import teachers_of

    planned = unique_runs(runs, store)
    teachers = {key_of(teacher) for run in planned.values() for teacher in teachers_of(run)}
    audited = (
        [] if settings is None else [audit_of(run, settings) for key, run in planned.items() if key not in teachers]
    )
    audits = {each.key: each for each in audited}
    return Plan((*planned, *audits), planned, audits)


def audit_with_other_seeds(key: str, settings: AuditSettings, store: Store) -> str | None:
    """The key of the newest finished audit of a run and its other seeds with these settings; None if there is none."""
    run = store.read(key).run
    for place, verdict in audits_of_run(store.audits, key):
        keys = [training.run for training in verdict.trainings]
        audits = [
            AuditRequest(
                run=each,
                data=run.data.fingerprint,
                settings=settings,
                comparison_models=ComparisonModels(
                    seeds=tuple(other for other in keys if other != each), reference=run.reference
                ),
            )
            for each in keys
        ]
        if len(keys) > 1 and place.name == pooled_key([audit.key for audit in audits]):
            return place.name
    return None


def resolve(runs: Iterable[RunWithBase | Run]) -> list[RunWithBase]:
    """The same, as they will be stored: with their fingerprints (each dataset is read once) and the base's key."""
    fingerprints: dict[object, str] = {}
    parts: dict[object, dict[str, object]] = {}

    def known(run: Run) -> Run:
        content = (run.data, run.text, run.reads_sentences)
        if content not in fingerprints:
            fingerprints[content] = run.data.fingerprint or _fingerprint(run)
        part = (run.data, run.network, run.finetune, fingerprints[content])
        if part not in parts:
            complete = _with_fingerprints(run, fingerprints[content])
            parts[part] = {"data": complete.data, "network": complete.network, "finetune": complete.finetune}
        return Run.model_validate({**dict(run), **parts[part]})

    def referring(run: Run, base: Run | None) -> Run:
        return _with_reference(known(run), key_of(base)) if base else known(run)

    resolved = []
    for each in runs:
        each = each if isinstance(each, RunWithBase) else RunWithBase(each)
        root = known(each.root) if each.root else None
        base = referring(each.base, root) if each.base else None
        resolved.append(RunWithBase(referring(each.run, base), base, root))
    return resolved


def _fingerprint(run: Run) -> str:
    """The fingerprint of a run's data: known, or read now."""
    if (known := known_fingerprint(reading_digest(run))) is not None:
        return known
    from heedful.jobs.work import load_data

    return load_data(run)[0].data.fingerprint


def _with_fingerprints(run: Run, data: str) -> Run:
    """The run with all fingerprints."""
    network = run.network
    if network.vectors is None and not network.encoder.startswith("hf:") and run.finetune is None:
        return update_settings(run, {"data.fingerprint": data})
    from heedful.training.start import with_fingerprints

    return with_fingerprints(run, data)


def _with_reference(run: Run, key: str) -> Run:
    return Run.model_validate({**dict(run), "reference": key})


def unique_runs(runs: Sequence[RunWithBase | Run], store: Store) -> dict[str, Run]:
    """Every distinct run by its key, teachers and base runs first.

    A reference by the beginning of its key becomes the whole key.
    """
    resolved = resolve(runs)
    by_key = runs_by_key(resolved)
    given = {run.reference for run in by_key.values() if run.reference is not None} - set(by_key)
    keys = {prefix: store.find(prefix) for prefix in sorted(given)}
    for key in keys.values():
        store.read(key)  # raises where it is of no use
    whole = [
        RunWithBase(_with_reference(each.run, keys[each.run.reference])) if each.run.reference in keys else each
        for each in resolved
    ]
    return runs_by_key(whole) if keys else by_key


def runs_by_key(resolved: Sequence[RunWithBase]) -> dict[str, Run]:
    """Every distinct run, teachers and base runs first."""
    from heedful.training.teachers import teachers_of

    before = [run for each in resolved for run in (each.root, each.base) if run is not None]
    runs = {key_of(run): run for run in (*before, *(each.run for each in resolved))}
    return {key_of(teacher): teacher for run in runs.values() for teacher in teachers_of(run)} | runs
