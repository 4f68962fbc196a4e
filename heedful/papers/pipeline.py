"""A study, done: its runs and audits, those that are missing by a cluster, and what they found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heedful.jobs.planning import Plan, RunWithBase, adversary_of, audit_of, resolve, runs_by_key
from heedful.jobs.request import AuditRequest
from heedful.papers.judged_models import outcome_columns
from heedful.papers.reproduction import Cell, Results, StudyRun
from heedful.report import AuditFiles, read_audit
from heedful.settings import ComparisonModels, Run, key_of
from heedful.store.run_file import HISTORY, TOKENS
from heedful.store.store import RunFile, Store, audit_defect
from heedful.training.methods import METHODS
from heedful.verdict.scoring import columns_of


@dataclass(frozen=True)
class PreparedRun:
    """A run of a study, with its key and those of its audit and of its outcomes, None if there are none."""

    planned: StudyRun
    run: str
    audit: str | None
    outcome: str | None = None

    @property
    def audits(self) -> tuple[str, ...]:
        """The keys of its audits."""
        return tuple(key for key in (self.audit, self.outcome) if key is not None)


@dataclass(frozen=True)
class Prepared:
    """The runs and audits that a study needs, by key, and which of them make up each cell.

    Args:
        cells: by data and model.
        wanted: keys of all runs and audits that the study names, in its order.
    """

    runs: Mapping[str, Run]
    audits: Mapping[str, AuditRequest]
    cells: Mapping[tuple[str, str], Sequence[PreparedRun]]
    wanted: Sequence[str] = ()


def prepare_study(study_runs: Sequence[StudyRun]) -> Prepared:
    """Everything that must be done, by key; reads the data that the study needs."""
    # All at once, so that each dataset is read once.
    resolved = resolve([*(each.run for each in study_runs), *(seed for each in study_runs for seed in each.seeds)])
    others = iter(resolved[len(study_runs) :])
    attacks: list[RunWithBase] = []
    audits: dict[str, AuditRequest] = {}
    cells: dict[tuple[str, str], list[PreparedRun]] = {}
    wanted: list[str] = []
    for planned, own in zip(study_runs, resolved, strict=False):
        run = own.run
        seeds = tuple(next(others).run for _ in planned.seeds)
        adversaries = tuple(adversary_of(run, each.seed, each.changes) for each in planned.adversaries)
        attacks += [RunWithBase(adversary, run) for adversary in adversaries]
        audit = outcome = None
        if planned.audit is not None:
            request = audit_of(run, planned.audit, ComparisonModels(seeds=seeds, adversaries=adversaries))
            audits[request.key], audit = request, request.key
        if planned.outcome is not None:
            request = audit_of(run, planned.outcome)
            audits[request.key], outcome = request, request.key
        member = PreparedRun(planned, key_of(run), audit, outcome)
        cells.setdefault((planned.data, planned.model), []).append(member)
        wanted += [member.run, *member.audits]
    return Prepared(runs_by_key([*resolved, *attacks]), audits, cells, wanted)


def plan_study(prepared: Prepared) -> Plan:
    """All of the study's runs and audits, in its order: whatever a run or an audit needs comes just before it."""
    return Plan(tuple(prepared.wanted), prepared.runs, prepared.audits)


def gather(scale: str, prepared: Prepared, store: Store, folder: Path, errors: Mapping[str, str]) -> Results:
    """What the runs and audits of a study found, as far as they are done; a cell without any run is left out."""
    cells, missing = [], []
    for (data, model), members in prepared.cells.items():
        done = [member for member in members if prepared.runs[member.run] in store]
        audits = [audit for member in members for audit in member.audits]
        audited = sum(audit_defect(folder / audit) is None for audit in audits)
        if done:
            cells.append(_gather_cell(done, prepared, store, folder))
        if len(done) < len(members) or audited < len(audits):
            of_audits = f", {audited} of {len(audits)} audits" if audits else ""
            missing.append(f"{data}, {model}: {len(done)} of {len(members)} runs{of_audits}")
    return Results(scale, tuple(cells), dict(errors), tuple(missing))


def _gather_cell(done: Sequence[PreparedRun], prepared: Prepared, store: Store, folder: Path) -> Cell:
    planned = done[0].planned
    audits, judged = (
        [read_audit(folder / key) for key in keys if key and audit_defect(folder / key) is None]
        for keys in ([each.audit for each in done], [each.outcome for each in done])
    )
    columns = columns_of([audit.rows for audit in audits]) if audits else {}
    settings = {each.run: prepared.runs[each.run] for each in done}
    return Cell(
        data=planned.data,
        model=planned.model,
        encoder=planned.encoder,
        method=planned.method,
        role=planned.role,
        runs=tuple(store.read(key) for key in settings),
        columns={**columns, **outcome_columns(judged)} if judged else columns,
        comparison_models=_gather_companions(done, prepared, store),
        seconds=sum(audit.verdict.seconds or 0.0 for audit in (*audits, *judged)),
        tokens=tuple(store.table(key, TOKENS) for key, run in settings.items() if run.training.record_flow),
        history=tuple(store.table(key, HISTORY) for key, run in settings.items() if _logs(run)),
        words=tuple(map(shown_words, audits)),
    )


def _gather_companions(done: Sequence[PreparedRun], prepared: Prepared, store: Store) -> ComparisonModels[RunFile]:
    """The runs that the audits of a cell compared its runs with, each once."""
    requests = [prepared.audits[each.audit].comparison_models for each in done if each.audit]

    def read(keys: Sequence[str]) -> tuple[RunFile, ...]:
        return tuple(store.read(key) for key in dict.fromkeys(keys) if prepared.runs[key] in store)

    return ComparisonModels(
        seeds=read([key for request in requests for key in request.seeds]),
        adversaries=read([key for request in requests for key in request.adversaries]),
    )


def _logs(run: Run) -> bool:
    return METHODS[run.training.method].logs is not None


def shown_words(audit: AuditFiles) -> pl.DataFrame:
    """The texts that an audit shows, a row per word and measure: example, item, word, replaced, measure, value.

    `replaced` is the word that stood there when similar words were substituted for some.
    """
    texts = audit.examples.with_columns(replaced=pl.coalesce("replaced", "items"))
    words = texts.select(
        "example", pl.int_ranges(pl.col("items").list.len()).alias("item"), pl.col("items").alias("word"), "replaced"
    ).explode("item", "word", "replaced")
    items = audit.rows.filter(pl.col("item").is_not_null()).select("example", "item", "measure", "value")
    return items.join(words.with_columns(pl.col("item").cast(pl.Int32)), on=["example", "item"], how="left")
