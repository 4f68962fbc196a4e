"""The result of training, its history, and progress reports."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any

import polars as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from heedful.data.tokenizer import WordTokenizer
from heedful.errors import HeedfulError, StoreError
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.hugging_face.model_files import PREFIX, FastTokenizer, HuggingFaceModel, quiet
from heedful.settings import NetworkSettings, Run
from heedful.settings.validation import update_settings
from heedful.store.folders import find_damage, reason
from heedful.store.run_file import (
    HISTORY,
    RUN_FILE,
    TOKENS,
    WEIGHTS,
    WORDS,
    RunFile,
    describe_run,
    names_of_files,
    read_scores,
    read_table,
)


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


@dataclass(frozen=True, repr=False, kw_only=True)
class FinishedTraining:
    """What every training gives beside its model: the history, the chosen epoch, and the scores of that.

    Args:
        coverage: share of the vocabulary that has a pretrained vector; None without vectors.
    """

    run: Run
    labels: tuple[str, ...]
    history: tuple[Record, ...]
    chosen_epoch: int
    scores: dict[str, dict[str, float]]
    seconds: float
    notes: tuple[str, ...] = ()
    coverage: float | None = None


@dataclass(frozen=True, repr=False, kw_only=True)
class Trained(FinishedTraining):
    """A finished run: the model of the chosen epoch and the history of its training.

    Args:
        tokens: scores and flow of every token at the epochs in `record_flow`; None if that is empty.
    """

    model: AttentionModel
    words: WordTokenizer
    tokens: pl.DataFrame | None = None

    @property
    def has_query(self) -> bool:
        """Whether it reads pairs of texts."""
        return self.model.query_encoder is not None

    @property
    def embed_size(self) -> int:
        """How many numbers a word's vector has."""
        return self.model.embedding.embedding_dim

    def __repr__(self) -> str:
        run, accuracy = self.run, self.scores.get("test", {}).get("accuracy")
        model = f"{run.network.encoder}, {run.network.attention} attention, {run.data.source}, seed {run.seed}"
        return f"Trained({model}{'' if accuracy is None else f', accuracy {accuracy:.3f}'})"


def network_of(trained: Trained) -> NetworkSettings:
    """The run's network settings with the embedding size of its pretrained vectors, if it has any."""
    return update_settings(trained.run.network, {"embed_size": trained.embed_size})


class BestEpoch:
    """The epoch with the best value so far, the first of equals, and the module's weights then."""

    def __init__(self, module: nn.Module):
        self.module = module
        self.number, self.value = 0, -math.inf
        self._weights: dict[str, Tensor] = {}

    def offer(self, epoch: int, value: float) -> None:
        """Keep this epoch if it is the best; one without a number is the worst."""
        value = -math.inf if math.isnan(value) else value
        if not self._weights or value > self.value:
            self.number, self.value = epoch, value
            self._weights = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}

    def restore(self) -> None:
        """Give the module its weights of that epoch, and no gradients."""
        self.module.zero_grad()
        self.module.load_state_dict(self._weights)


# The result of fine-tuning a Hugging Face encoder.


@dataclass(frozen=True, repr=False, kw_only=True)
class Finetuned(FinishedTraining):
    """A finished run of fine-tuning: the classifier of the chosen epoch and the history of its training.

    Args:
        module: knows the labels by name.
        tokenizer: knows at how many tokens texts were cut.
        has_query: whether it reads pairs of texts.
    """

    module: HuggingFaceModel
    tokenizer: FastTokenizer
    has_query: bool

    @property
    def embed_size(self) -> int:
        """How many numbers a token's vector has."""
        table: Any = self.module.get_input_embeddings()
        return table.embedding_dim

    def __repr__(self) -> str:
        accuracy = self.scores.get("test", {}).get("accuracy")
        shown = "" if accuracy is None else f", accuracy {accuracy:.3f}"
        return f"Finetuned({pretrained_name(self.run)}, {self.run.data.source}, seed {self.run.seed}{shown})"


def pretrained_name(run: Run) -> str:
    """What the model that a run of fine-tuning starts from is called: its name on the hub, or the end of its path.

    >>> from heedful.settings import FinetuneSettings
    >>> pretrained_name(Run(finetune=FinetuneSettings(model="/home/me/models/minilm/")))
    'models/minilm'
    """
    model = run.finetune.model.removeprefix(PREFIX) if run.finetune else ""
    return "/".join(PurePath(model).parts[-2:])


# The files of a finished run beside run.json: words, weights, history and scores of tokens, read and checked.

# polars panics on some damaged files, and its panic is not an Exception.
UNREADABLE = (
    SafetensorError,
    RuntimeError,
    OSError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


def write_trained(trained: Trained, folder: Path) -> None:
    """Write a finished run's files into a folder."""
    (folder / RUN_FILE).write_text(describe_run(trained).model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / WORDS).write_text(trained.words.to_json(), encoding="utf-8")
    # As bytes: the library's own way to write a file makes one that nobody else may read.
    (folder / WEIGHTS).write_bytes(save({k: v.contiguous() for k, v in trained.model.state_dict().items()}))
    write_history(trained.history, folder)
    if trained.tokens is not None:
        trained.tokens.write_parquet(folder / TOKENS)


def read_trained(described: RunFile, folder: Path) -> Trained:
    """The finished run of a folder; a StoreError that says what is wrong with its files, and only that."""
    if damage := find_damage(folder, names_of_files(described.run)):
        raise StoreError(damage)
    words = _read_words(folder / WORDS)
    return Trained(
        run=described.run,
        model=_read_model(described, words, folder / WEIGHTS),
        words=words,
        labels=described.labels,
        history=read_history(folder),
        chosen_epoch=described.chosen_epoch,
        scores=read_scores(described),
        seconds=described.seconds,
        notes=described.notes,
        coverage=described.coverage,
        tokens=read_table(folder, TOKENS) if described.run.training.record_flow else None,
    )


def write_history(history: Sequence[Record], folder: Path) -> None:
    """Write a run's history into its folder."""
    pl.DataFrame([asdict(record) for record in history]).write_parquet(folder / HISTORY)


def read_history(folder: Path) -> tuple[Record, ...]:
    """A run's history; a StoreError that says what is wrong with it, and only that."""
    try:
        return tuple(Record(**row) for row in read_table(folder, HISTORY).to_dicts())
    except TypeError as error:
        raise StoreError(f"{HISTORY} must have the columns epoch, split, measure and value: {reason(error)}") from error


def _read_words(path: Path) -> WordTokenizer:
    try:
        content = path.read_text(encoding="utf-8")
        words = WordTokenizer.from_json(content)
        ids = list(json.loads(content)["model"]["vocab"].values())
    except StoreError as error:
        raise StoreError(reason(error)) from error
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise StoreError(f"{path.name} cannot be read: {reason(error)}") from error
    if sorted(ids) != list(range(words.size)):
        raise StoreError(f"{path.name} must give each word an id of its own, from 0 on without a gap")
    return words


def _read_model(described: RunFile, words: WordTokenizer, path: Path) -> AttentionModel:
    """The model with its weights, which must be of the shapes that the settings ask for before any is built."""
    network = update_settings(described.run.network, {"embed_size": described.embed_size})
    classes, has_query = len(described.labels), described.has_query
    try:
        weights = load_file(path)
        with torch.device("meta"), _NothingDrawn():  # takes no memory, whatever the settings say
            wanted = build_model(network, words.words, classes, has_query=has_query).state_dict()
        _check_shapes(weights, wanted, path.name)
        model = build_model(network, words.words, classes, has_query=has_query)
        model.load_state_dict(weights)
    except StoreError:
        raise
    except (HeedfulError, *UNREADABLE) as error:
        raise StoreError(f"{path.name} cannot be read: {reason(error)}") from error
    return model.eval()


class _NothingDrawn(TorchFunctionMode):
    """No weight gets its first value: to draw one on "meta", torch would import its compiler, which takes seconds."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if func in (Tensor.normal_, Tensor.uniform_) or getattr(func, "__module__", "") == nn.init.__name__:
            return named.get("tensor", args[0] if args else None)
        return func(*args, **named)


def _check_shapes(weights: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor], name: str) -> None:
    if weights.keys() != wanted.keys():
        odd = sorted(weights.keys() ^ wanted.keys())
        raise StoreError(f"{name} must have the weights that the settings ask for; it differs in {', '.join(odd[:3])}")
    for place, weight in weights.items():
        shape, due = (list(each.shape) for each in (weight, wanted[place]))
        if shape != due or weight.dtype != wanted[place].dtype:
            kind, due_kind = (str(each.dtype).removeprefix("torch.") for each in (weight, wanted[place]))
            raise StoreError(f"{name}: {place} must be {due_kind} of shape {due}; it is {kind} of shape {shape}")


WHOLE = "1TB"
"""Weights are written as one file up to this size."""


def write_finetuned(finetuned: Finetuned, folder: Path) -> None:
    """Write the model's files into a folder, which transformers' `from_pretrained` then loads."""
    with quiet():
        finetuned.module.save_pretrained(folder, max_shard_size=WHOLE)
        finetuned.tokenizer.save_pretrained(folder)
    for path in folder.glob("*.safetensors"):
        # Anew: the library's own way makes a file that nobody else may read.
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
    described = describe_run(finetuned)
    (folder / RUN_FILE).write_text(described.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_history(finetuned.history, folder)
