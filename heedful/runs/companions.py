"""Audits of runs beside their companions: other seeds, the same without attention, adversaries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.auditing.companions import Companions
from heedful.auditing.request import AuditRequest
from heedful.errors import HeedfulError
from heedful.runs.audit_folders import audit_problem
from heedful.runs.audit_parts import AuditParts
from heedful.runs.audits import ensure_audit
from heedful.runs.grid import resolve, unique_runs
from heedful.runs.split_audits import ClusterChoice, SplitAudit, count_shards, words_of_batches
from heedful.runs.store import Store
from heedful.runs.worker import dataset_of, ensure_on, load_data
from heedful.settings import AuditSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.training.trained import Progress, Trained

if TYPE_CHECKING:
    from heedful.runs.sweep import Progress as SweepProgress
    from heedful.runs.sweep import Report as SweepReport

ADVERSARY_SEEDS = (10, 50, 257, 500_231, 100_078, 12_504, 90_754_789, 8_988_812, 2)
"""The nine seeds of Amini and Kosseim's adversaries."""


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


@dataclass(frozen=True)
class PlannedAudit:
    """A run and its companions, to be trained where they are missing, and audited together."""

    run: Run
    companions: Companions[Run] = Companions()

    def by_key(self) -> dict[str, Run]:
        """The run and its companions."""
        return {key_of(run): run for run in (self.run, *self.companions)}


def plan_audits(
    runs: Sequence[Run],
    *,
    seeds: int = 1,
    deep: bool = False,
    adversaries: int = 3,
    retrained: Run | None = None,
    store: Store | None = None,
) -> list[PlannedAudit]:
    """Each run with its companions; reads the data, which decides what runs are called.

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


def _companions(run: Run, runs: Sequence[Run], deep: bool, adversaries: int, retrained: Run | None) -> Companions[Run]:
    others = tuple(each for each in runs if each.seed != run.seed and update_settings(each, {"seed": run.seed}) == run)
    count = adversaries if deep else 0
    return Companions(
        retrained=retrained or (without_attention(run) if deep else None),
        seeds=others,
        adversaries=tuple(adversary_of(run, seed) for seed in ADVERSARY_SEEDS[:count]),
    )


def audit_in_parallel(
    planned: Sequence[PlannedAudit],
    settings: AuditSettings,
    store: Store,
    folder: Path,
    *,
    device: str = "cpu",
    cluster: ClusterChoice = ClusterChoice(),  # noqa: B008 (frozen)
    report: "SweepReport | None" = None,
    progress: "SweepProgress | None" = None,
) -> list[Path]:
    """The folders of the audits; whatever is missing of them and of their runs is done on all cores of this machine.

    Large audits are done in parts, and so are those of which somebody says who helps.
    """
    from heedful.runs.cluster import connected, cores  # here: whose audits are all there waits for no Dask
    from heedful.runs.sweep import sweep

    runs = unique_runs([run for each in planned for run in (each.run, *each.companions)], store)
    requests = {request.key: request for request in (_request(each, settings) for each in planned)}
    parts = parts_of(planned, settings, folder, cluster)
    whole = {key: request for key, request in requests.items() if key not in parts}
    tasks = {name: task for key in parts for name, task in SplitAudit(requests[key], parts[key]).tasks().items()}
    missing = sum(run not in store for run in runs.values()) + len(whole) + len(tasks)
    with connected(cluster.scheduler, workers=min(cluster.workers or cores(), missing)) as client:
        errors = sweep(
            runs,
            store,
            client,
            audits=whole,
            folder=folder,
            others=tasks,
            device=device,
            report=report,
            progress=progress,
        )
    if errors:
        first = next(iter(errors.values()))
        raise HeedfulError(
            f"{len(errors)} of {len(runs) + len(whole) + len(tasks)} runs and audits failed; the first: {first}"
        )
    for each in planned:
        if _request(each, settings).key in parts:
            audit_planned(each, settings, store, folder, device=device)
    return [audit_place(each, settings, folder) for each in planned]


def parts_of(
    planned: Sequence[PlannedAudit], settings: AuditSettings, folder: Path, cluster: ClusterChoice
) -> dict[str, AuditParts]:
    """The parts of those audits that are not there and are to be done in parts, by their keys."""
    parts: dict[str, AuditParts] = {}
    for each in planned:
        place = audit_place(each, settings, folder)
        if audit_problem(place) is not None:
            words = words_of_batches(dataset_of(each.run), settings)
            if cluster.is_wanted(sum(words)):
                parts[place.name] = AuditParts(place, count_shards(words))
    return parts


def audit_place(planned: PlannedAudit, settings: AuditSettings, folder: Path) -> Path:
    """The folder of the audit, whether it is there yet or not."""
    return folder / _request(planned, settings).key


def _request(planned: PlannedAudit, settings: AuditSettings) -> AuditRequest:
    companions = planned.companions.map(key_of)
    run = planned.run
    return AuditRequest(
        run=key_of(run),
        data=run.data.fingerprint,
        settings=settings,
        companions=Companions(companions.retrained, companions.seeds, companions.adversaries, run.reference),
    )


@dataclass(frozen=True)
class AuditProgress:
    """What is called while an audit is made: what to call along a run's training, and with texts done and in all."""

    training: Callable[[Run], Callable[[Progress], None]] | None = None
    auditing: Callable[[Run], Callable[[int, int], None]] | None = None


def audit_planned(
    planned: PlannedAudit,
    settings: AuditSettings,
    store: Store,
    folder: Path,
    *,
    device: str = "cpu",
    progress: AuditProgress = AuditProgress(),  # noqa: B008 (frozen)
    command: str = "",
) -> Path:
    """The folder of the audit: what is missing of its runs is trained first, here, one after the other."""
    run, dataset = load_data(planned.run)

    def trained(each: Run) -> Trained:
        report = progress.training(each) if progress.training else None
        return ensure_on(each, dataset, store, device=device, report=report)[1]

    model = trained(run)
    companions = planned.companions.map(trained)
    reference = store.load(run.reference) if run.reference else None
    return ensure_audit(
        model,
        dataset,
        settings,
        folder,
        Companions(companions.retrained, companions.seeds, companions.adversaries, reference),
        device=device,
        report=progress.auditing(run) if progress.auditing else None,
        command=command,
    )
