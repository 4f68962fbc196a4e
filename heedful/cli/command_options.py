"""The options that commands share, and the Run they describe."""

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from heedful.errors import SettingError
from heedful.settings import Run
from heedful.settings.validation import nest_settings, validate_settings

# What the shell offers to complete: names that can be chosen, and keys of finished runs.
#
# Called at every press of the tabulator: what goes wrong offers nothing, and says nothing.

Offer = list[tuple[str, str]]
"""Names, each with what it is."""


def names(kind: str) -> Callable[[str], Offer]:
    """Offers what `heedful list KIND` lists; after a comma, the next name."""

    def offer(incomplete: str) -> Offer:
        from heedful.cli.lists import names_of

        before, comma, last = incomplete.rpartition(",")
        return [(f"{before}{comma}{name}", what) for name, what in _beginning(last, lambda: names_of(kind).items())]

    return offer


def runs(ctx: typer.Context, incomplete: str) -> Offer:
    """Offers the keys of the finished runs in the folder that `--runs` names."""
    return _beginning(incomplete, lambda: _keys(Path(ctx.params.get("runs") or "runs")))


def _keys(folder: Path) -> Iterable[tuple[str, str]]:
    return ((place.parent.name, "") for place in sorted(folder.glob("*/run.json")))


def _beginning(incomplete: str, offered: Callable[[], Iterable[tuple[str, str]]]) -> Offer:
    with suppress(Exception):
        return [(name, what) for name, what in offered() if name.startswith(incomplete)]
    return []


Source = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="mock-1 ... mock-4q, planted, a named set, a file or folder, or hub:NAME.",
        autocompletion=names("datasets"),
    ),
]
Text = Annotated[str | None, typer.Option(help="Column of the text.")]
Label = Annotated[str | None, typer.Option(help="Column of the label.")]
Query = Annotated[str | None, typer.Option(help="Column of the hypothesis or question.")]
Rationale = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of what people marked: spans, numbers of words, marked text; or several, separated by commas.",
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        help="See `heedful list encoders`; hf:MODEL is a Hugging Face model's folder or name. Default: bilstm.",
        autocompletion=names("encoders"),
    ),
]
Attention = Annotated[
    str | None,
    typer.Option(help="additive, dot, uniform or frozen. Default: additive.", autocompletion=names("attentions")),
]
Method = Annotated[
    str | None,
    typer.Option(help="How to train; see `heedful list methods`. Default: vanilla.", autocompletion=names("methods")),
]
Vectors = Annotated[str | None, typer.Option(help="Pretrained word vectors: a file, or a name under HEEDFUL_DATA.")]
Seed = Annotated[int, typer.Option(help="Random seed of initial weights, batches and dropout.")]
Epochs = Annotated[int | None, typer.Option(help="Passes over the training texts. Default: 8.")]
RecordFlow = Annotated[
    str | None,
    typer.Option(
        "--record-flow", metavar="EPOCHS", help="Record scores and flow of every token after these epochs: 0,1,5."
    ),
]
Finetune = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER_OR_NAME",
        help="Fine-tune this Hugging Face encoder, for 3 epochs by default; its settings: --set finetune.NAME=VALUE.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(help="Key of the finished run that the method or frozen attention refers to.", autocompletion=runs),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PART.NAME=VALUE", help="Any other setting, e.g. text.min_count=5 (may be repeated)."
    ),
]
Site = Annotated[
    str | None,
    typer.Option(
        help="Of a Hugging Face model, the attention to audit: last, layer:3, head:3.7, rollout, value-norm or all "
        "(layers and heads from 0). Default: last."
    ),
]
Scope = Annotated[
    str | None,
    typer.Option(
        help="Where other attention is imposed on it: row (that the classifier reads), row-all-layers or all-rows. "
        "Default: row."
    ),
]
Runs = Annotated[str, typer.Option(help="Folder of finished runs.")]
Audits = Annotated[str, typer.Option(help="Folder of finished audits.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 ...")]
Threads = Annotated[int, typer.Option(min=1, max=1024, help="Threads of torch. One is fastest for small models.")]
Scheduler = Annotated[
    str | None, typer.Option(help="A running Dask cluster, tcp://HOST:PORT. Without it: one worker a core, here.")
]
Workers = Annotated[int | None, typer.Option(min=1, max=1024, help="Processes to start here. Default: one a core.")]

DEVICES = ("cpu", "cuda", "mps", "xpu")


PLACES = {
    "data": "data.source",
    "text": "data.text",
    "label": "data.label",
    "query": "data.query",
    "rationale": "data.rationale",
    "encoder": "network.encoder",
    "attention": "network.attention",
    "vectors": "network.vectors",
    "method": "training.method",
    "epochs": "training.epochs",
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


def split_settings(settings: list[str] | None, part: str) -> tuple[list[str], dict[str, Any]]:
    """The settings of a run, and apart from them those of one other part ("audit")."""
    own = [setting for setting in settings or [] if setting.startswith(f"{part}.")]
    return [s for s in settings or [] if s not in own], {p.removeprefix(f"{part}."): v for p, v in map(_parse, own)}


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
