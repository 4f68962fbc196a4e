"""Trained models on sets whose deciding words are known: honest ones, and ones trained to hide these words."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import groupby
from math import nan

import polars as pl
import torch

from heedful.auditing.rows import outcomes_alone
from heedful.calibration.suite import done
from heedful.data import load
from heedful.schema import AuditAnswer
from heedful.settings import AuditSettings, Run
from heedful.settings.validation import update_settings
from heedful.subjects.finished_run import FinishedRun
from heedful.training.loop import train
from heedful.verdict.audit_answer import answer_audit

SEEDS = 5
SMALL = {"data.train_limit": 2_000, "data.test_limit": 300, "network.hidden_size": 64}
SMALL |= {"network.embedding_start": "normal"}
"""Started in ±0.1, the default, honest BiLSTMs point to the deciding words of these made-up texts less often."""
DECEPTIVE = {"training.epochs": 16, "training.min_epochs": 8, "training.patience": 2}
FALLS = 0.1
"""Deceptive training lowers the share of an embedding model by at least this much."""


@dataclass(frozen=True)
class TrainedModel:
    """A model without its seed."""

    source: str
    encoder: str
    method: str

    def run(self, seed: int) -> Run:
        """Its settings."""
        own = {"data.source": self.source, "network.encoder": self.encoder, "training.method": self.method}
        return update_settings(Run(seed=seed), {**SMALL, **(DECEPTIVE if self.method == "deceptive" else {}), **own})


MODELS = tuple(
    TrainedModel(source, encoder, method)
    for source in ("planted", "reviews")
    for encoder in ("average", "bilstm")
    for method in ("vanilla", "deceptive")
)


@dataclass(frozen=True)
class TrainedResult:
    """One seed of a model.

    Args:
        outcomes: the audit's table, with words deleted.
        labels: labels of these texts, in the order of the table.
        names: what the labels are called.
    """

    model: TrainedModel
    seed: int
    outcomes: pl.DataFrame
    labels: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class TrainedRow:
    """The answer for a model over its seeds."""

    model: TrainedModel
    accuracy: float
    answer: AuditAnswer


def train_and_judge(model: TrainedModel, seed: int) -> TrainedResult:
    """The outcomes of one seed on the test texts; they depend on the arguments alone."""
    run = model.run(seed)
    dataset = load(run.data, run.text)
    subject = FinishedRun(train(run, dataset)).texts(dataset, AuditSettings())
    outcomes = of_attention(outcomes_alone(subject, AuditSettings()))
    labels = tuple(dataset.test[number].label for number in outcomes["example"])
    return TrainedResult(model, seed, outcomes, labels, dataset.labels)


def of_attention(outcomes: pl.DataFrame) -> pl.DataFrame:
    """The rows of attention alone, one per text."""
    return outcomes.filter(pl.col("ranking") == "attention")


def calibrate_trained(
    models: Sequence[TrainedModel] = MODELS,
    *,
    seeds: int = SEEDS,
    pool: Executor | None = None,
    report: Callable[[TrainedResult], None] | None = None,
) -> list[TrainedRow]:
    """A row for each model.

    Args:
        pool: pool of processes for training; without one, models are trained here, one after another.
        report: called after each seed, in any order.
    """
    results = []
    jobs = [(model, seed) for model in models for seed in range(seeds)]
    for result in done(train_and_judge, jobs, pool):
        results.append(result)
        if report:
            report(result)
    return trained_rows(results)


def trained_rows(results: Sequence[TrainedResult]) -> list[TrainedRow]:
    """A row for each model, over its seeds."""
    ordered = sorted(results, key=lambda result: (MODELS.index(result.model), result.seed))
    return [_row(model, list(own)) for model, own in groupby(ordered, key=lambda result: result.model)]


def _row(model: TrainedModel, results: Sequence[TrainedResult]) -> TrainedRow:
    correct = torch.tensor([result.outcomes["is_correct"].cast(pl.Float64).to_list() for result in results])
    labels = torch.tensor([result.labels for result in results], dtype=correct.dtype)
    columns = {"prediction.correct": correct, "prediction.label": labels}
    frames = [result.outcomes for result in results]
    answer = answer_audit(columns, frames, frames[0]["split"][0], results[0].names, AuditSettings())
    return TrainedRow(model, correct.mean().item(), answer)


def broken_rules(rows: Sequence[TrainedRow]) -> list[str]:
    """Requirements that trained models do not meet, in words."""
    by_model = {row.model: row for row in rows}
    broken = []
    for row in rows:
        source, encoder, method = row.model.source, row.model.encoder, row.model.method
        answers = [each.answer for each in row.answer.classes]
        if (encoder, method) == ("bilstm", "deceptive") and {*answers} != {"No"}:
            broken.append(f"{source}, deceptive BiLSTM: No is required for every class; it says {', '.join(answers)}.")
        if (source, method) == ("planted", "vanilla") and row.answer.overall.answer != "Yes":
            broken.append(f"{source}, honest {NAMES[encoder]}: Yes is required; it says {row.answer.overall.answer}.")
        honest = by_model.get(TrainedModel(source, encoder, "vanilla"))
        if (encoder, method) == ("average", "deceptive") and honest is not None and _fall(honest, row) < FALLS:
            broken.append(
                f"{source}, embedding model: deceptive training must lower the share of texts in which attention "
                f"points by {FALLS}; it lowers it by {_fall(honest, row):.2f}."
            )
    return broken


NAMES = {"average": "embedding model", "bilstm": "BiLSTM"}


def _fall(honest: TrainedRow, deceptive: TrainedRow) -> float:
    first, second = (row.answer.overall.shares.points.value for row in (honest, deceptive))
    return nan if first is None or second is None else first - second
