"""The options that commands share, and the Run they describe."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from heedful.errors import SettingError
from heedful.settings import Run
from heedful.settings.validation import nest_settings, validate_settings

if TYPE_CHECKING:
    from heedful.store.store import Store

Offer = list[tuple[str, str]]
"""Completions for the shell: names with descriptions."""


def names(kind: str) -> Callable[[str], Offer]:
    """Offers what `heedful list KIND` lists; after a comma, the next name."""

    def offer(incomplete: str) -> Offer:
        from heedful.cli.lists import names_of

        before, comma, last = incomplete.rpartition(",")
        return [(f"{before}{comma}{name}", what) for name, what in _beginning(last, lambda: names_of(kind).items())]

    return offer


def runs(ctx: typer.Context, incomplete: str) -> Offer:
    """Offers the keys of the finished runs in the folder that `--runs` names."""
    folder = Path(ctx.params.get("runs") or "runs")
    return _beginning(incomplete, lambda: ((place.parent.name, "") for place in sorted(folder.glob("*/run.json"))))


def _beginning(incomplete: str, offered: Callable[[], Iterable[tuple[str, str]]]) -> Offer:
    """Names with this prefix; none if anything fails, because this runs at every press of the Tab key."""
    with suppress(Exception):
        return [(name, what) for name, what in offered() if name.startswith(incomplete)]
    return []


Vectors = Annotated[
    str | None,
    typer.Option(
        help="Pretrained word vectors: glove-50, glove-100 or glove-300 (downloaded once), a file, or a name under "
        "HEEDFUL_DATA."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PART.NAME=VALUE", help="Any other setting, e.g. text.min_count=5 (may be repeated)."
    ),
]
Runs = Annotated[str, typer.Option(help="Folder of finished runs.")]
Audits = Annotated[str, typer.Option(help="Folder of finished audits.")]
Device = Annotated[str, typer.Option(help="Device of torch: cpu, cuda, cuda:1 ...")]
Threads = Annotated[int, typer.Option(min=1, max=1024, help="Threads of torch. One is fastest for small models.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a running Dask cluster, tcp://HOST:PORT. Default: one worker per core, here."),
]


def option(text: str, *names: str, default: Any = None, **details: Any) -> Any:
    """A field of a command's options.

    Args:
        text: help text.
        names: spelling on the command line; none: the name of the field.
        details: further arguments of `typer.Option`.
    """
    return field(default=default, metadata={"option": typer.Option(*names, help=text, **details)})


def flag(text: str, name: str) -> Any:
    """An option that is on if it is given."""
    return option(text, name, default=False)


def argument(text: str, metavar: str, *, default: Any = MISSING, **details: Any) -> Any:
    """A field that is an argument, which must be given unless it has a default."""
    return field(default=default, metadata={"option": typer.Argument(metavar=metavar, help=text, **details)})


Panels = Mapping[str, tuple[str, ...]]
"""Groups of options in `--help`, in order: the heading, and the fields of the options in it."""


def parameters_of(kind: type) -> list[inspect.Parameter]:
    """The options of a command, one per field, as parameters that typer reads; in groups if the class has `panels`."""
    panels: Panels = getattr(kind, "panels", {})
    headings = {name: heading for heading, group in panels.items() for name in group}
    places = {name: place for place, name in enumerate(headings)}
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=_annotated(each, headings.get(each.name)),
        )
        for each in sorted(fields(kind), key=lambda each: places.get(each.name, -1))
    ]


def _annotated(own: Field[Any], heading: str | None) -> Any:
    """The type of an option as typer reads it, under a heading of its group."""
    kind, details = (own.type, own.metadata["option"]) if own.metadata else get_args(own.type)
    if heading is not None:
        details = copy(details)
        details.rich_help_panel = heading
    return Annotated[kind, details]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Which columns of the data."""

    text: str | None = option("Column of the text.")
    label: str | None = option("Column of the label.")
    query: str | None = option("Column of the hypothesis or question.")
    rationale: str | None = option(
        "Column of human rationales: spans, word indices or marked text. Separate several columns by commas.",
        metavar="COLUMN",
    )


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ColumnOptions):
    """Which data, and which of its columns."""

    data: str = argument(
        "mock-1 ... mock-4q, planted, a named set, a file or folder, or hub:NAME.",
        "DATA",
        autocompletion=names("datasets"),
    )


@dataclass(frozen=True, kw_only=True)
class SiteOptions:
    """Which attention of a Hugging Face model."""

    site: str | None = option(
        "Attention of a Hugging Face model to audit: last, layer:3, head:3.7, rollout, value-norm or all "
        "(layers and heads from 0). Default: last."
    )
    scope: str | None = option(
        "Rows of its attention that are replaced: row (the one that the classifier reads), row-all-layers or all-rows. "
        "Default: row."
    )


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Which model, and how it is trained."""

    encoder: str | None = option(
        "Encoder: one of `heedful list encoders`, or hf:MODEL, a Hugging Face model's folder or name. Default: bilstm.",
        autocompletion=names("encoders"),
    )
    attention: str | None = option(
        "Attention mechanism: additive, dot, uniform or frozen. Default: additive.", autocompletion=names("attentions")
    )
    method: str | None = option(
        "Training method; see `heedful list methods`. Default: vanilla.", autocompletion=names("methods")
    )
    vectors: Vectors = None
    seed: int = option("Random seed of initial weights, batches and dropout.", default=0)
    epochs: int | None = option("Passes over the training texts. Default: 8.")
    reference: str | None = option(
        "Key of the finished run that the method or frozen attention refers to.", autocompletion=runs
    )
    settings: Set = None


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Who shares the work."""

    scheduler: Scheduler = None
    workers: int | None = option("Number of processes to start here. Default: one per core.", min=1, max=1024)


@dataclass(frozen=True, kw_only=True)
class FolderOptions:
    """Where finished work is, and what computes."""

    runs: Runs = "runs"
    audits: Audits = "audits"
    device: Device = "cpu"


DEVICES = ("cpu", "cuda", "mps", "xpu")


PLACES = {
    **{name: f"data.{name}" for name in ("text", "label", "query", "rationale")},
    **{name: f"network.{name}" for name in ("encoder", "attention", "vectors")},
    **{name: f"training.{name}" for name in ("method", "epochs")},
    "data": "data.source",
    "seed": "seed",
    "reference": "reference",
}
"""Where in a Run each option of a command goes."""
FINETUNING = {**PLACES, "epochs": "finetune.epochs", "finetune": "finetune.model"}
"""The same where a model is fine-tuned."""


def command_line() -> str:
    """The command as it was typed, for reports to show."""
    return shlex.join(["heedful", *sys.argv[1:]])


def make_run(arguments: Mapping[str, Any], settings: list[str] | None) -> Run:
    """The run that a command's options describe, and its `--set`; what is None or not in PLACES leaves the default.

    >>> make_run({"encoder": "cnn", "seed": 3, "threads": 2}, ["text.min_count=5"]).text.min_count
    5
    """
    places = PLACES if arguments.get("finetune") is None else FINETUNING
    chosen = {place: arguments.get(name) for name, place in places.items()}
    flat = {**chosen, **dict(map(_parse, settings or []))}
    return validate_settings(Run, nest_settings({place: value for place, value in flat.items() if value is not None}))


def split_audit(settings: list[str] | None) -> tuple[list[str], dict[str, Any]]:
    """The settings of a run, and those of the audit, whose `outcome` and `verdict` need no "audit." first.

    >>> split_audit(["audit.shown=3", "seed=1", "outcome.most=4"])
    (['seed=1'], {'shown': 3, 'outcome.most': 4})
    """
    own = [setting for setting in settings or [] if setting.startswith(("audit.", "outcome.", "verdict."))]
    of_run = [setting for setting in settings or [] if setting not in own]
    return of_run, {place.removeprefix("audit."): value for place, value in map(_parse, own)}


def _parse(setting: str) -> tuple[str, Any]:
    place, equals, value = setting.partition("=")
    if not equals or not place:
        raise SettingError(f"--set takes PART.NAME=VALUE, for example network.hidden_size=64; it was '{setting}'.")
    try:
        return place, json.loads(value)
    except json.JSONDecodeError:
        return place, value
    except (RecursionError, ValueError) as error:
        raise SettingError(
            f"--set {place} must be a value that can be read; '{value:.40}...' is not: {error}"
        ) from None


def open_store(options: Any, *places: str) -> "Store":
    """The store of a command, after a check that these of its folders can be written: "runs", "out"."""
    from heedful.store.folders import check_writable
    from heedful.store.store import Store

    for place in places:
        check_writable(getattr(options, place), f"--{place}")
    return Store(options.runs, getattr(options, "audits", "audits"))


def use_threads(count: int, device: str) -> None:
    """Set torch's threads, and check that the device is there."""
    import torch

    torch.set_num_threads(count)
    try:
        kind = torch.empty(0, device=device).device.type
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise SettingError(f"--device must be one that torch can use here; '{device}' is not: {reason}") from None
    if kind not in DEVICES:
        raise SettingError(f"--device must be one of {', '.join(DEVICES)}; it was '{device}'.")
