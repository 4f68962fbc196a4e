"""From settings to what must be there in the end: runs with their fingerprints, companions, and audits. No torch.

Torch is imported only where data, vectors or a pretrained encoder were never read before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.jobs.request import AuditRequest
from heedful.settings import AuditSettings, Run, key_of
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.validation import update_settings
from heedful.store.fingerprints import known_fingerprint, reading_digest
from heedful.store.store import Store

ADVERSARY_SEEDS = (10, 50, 257, 500_231, 100_078, 12_504, 90_754_789, 8_988_812, 2)
"""The nine seeds of Amini and Kosseim's adversaries."""


@dataclass(frozen=True)
class RunWithBase:
    """A run to be done, and the run that must be done before because this one refers to it."""

    run: Run
    base: Run | None = None


@dataclass(frozen=True)
class PlannedAudit:
    """A run and its companions, to be trained where they are missing, and audited together."""

    run: Run
    comparison_models: ComparisonModels[Run] = ComparisonModels()

    def by_key(self) -> dict[str, Run]:
        """The run and its companions."""
        return {key_of(run): run for run in (self.run, *self.comparison_models)}

    def request(self, settings: AuditSettings) -> AuditRequest:
        """The audit, as it is called on disk."""
        comparison_models, run = self.comparison_models.map(key_of), self.run
        beside = ComparisonModels(
            comparison_models.retrained, comparison_models.seeds, comparison_models.adversaries, run.reference
        )
        return AuditRequest(run=key_of(run), data=run.data.fingerprint, settings=settings, comparison_models=beside)


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
    *,
    seeds: int = 1,
    deep: bool = False,
    adversaries: int = 3,
    retrained: Run | None = None,
    store: Store | None = None,
) -> list[PlannedAudit]:
    """Each run with its companions; the data decides what runs are called, and is read if it never was.

    Args:
        seeds: audit so many trainings of each run, with consecutive seeds, each beside the others.
        deep: also beside the same model trained without attention, and beside adversaries.
        adversaries: how many of these.
        retrained: the run without attention, where it is there already.
        store: where references are looked up that are given by the beginning of a key.
    """
    runs = [store.with_full_reference(run) for run in runs] if store is not None else runs
    repeated = [update_settings(run, {"seed": run.seed + more}) for run in runs for more in range(seeds)]
    own = [each.run for each in resolve(repeated)]
    return [PlannedAudit(run, _companions(run, own, deep, adversaries, retrained)) for run in own]


def _companions(
    run: Run, runs: Sequence[Run], deep: bool, adversaries: int, retrained: Run | None
) -> ComparisonModels[Run]:
    count = adversaries if deep else 0
    return ComparisonModels(
        retrained=retrained or (without_attention(run) if deep else None),
        seeds=tuple(each for each in runs if each.seed != run.seed and differ_in_seed_alone(each, run)),
        adversaries=tuple(adversary_of(run, seed) for seed in ADVERSARY_SEEDS[:count]),
    )


def differ_in_seed_alone(first: Run, other: Run) -> bool:
    """Whether two runs are trainings of one model; a run is one with itself."""
    return update_settings(first, {"seed": other.seed}) == other


def by_model(planned: Sequence[PlannedAudit]) -> list[list[PlannedAudit]]:
    """The audits of each model: those of trainings that differ in the seed alone are together."""
    groups: list[list[PlannedAudit]] = []
    for each in planned:
        group = next((group for group in groups if differ_in_seed_alone(group[0].run, each.run)), None)
        _ = groups.append([each]) if group is None else group.append(each)
    return groups


def audits_of(runs: Mapping[str, Run], settings: AuditSettings) -> dict[str, AuditRequest]:
    """An audit of each run by the run's key; of none that is there only to teach another."""
    from heedful.training.teachers import teachers_of

    teachers = {key_of(teacher) for run in runs.values() for teacher in teachers_of(run)}
    return {key: PlannedAudit(run).request(settings) for key, run in runs.items() if key not in teachers}


def resolve(runs: Sequence[RunWithBase | Run]) -> list[RunWithBase]:
    """The same, as they will be stored: with their fingerprints (each data set is read once) and the base's key."""
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

    resolved = []
    for each in runs:
        each = each if isinstance(each, RunWithBase) else RunWithBase(each)
        run, base = known(each.run), known(each.base) if each.base is not None else None
        resolved.append(RunWithBase(_with_reference(run, key_of(base)) if base else run, base))
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
    if not given:
        return by_key
    keys = {prefix: store.find(prefix) for prefix in sorted(given)}
    for key in keys.values():
        store.read(key)  # raises where it is of no use
    return runs_by_key(
        [
            RunWithBase(_with_reference(each.run, keys[each.run.reference])) if each.run.reference in keys else each
            for each in resolved
        ]
    )


def runs_by_key(resolved: Sequence[RunWithBase]) -> dict[str, Run]:
    """Every distinct run, teachers and base runs first."""
    from heedful.training.teachers import teachers_of

    bases = {key_of(each.base): each.base for each in resolved if each.base is not None}
    runs = bases | {key_of(each.run): each.run for each in resolved}
    return {key_of(teacher): teacher for run in runs.values() for teacher in teachers_of(run)} | runs
