"""The outcome on a paper's models: how often attention points, misses, and no small set decides (docs/answer.md)."""

from collections.abc import Sequence
from dataclasses import replace
from math import nan

import polars as pl

from heedful.battery.question import Columns
from heedful.papers.claim_rule import entry
from heedful.papers.reproduction import Results, Study, StudyRun, Table
from heedful.report import AuditFiles
from heedful.settings import AuditSettings, OutcomeSettings
from heedful.verdict.answers import flags_of, outcomes_of

TABLE = "The outcome"
TEXTS = {"small": 60, "medium": 150, "paper": 300}
TRAINED = ("vanilla", "diversity", "guided_by_rationales")
"""Methods whose models are judged: attention as it is learned, not against an adversary or by one."""
NOT_LEARNED = ("uniform", "frozen")
COLUMNS = {
    "points": "attention points",
    "misses": "attention misses",
    "no_small_set": "no small set decides",
    "points_of_decided": "attention points, where a small set decides",
    "luck": "luck",
    "moved": "moved information",
}


def with_outcome(study: Study) -> Study:
    """The study with the outcome of its main models: an audit more for each of their runs, and a table."""

    def runs(scale: str) -> list[StudyRun]:
        settings = OutcomeSettings(replaced_texts=0, dev_texts=0)
        audit = AuditSettings(tests=("outcome",), examples=TEXTS[scale], shown=0, outcome=settings)
        return [replace(run, outcome=audit if is_judged(run) else None) for run in study.runs(scale)]

    return replace(
        study,
        runs=runs,
        tables=lambda results: [*study.tables(results), outcome_table(results)],
        beyond=(*study.beyond, TABLE),
    )


def is_judged(planned: StudyRun) -> bool:
    """Whether a run is one of the main models of a study, whose attention is learned, and which is fast to read."""
    run = planned.run.run
    is_fast = run.finetune is None and not run.network.encoder.startswith("hf:")
    is_learned = run.network.attention not in NOT_LEARNED and run.training.method in TRAINED
    return is_fast and is_learned and not planned.role


def outcome_columns(audits: Sequence[AuditFiles]) -> Columns:
    """Of each text whether attention points, misses or no small set decides: `outcome.NAME` -> [seed text].

    Luck, moved information and the points of decided texts are undefined if no small set decides.
    """
    verdict = audits[0].verdict
    frames = [audit.outcomes.filter(pl.col("split") == verdict.split) for audit in audits]
    judged = outcomes_of(frames, verdict.labels)
    points, decided = judged.points, judged.decided
    columns = {
        "points": points.where(decided != 0, 0.0),
        "misses": (1 - points).where(decided != 0, 0.0),
        "no_small_set": 1 - decided,
        "points_of_decided": points,
        "luck": judged.luck.masked_fill(points.isnan(), nan),
        "moved": flags_of(frames, "is_moved"),
    }
    return {f"outcome.{name}": columns[name] for name in COLUMNS}


def outcome_table(results: Results) -> Table:
    """The outcome of each model, by dataset and encoder."""
    names = [f"outcome.{name}" for name in COLUMNS]
    rows = tuple(
        ((cell.data, cell.encoder, cell.method), tuple(entry(cell.columns[name]) for name in names))
        for cell in results.select(*names)
    )
    note = (
        f"Shares of at most {TEXTS[results.scale]} test texts, over all seeds. A small set of words decides if the "
        "best two to five words have at least 0.15 more effect than random ones; attention points if its top words "
        "have at least half of that. Luck: how often random words would point. Moved information, where a small set "
        "decides: attention misses, although the states of its top words alone give the prediction."
    )
    head = ("data", "encoder", "model")
    return Table(TABLE, "Does attention point to the deciding words?", note, head, tuple(COLUMNS.values()), rows)
