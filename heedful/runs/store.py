"""Finished runs on disk: a folder exists if and only if it is complete, and nothing in it is ever executed.

runs/<key>/  run.json            settings, labels, scores, versions
             model.safetensors   weights
             tokenizer.json      words and their ids
             history.parquet     epoch, split, measure, value
             tokens.parquet      epoch, token, measure, value; where token scores were recorded
"""

import json
import platform
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import polars as pl
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from heedful import __version__
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import StoreError
from heedful.models.attention_model import build_model
from heedful.runs.folders import written_whole
from heedful.settings import Run, key_of
from heedful.settings.validation import update_settings
from heedful.training.trained import Record, Trained

# polars panics on some damaged files, and its panic is not an Exception.
PARQUET_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
UNREADABLE = (SafetensorError, RuntimeError, OSError, TypeError, *PARQUET_ERRORS)

Scores = dict[str, dict[str, float | None]]


class RunFile(BaseModel):
    """What run.json holds."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")

    run: Run
    labels: tuple[str, ...]
    has_query: bool
    embed_size: int
    chosen_epoch: int
    scores: Scores
    seconds: float
    notes: tuple[str, ...]
    coverage: float | None
    versions: dict[str, str]


class Store:
    """A folder of finished runs.

    Args:
        folder: made when the first run is saved.
    """

    def __init__(self, folder: str | Path = "runs"):
        self.folder = Path(folder)

    def __contains__(self, run: Run) -> bool:
        return (self.folder / key_of(run) / "run.json").is_file()

    def save(self, trained: Trained) -> str:
        """Store a finished run; the key it is found by. Saving what is there already changes nothing."""
        key = key_of(trained.run)
        with written_whole(self.folder / key) as part:
            described = _describe(trained).model_dump_json(indent=2)
            (part / "run.json").write_text(described + "\n", encoding="utf-8")
            (part / "tokenizer.json").write_text(trained.words.to_json(), encoding="utf-8")
            save_file({k: v.contiguous() for k, v in trained.model.state_dict().items()}, part / "model.safetensors")
            pl.DataFrame([asdict(record) for record in trained.history]).write_parquet(part / "history.parquet")
            if trained.tokens is not None:
                trained.tokens.write_parquet(part / "tokens.parquet")
        return key

    def find(self, prefix: str) -> str:
        """The key of the one run whose key begins so."""
        keys = [folder.name for folder in self.folders()]
        matches = [prefix] if prefix in keys else [key for key in keys if prefix and key.startswith(prefix)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise StoreError(f"no run '{prefix}' in {self.folder}/. Known: {_first_of(keys)}.")
        raise StoreError(
            f"{len(matches)} runs in {self.folder}/ begin with '{prefix}': {_first_of(matches)}. Give more."
        )

    def read(self, key: str) -> RunFile:
        """What run.json of that run says, checked."""
        path = self.folder / key / "run.json"
        if not path.is_file():
            known = _first_of([folder.name for folder in self.folders()])
            raise StoreError(f"no run '{key}' in {self.folder}/. Known: {known}.")
        try:
            described = RunFile.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except (ValidationError, ValueError) as error:
            raise StoreError(f"{path} is not a run of Heedful {__version__}: {_first_line(error)}") from error
        if described.run.network.vectors and not described.run.network.vectors_fingerprint:
            raise StoreError(f"{path} is of a version that did not record the content of its vectors. Train it again.")
        if key_of(described.run) != key:
            raise StoreError(f"{path} holds another run than its folder's name says (or one of another version).")
        return described

    def load(self, key: str) -> Trained:
        """A finished run, ready to be used."""
        described, folder = self.read(key), self.folder / key
        words = WordTokenizer.from_json(_text(folder / "tokenizer.json"))
        network = update_settings(described.run.network, {"embed_size": described.embed_size})
        model = build_model(network, words.size, len(described.labels), has_query=described.has_query)
        try:
            model.load_state_dict(load_file(folder / "model.safetensors"))
            history = tuple(Record(**row) for row in pl.read_parquet(folder / "history.parquet").to_dicts())
        except UNREADABLE as error:
            raise StoreError(f"{folder} cannot be read: {_first_line(error)}") from error
        tokens = self.tokens(key) if described.run.training.record_flow else None
        scores = {s: {m: float("nan") if v is None else v for m, v in d.items()} for s, d in described.scores.items()}
        return Trained(
            run=described.run,
            model=model.eval(),
            words=words,
            labels=described.labels,
            history=history,
            chosen_epoch=described.chosen_epoch,
            scores=scores,
            seconds=described.seconds,
            notes=described.notes,
            coverage=described.coverage,
            tokens=tokens,
        )

    def history(self, key: str) -> pl.DataFrame:
        """epoch, split, measure and value of that run's training."""
        try:
            return pl.read_parquet(self.folder / key / "history.parquet")
        except UNREADABLE as error:
            raise StoreError(f"{self.folder / key} has no history that can be read: {_first_line(error)}.") from error

    def tokens(self, key: str) -> pl.DataFrame:
        """What was recorded of tokens along the training of that run."""
        try:
            return pl.read_parquet(self.folder / key / "tokens.parquet")
        except UNREADABLE as error:
            raise StoreError(
                f"{self.folder / key} has no scores of tokens that can be read: {_first_line(error)}. "
                "Train with `--record-flow`."
            ) from error

    def folders(self) -> Iterator[Path]:
        """Every folder that claims to be a run."""
        if self.folder.is_dir():
            yield from sorted(p for p in self.folder.iterdir() if p.is_dir() and not p.name.startswith("."))

    def listing(self) -> tuple[dict[str, RunFile], list[str]]:
        """All runs by key; and, of the folders that are not one, why not."""
        runs: dict[str, RunFile] = {}
        problems: list[str] = []
        for folder in self.folders():
            try:
                runs[folder.name] = self.read(folder.name)
            except StoreError as error:
                problems.append(str(error))
        return runs, problems


def _describe(trained: Trained) -> RunFile:
    return RunFile(
        run=trained.run,
        labels=trained.labels,
        has_query=trained.model.query_encoder is not None,
        embed_size=trained.model.embedding.embedding_dim,
        chosen_epoch=trained.chosen_epoch,
        scores={s: dict(d) for s, d in trained.scores.items()},
        seconds=trained.seconds,
        notes=trained.notes,
        coverage=trained.coverage,
        versions={"heedful": __version__, "torch": torch.__version__, "python": platform.python_version()},
    )


def _first_of(keys: list[str]) -> str:
    """Some keys for a message, the first five."""
    return ", ".join(keys[:5]) or "none"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
