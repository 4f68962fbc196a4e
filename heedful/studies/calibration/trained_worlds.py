"""Trained models on sets whose deciding words are known: honest ones, and ones trained to hide these words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import nan
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.attribution.reuse.variants import variant_reader
from heedful.attribution.selection import logits_of_parts
from heedful.data import load
from heedful.data.batching import EncodedSplit, collate, encode_split, in_order
from heedful.measures.outcome import JudgedText, TextToJudge, judge_texts
from heedful.models.attention_model import LinearAttentionModel
from heedful.models.trace import trace
from heedful.schema import ClassAnswer
from heedful.settings import Run
from heedful.settings.answer import AnswerSettings, OutcomeSettings
from heedful.settings.validation import update_settings
from heedful.studies.calibration.worlds import POINTS
from heedful.training.loop import train
from heedful.training.trained import Trained
from heedful.types import Dataset
from heedful.verdict.answers import REASONS, Outcomes, answer_all
from heedful.verdict.gate import has_learnt

if TYPE_CHECKING:
    from distributed import Client

SEEDS = 5
SMALL = {"data.train_limit": 2_000, "data.test_limit": 300, "network.hidden_size": 64}
DECEPTIVE = {"training.epochs": 16, "training.min_epochs": 8, "training.patience": 2}
TEXTS = 50
"""Texts whose sets of words are read together."""
FALLS = 0.1
"""Deceptive training lowers the share of an embedding model by at least this much."""


@dataclass(frozen=True)
class TrainedModel:
    """A model, but for its seed."""

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
    """Outcomes of one seed, and the labels of the same texts."""

    model: TrainedModel
    seed: int
    outcomes: Outcomes
    labels: Int[Tensor, " text"]
    names: tuple[str, ...]


@dataclass(frozen=True)
class TrainedRow:
    """Answers of a model over its seeds.

    Args:
        left_out: seeds that are not significantly better than a constant prediction by themselves.
    """

    model: TrainedModel
    accuracy: float
    left_out: tuple[int, ...]
    overall: ClassAnswer
    classes: tuple[ClassAnswer, ...]


def train_and_judge(model: TrainedModel, seed: int) -> TrainedResult:
    """The outcomes of one seed on the test texts; they depend on the arguments alone."""
    run = model.run(seed)
    dataset = load(run.data, run.text)
    trained = train(run, dataset)
    labels = torch.tensor([example.label for example in dataset.test])
    return TrainedResult(model, seed, outcomes_of_run(trained, dataset), labels, dataset.labels)


def outcomes_of_run(trained: Trained, dataset: Dataset) -> Outcomes:
    """Outcomes of attention on the test texts, with words deleted."""
    model = trained.model.double().eval()
    assert isinstance(model, LinearAttentionModel)
    split = encode_split(dataset.test, trained.words)
    judged: dict[int, JudgedText] = {}
    for index in in_order(split.lengths, TEXTS):
        judged |= _judged(model, split, index)
    texts = [judged.get(text) for text in range(len(dataset.test))]

    def values(of_text: Callable[[JudgedText], float], undefined: float = nan) -> Float[Tensor, "1 text"]:
        return torch.tensor([[undefined if text is None else of_text(text) for text in texts]], dtype=torch.float64)

    return Outcomes(
        predicted=values(lambda text: text.predicted, -1).long(),
        points=values(lambda text: POINTS[text.outcomes["attention"]]),
        decided=values(lambda text: text.reason is None),
        luck=values(lambda text: text.luck),
        reason=values(lambda text: -1 if text.reason is None else REASONS.index(text.reason), -1).long(),
        runs=(f"seed {trained.run.seed}",),
    )


@torch.no_grad()
def _judged(model: LinearAttentionModel, split: EncodedSplit, index: Sequence[int]) -> dict[int, JudgedText]:
    """Outcomes of some texts; texts of one word have none."""
    seen = trace(model, collate(split, index))
    reader, whole = variant_reader(model, seen), seen.logits.softmax(-1)
    empty = model.empty_logits(seen.encoded).softmax(-1)
    items = [row.nonzero()[:, 0] for row in seen.encoded.items]

    def read(requests: dict[int, Bool[ndarray, "set item"]]) -> dict[int, Float[ndarray, "set classes"]]:
        # Texts without a request, and sets that fill up a request, keep all words.
        most = max(len(sets) for sets in requests.values())
        keep = seen.encoded.items[:, None].repeat(1, most, 1)
        for row, sets in requests.items():
            keep[row, : len(sets), items[row]] = torch.from_numpy(sets)
        read = logits_of_parts(model, seen, keep, reader=reader).softmax(-1).numpy()
        return {row: read[row, : len(sets)] for row, sets in requests.items()}

    texts = {
        row: TextToJudge(
            whole=whole[row].numpy(),
            scores={"attention": seen.attention[row, items[row]].numpy()},
            seed=(index[row],),
            empty=empty[row, whole[row].argmax()].item(),
        )
        for row in range(len(index))
        if len(items[row]) > 1
    }
    return {index[row]: judged for row, judged in judge_texts(texts, read, OutcomeSettings()).items()}


def calibrate_trained(
    models: Sequence[TrainedModel] = MODELS,
    *,
    seeds: int = SEEDS,
    client: "Client | None" = None,
    report: Callable[[TrainedResult], None] | None = None,
) -> list[TrainedRow]:
    """A row for each model.

    Args:
        client: of a cluster that trains; without one they are trained here, one after another.
        report: called after each seed, in any order.
    """
    results = []
    for result in _done([(model, seed) for model in models for seed in range(seeds)], client):
        results.append(result)
        if report:
            report(result)
    return trained_rows(results)


def _done(jobs: Sequence[tuple[TrainedModel, int]], client: "Client | None") -> Iterator[TrainedResult]:
    if client is None:
        yield from (train_and_judge(*job) for job in jobs)
        return
    from distributed import as_completed

    for future in as_completed([client.submit(train_and_judge, *job, pure=False) for job in jobs], loop=client.loop):
        yield future.result()


def trained_rows(results: Sequence[TrainedResult]) -> list[TrainedRow]:
    """A row for each model, over its seeds."""
    ordered = sorted(results, key=lambda result: (MODELS.index(result.model), result.seed))
    return [_row(model, list(own)) for model, own in groupby(ordered, key=lambda result: result.model)]


def _row(model: TrainedModel, results: Sequence[TrainedResult]) -> TrainedRow:
    correct = torch.cat([(result.outcomes.predicted == result.labels).double() for result in results])
    labels = results[0].labels.expand_as(correct).double()
    learned = [seed for seed in range(len(results)) if _is_learned(correct[[seed]], labels[[seed]])]
    outcomes = Outcomes(
        **{
            name: torch.cat([getattr(result.outcomes, name) for result in results])
            for name in ("predicted", "points", "decided", "luck", "reason")
        },
        runs=tuple(run for result in results for run in result.outcomes.runs),
    )
    is_learned = bool(learned) and _is_learned(correct, labels)
    overall, classes = answer_all(
        outcomes.of_seeds(learned) if is_learned else outcomes,
        results[0].names,
        AnswerSettings(),
        is_learned=is_learned,
    )
    left_out = tuple(result.seed for place, result in enumerate(results) if place not in learned)
    return TrainedRow(model, correct.mean().item(), left_out, overall, classes)


def _is_learned(correct: Float[Tensor, "seed text"], labels: Float[Tensor, "seed text"]) -> bool:
    return has_learnt({"prediction.correct": correct, "prediction.label": labels})


def broken_rules(rows: Sequence[TrainedRow]) -> list[str]:
    """Requirements that trained models do not meet, in words."""
    by_model = {row.model: row for row in rows}
    broken = []
    for row in rows:
        source, encoder, method = row.model.source, row.model.encoder, row.model.method
        answers = [each.answer for each in row.classes]
        if (encoder, method) == ("bilstm", "deceptive") and {*answers} != {"No"}:
            broken.append(f"{source}, deceptive BiLSTM: No is required for every class; it says {', '.join(answers)}.")
        if (source, method) == ("planted", "vanilla") and row.overall.answer != "Yes":
            broken.append(f"{source}, honest {NAMES[encoder]}: Yes is required; it says {row.overall.answer}.")
        honest = by_model.get(TrainedModel(source, encoder, "vanilla"))
        if (encoder, method) == ("average", "deceptive") and honest is not None and _fall(honest, row) < FALLS:
            broken.append(
                f"{source}, embedding model: deceptive training must lower the share of texts in which attention "
                f"points by {FALLS}; it lowers it by {_fall(honest, row):.2f}."
            )
    return broken


NAMES = {"average": "embedding model", "bilstm": "BiLSTM"}


def _fall(honest: TrainedRow, deceptive: TrainedRow) -> float:
    values = [row.overall.shares.points.value for row in (honest, deceptive)]
    return nan if None in values else values[0] - values[1]
