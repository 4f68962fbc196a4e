"""What training gives: a model, how it came about, and word of it on the way."""

from dataclasses import dataclass

import polars as pl

from heedful.data.tokenizer import WordTokenizer
from heedful.models.attention_model import AttentionModel
from heedful.settings import NetworkSettings, Run


@dataclass(frozen=True)
class Progress:
    """Where training stands: told after every batch, and with scores after every epoch."""

    epoch: int
    epochs: int
    batch: int
    batches: int
    scores: dict[str, float] | None = None


@dataclass(frozen=True)
class Record:
    """One number of one epoch: a row of history.parquet."""

    epoch: int
    split: str
    measure: str
    value: float


@dataclass(frozen=True)
class Trained:
    """A finished run: the model of the chosen epoch and how it came about.

    Args:
        coverage: share of the vocabulary that the pretrained vectors know; None without vectors.
        tokens: scores and flow of every token at the epochs that `record_flow` names; None where it names none.
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


def network_of(trained: Trained) -> NetworkSettings:
    """The run's network settings with the embedding size that pretrained vectors gave it."""
    return trained.run.network.model_copy(update={"embed_size": trained.model.embedding.embedding_dim})
