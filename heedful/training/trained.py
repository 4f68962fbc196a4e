"""The result of training, its history, and progress reports."""

from dataclasses import dataclass

import polars as pl

from heedful.data.tokenizer import WordTokenizer
from heedful.models.attention_model import AttentionModel
from heedful.settings import NetworkSettings, Run
from heedful.settings.validation import update_settings


@dataclass(frozen=True)
class Progress:
    """How far training has come: reported after every batch, and with scores after every epoch.

    In epoch 0, which only a pretrained encoder has, it reads the texts: `batch` of `batches` are read.

    Args:
        teacher: which of its teachers is being trained, as "teacher 1 of 3"; empty for the run itself.
    """

    epoch: int
    epochs: int
    batch: int
    batches: int
    scores: dict[str, float] | None = None
    teacher: str = ""


@dataclass(frozen=True)
class Record:
    """One number of one epoch: a row of history.parquet."""

    epoch: int
    split: str
    measure: str
    value: float


@dataclass(frozen=True, repr=False)
class Trained:
    """A finished run: the model of the chosen epoch and the history of its training.

    Args:
        coverage: share of the vocabulary that has a pretrained vector; None without vectors.
        tokens: scores and flow of every token at the epochs in `record_flow`; None if that is empty.
    """

    run: Run
    model: AttentionModel
    words: WordTokenizer
    labels: tuple[str, ...]
    history: tuple[Record, ...]
    chosen_epoch: int
    scores: dict[str, dict[str, float]]
    seconds: float
    notes: tuple[str, ...] = ()
    coverage: float | None = None
    tokens: pl.DataFrame | None = None

    def __repr__(self) -> str:
        run, accuracy = self.run, self.scores.get("test", {}).get("accuracy")
        model = f"{run.network.encoder}, {run.network.attention} attention, {run.data.source}, seed {run.seed}"
        return f"Trained({model}{'' if accuracy is None else f', accuracy {accuracy:.3f}'})"


def network_of(trained: Trained) -> NetworkSettings:
    """The run's network settings with the embedding size of its pretrained vectors, if it has any."""
    return update_settings(trained.run.network, {"embed_size": trained.model.embedding.embedding_dim})
