"""`heedful list`: the names that can be chosen, and the finished runs."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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


def list_names(kind: Kind, runs: command_options.Runs = "runs", audits: command_options.Audits = "audits") -> None:
    """List the names that can be chosen, each with a description; or the finished runs with their answers."""
    out = output()
    if kind == "runs":
        _list_runs(out, runs, audits)
        return
    rows = names_of(kind)
    width = max(map(len, rows), default=0)
    for name, what in rows.items():
        _print_line(out, f"{name:{width}}  {what}".rstrip(), width + 2)
    out.end({kind: rows}, result="\n".join(rows))


def names_of(kind: str) -> dict[str, str]:
    """The names of a kind of thing that can be chosen, each with what it is."""
    return {name: _first_line(what) for name, what in lookup("kind", kind, KINDS)().items()}


def _first_line(what: object) -> str:
    """A sentence as it is; of anything else, the first line of its documentation."""
    return what if isinstance(what, str) else (what.__doc__ or "").strip().split("\n")[0]


def _table(module: str, name: str) -> Any:
    return getattr(import_module(f"heedful.{module}"), name)


def _tests() -> Mapping[str, object]:
    when = {"default": "", "deep": " [with --deep, or named]", "named": " [only where named in --tests]"}
    answer = {_table("auditing.rows", "OUTCOME"): "Whether attention's top words decide each prediction: the answer."}
    tests = _table("battery", "BATTERY").items()
    return answer | {name: _first_line(test.function) + when[test.cost] for name, test in tests}


def _rankings() -> Mapping[str, object]:
    methods = import_module("heedful.attribution.methods")
    return {name: _first_line(getattr(methods, name)).rstrip(".") for name in methods.ATTRIBUTIONS}


def _encoders() -> Mapping[str, object]:
    encoders = import_module("heedful.models.encoders")
    return {**encoders.ENCODERS, "hf:MODEL": encoders.PretrainedStates}


def _datasets() -> Mapping[str, object]:
    built_in = {name: each.description for name, each in _table("data", "DATASETS").items()}
    return built_in | _table("data", "named_sets")()


KINDS: dict[str, Callable[[], Mapping[str, object]]] = {
    "tests": _tests,
    "rankings": _rankings,
    "encoders": _encoders,
    "attentions": lambda: _table("models.attention", "ATTENTIONS"),
    "heads": lambda: _table("models.attention_model", "HEADS"),
    "methods": lambda: {name: method.loss for name, method in _table("training.methods", "METHODS").items()},
    "metrics": lambda: METRICS,
    "datasets": _datasets,
    "studies": lambda: {name: study.paper for name, study in _table("papers", "STUDIES").items()},
    "runs": dict,
}
"""Things that can be chosen, by name: what each is, or what its documentation is of."""


def _print_line(out: "Output", line: str, indent: int) -> None:
    """A line; on a terminal that is too narrow for it several, the others indented."""
    from textwrap import wrap

    lines = [line]
    if out.console.is_terminal:
        width = max(out.console.width, indent + 20)
        lines = wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)
    out.say(*lines)


def _list_runs(out: "Output", folder: str, audits: str) -> None:
    from heedful.store.run_listing import described_differences, described_setting, list_runs
    from heedful.store.store import Store, answers_by_run

    answers = answers_by_run(Path(audits))
    listing = list_runs(Store(folder))
    for problem in listing.problems:
        typer.secho(f"skipped: {printable(problem)}", fg="yellow", err=True)
    if not listing.runs:
        out.note(f"there are no finished runs in {folder}/; `heedful train` makes one, --runs names another folder.")
    if listing.common:
        shared = "  ".join(described_setting(place, value) for place, value in listing.common.items())
        out.say(f"{'all' if len(listing.runs) > 1 else 'run'}: {shared}")
    rows = [("run", "date", "accuracy", "answer", "settings")] if listing.runs else []
    for run, what in zip(listing.runs, described_differences(listing), strict=True):
        accuracy = "" if run.accuracy is None else f"{run.accuracy:.3f}"
        answer = answers.get(run.key, "not audited").partition(":")[0]
        rows.append((run.key[:SHORT_KEY], f"{run.date:%Y-%m-%d}", accuracy, answer, what))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        line = "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        _print_line(out, line.rstrip(), sum(widths) + 2 * len(widths))
    runs = [
        {
            "key": run.key,
            "date": f"{run.date:%Y-%m-%dT%H:%M:%S}",
            "accuracy": run.accuracy,
            "answer": answers.get(run.key),
            "settings": run.settings,
        }
        for run in listing.runs
    ]
    document = {"runs": runs, "common": listing.common, "skipped": list(listing.problems)}
    out.end(document, result="\n".join(run.key for run in listing.runs))
