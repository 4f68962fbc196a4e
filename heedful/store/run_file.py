"""run.json: the settings of a finished run, its labels and its scores; written, read and checked."""

import json
import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from heedful import __version__
from heedful.errors import SettingError, StoreError
from heedful.settings import Count, FinetuneSettings, Run, key_of
from heedful.settings.validation import flatten_settings
from heedful.store.folders import find_damage, reason

if TYPE_CHECKING:
    from heedful.training.trained import Finetuned, Trained

RUN_FILE = "run.json"
WEIGHTS, WORDS, HISTORY, TOKENS = "model.safetensors", "tokenizer.json", "history.parquet", "tokens.parquet"
HUGGING_FACE = ("config.json", "tokenizer_config.json")
"""What the folder of a fine-tuned model has besides, and by which transformers reads it as one of its own."""

Scores = dict[str, dict[str, float | None]]


class RunFile(BaseModel):
    """What run.json holds."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")

    run: Run
    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    has_query: bool
    embed_size: Count
    chosen_epoch: Annotated[int, Field(ge=0)]
    scores: Scores
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    notes: tuple[str, ...]
    coverage: Annotated[float, Field(ge=0, le=1)] | None
    versions: dict[str, str]

    @field_validator("labels")
    @classmethod
    def _are_distinct(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(labels)) < len(labels):
            raise ValueError("must name each label once")
        return labels

    @field_validator("scores")
    @classmethod
    def _are_of_test(cls, scores: Scores) -> Scores:
        if not scores.get("test"):
            raise ValueError("must have scores of the test texts ('test')")
        return scores


def describe_run(trained: "Trained | Finetuned") -> RunFile:
    """What run.json of a finished run holds."""
    return RunFile(
        run=trained.run,
        labels=trained.labels,
        has_query=trained.has_query,
        embed_size=trained.embed_size,
        chosen_epoch=trained.chosen_epoch,
        scores={s: dict(d) for s, d in trained.scores.items()},
        seconds=trained.seconds,
        notes=trained.notes,
        coverage=trained.coverage,
        versions=versions("transformers") if trained.run.finetune else versions(),
    )


def versions(*packages: str) -> dict[str, str]:
    """What a run is made with: Heedful, torch, Python and these packages."""
    own = {"heedful": __version__, "torch": version("torch"), "python": platform.python_version()}
    return own | {package: version(package) for package in packages}


def names_of_files(run: Run) -> tuple[str, ...]:
    """The files that the folder of a finished run must have."""
    if run.finetune is not None:
        return (RUN_FILE, WEIGHTS, WORDS, HISTORY, *HUGGING_FACE)
    return (RUN_FILE, WEIGHTS, WORDS, HISTORY, *((TOKENS,) if run.training.record_flow else ()))


def read_run_file(folder: Path, *, is_named: bool = True) -> RunFile:
    """What run.json in the folder of a run says; a StoreError that says what is wrong with it, and only that.

    Args:
        is_named: whether the folder must be called as the run is; a copy may be called anything.
    """
    if damage := find_damage(folder, [RUN_FILE]):
        raise StoreError(damage)
    try:
        described = RunFile.model_validate(json.loads((folder / RUN_FILE).read_text(encoding="utf-8")))
        key = key_of(described.run)
    except ValidationError as error:
        raise StoreError(f"{RUN_FILE} is not of Heedful {__version__}: {_first_of(error)}") from error
    except SettingError:
        raise StoreError(
            f"{RUN_FILE} is of a version that did not record the content of its data and vectors"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{RUN_FILE} cannot be read as JSON: {reason(error)}") from error
    if is_named and key != folder.name:
        raise StoreError(f"{RUN_FILE} holds another run than the folder's name says, or is of another version")
    return described


def read_table(folder: Path, name: str) -> pl.DataFrame:
    """A table of a run; a StoreError that says what is wrong with it, and only that."""
    if damage := find_damage(folder, [name]):
        raise StoreError(damage)
    try:
        return pl.read_parquet(folder / name, hive_partitioning=False, glob=False)
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise StoreError(f"{name} cannot be read as Parquet: {reason(error)}") from error


def read_scores(described: RunFile) -> dict[str, dict[str, float]]:
    """The scores that run.json holds: what was undefined is NaN again."""
    return {s: {m: float("nan") if v is None else v for m, v in d.items()} for s, d in described.scores.items()}


def train_command(run: Run, folder: str | Path = "runs") -> str:
    """The command that makes a run.

    >>> train_command(Run(seed=3), "runs")
    'heedful train mock-1 --set seed=3 --runs runs'
    """
    parts = ["heedful", "train", run.data.source]
    default = Run()
    if run.finetune is not None:
        parts += ["--finetune", run.finetune.model]
        default = Run(finetune=FinetuneSettings(model=run.finetune.model))
    usual = flatten_settings(default.model_dump(mode="json"))
    for place, value in flatten_settings(run.model_dump(mode="json")).items():
        if value != usual.get(place) and place != "data.source" and not place.endswith("fingerprint"):
            parts += ["--set", f"{place}={_typed(value)}"]
    return shlex.join([*parts, "--runs", str(folder)])


def _typed(value: Any) -> str:
    """The value as `--set` takes it: a string as it is, unless it would be read as a number."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value)


def _first_of(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "the whole"
    message = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
    return f"{place} {message}; it is {first['input']!r:.60}"
