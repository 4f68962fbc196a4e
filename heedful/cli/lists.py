"""`heedful list`: the names that can be chosen, and the finished runs."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import command_options
from heedful.cli.output import output
from heedful.errors import lookup
from heedful.formatting import printable

if TYPE_CHECKING:
    from heedful.cli.output import Output

METRICS = {
    "accuracy": "Share of texts predicted right.",
    "f1": "Harmonic mean of precision and recall: of class 1 for two classes, of each class on average for more.",
    "macro_f1": "The same, of each class on average.",
    "roc_auc": "Area under the ROC curve: of class 1 for two classes, of each class against the rest for more.",
}
"""What there is to choose an epoch by."""
SHORT_KEY = 8
"""Characters of a key that are shown: enough to name the run by."""

Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="tests, rankings, encoders, attentions, heads, methods, metrics, datasets, studies or runs.",
    ),
]


def list_names(kind: Kind, runs: command_options.Runs = "runs") -> None:
    """List what can be chosen, one per line with what it is; or the finished runs."""
    out = output()
    if kind == "runs":
        _list_runs(out, runs)
        return
    rows = names_of(kind)
    width = max(map(len, rows), default=0)
    for name, what in rows.items():
        _print_line(out, f"{name:{width}}  {what}".rstrip(), width + 2)
    out.end({kind: rows}, result="\n".join(rows))


def names_of(kind: str) -> dict[str, str]:
    """The names of a kind of thing that can be chosen, each with what it is."""
    kinds = {
        "tests": _tests,
        "rankings": _rankings,
        "encoders": _encoders,
        "attentions": lambda: _documented("heedful.models.attention", "ATTENTIONS"),
        "heads": lambda: _documented("heedful.models.attention_model", "HEADS"),
        "methods": _methods,
        "metrics": lambda: METRICS,
        "datasets": _datasets,
        "studies": _studies,
        "runs": dict,
    }
    return lookup("kind", kind, kinds)()


def _documented(module: str, table: str) -> dict[str, str]:
    """The names of a table of functions or classes, each with the first line of its documentation."""
    return _first_lines(getattr(import_module(module), table))


def _print_line(out: "Output", line: str, indent: int) -> None:
    """A line; on a terminal that is too narrow for it several, the others indented."""
    from textwrap import wrap

    lines = [line]
    if out.console.is_terminal:
        width = max(out.console.width, indent + 20)
        lines = wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)
    out.say(*lines)


def _first_lines(things: Mapping[str, object]) -> dict[str, str]:
    return {name: (getattr(thing, "__doc__", None) or "").strip().split("\n")[0] for name, thing in things.items()}


def _tests() -> dict[str, str]:
    from heedful.auditing.rows import OUTCOME
    from heedful.battery import BATTERY

    when = {"default": "", "deep": " [with --deep, or named]", "named": " [only where named in --tests]"}
    lines = _first_lines({name: test.function for name, test in BATTERY.items()})
    answer = {OUTCOME: "Whether attention's top words decide each prediction: the answer."}
    return answer | {name: line + when[BATTERY[name].cost] for name, line in lines.items()}


def _rankings() -> dict[str, str]:
    from heedful.attribution import methods

    return {
        name: line.rstrip(".")
        for name, line in _first_lines({own: getattr(methods, own) for own in methods.ATTRIBUTIONS}).items()
    }


def _encoders() -> dict[str, str]:
    from heedful.models.encoders import ENCODERS
    from heedful.models.hugging_face.word_embedding import PretrainedStates

    return _first_lines({**ENCODERS, "hf:MODEL": PretrainedStates})


def _methods() -> dict[str, str]:
    from heedful.training.methods import METHODS

    return _first_lines({name: method.loss for name, method in METHODS.items()})


def _datasets() -> dict[str, str]:
    from heedful.data import DATASETS, named_sets

    return {name: built_in.description for name, built_in in DATASETS.items()} | named_sets()


def _studies() -> dict[str, str]:
    from heedful.papers import STUDIES

    return {name: study.paper for name, study in STUDIES.items()}


def _list_runs(out: "Output", folder: str) -> None:
    from heedful.store.run_listing import described_differences, described_setting, list_runs
    from heedful.store.store import Store

    listing = list_runs(Store(folder))
    for problem in listing.problems:
        typer.secho(f"skipped: {printable(problem)}", fg="yellow", err=True)
    if not listing.runs:
        out.note(f"there are no finished runs in {folder}/; `heedful train` makes one, --runs names another folder.")
    if listing.common:
        shared = "  ".join(described_setting(place, value) for place, value in listing.common.items())
        out.say(f"{'all' if len(listing.runs) > 1 else 'run'}: {shared}")
    for run, what in zip(listing.runs, described_differences(listing), strict=True):
        accuracy = "" if run.accuracy is None else f"{run.accuracy:.3f}"
        line = f"{run.key[:SHORT_KEY]}  {run.date:%Y-%m-%d %H:%M}  {accuracy:5}  {what}"
        _print_line(out, line.rstrip(), SHORT_KEY + 27)
    runs = [
        {"key": run.key, "date": f"{run.date:%Y-%m-%dT%H:%M:%S}", "accuracy": run.accuracy, "settings": run.settings}
        for run in listing.runs
    ]
    document = {"runs": runs, "common": listing.common, "skipped": list(listing.problems)}
    out.end(document, result="\n".join(run.key for run in listing.runs))
