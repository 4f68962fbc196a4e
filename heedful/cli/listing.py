"""`heedful list`: the names that can be chosen, and the finished runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.errors import pick

if TYPE_CHECKING:
    from heedful.runs.store import RunFile


def list_names(
    kind: Annotated[
        str, typer.Argument(help="tests, encoders, attentions, heads, methods, metrics, datasets, studies or runs.")
    ],
    runs: options.Runs = "runs",
) -> None:
    """List what can be chosen, one a line with what it is; or the finished runs."""
    kinds: dict[str, Callable[[], dict[str, str]]] = {
        "tests": _tests,
        "encoders": _encoders,
        "attentions": _attentions,
        "heads": _heads,
        "methods": _methods,
        "metrics": _metrics,
        "datasets": _datasets,
        "studies": _studies,
        "runs": lambda: _runs(runs),
    }
    rows = pick("kind", kind, kinds)()
    width = max((len(name) for name in rows), default=0)
    for name, what in rows.items():
        typer.echo(f"{name:{width}}  {what}".rstrip())


def _first_lines(things: dict[str, object]) -> dict[str, str]:
    return {name: (getattr(thing, "__doc__", None) or "").strip().split("\n")[0] for name, thing in things.items()}


def _tests() -> dict[str, str]:
    from heedful.battery import BATTERY

    when = {"default": "", "deep": " [with --deep, or named]", "named": " [only where named in --tests]"}
    lines = _first_lines({name: test.function for name, test in BATTERY.items()})
    return {name: line + when[BATTERY[name].cost] for name, line in lines.items()}


def _encoders() -> dict[str, str]:
    from heedful.models.encoders import ENCODERS

    return _first_lines(dict(ENCODERS))


def _attentions() -> dict[str, str]:
    from heedful.models.attention import ATTENTIONS

    return _first_lines(dict(ATTENTIONS))


def _heads() -> dict[str, str]:
    from heedful.models.heads import HEADS

    return _first_lines(dict(HEADS))


def _methods() -> dict[str, str]:
    from heedful.training.methods import METHODS

    return _first_lines({name: method.loss for name, method in METHODS.items()})


def _metrics() -> dict[str, str]:
    from heedful.training.metrics import METRICS

    return _first_lines(dict(METRICS))


def _datasets() -> dict[str, str]:
    from heedful.data import DATASETS, named_sets

    return {name: built_in.description for name, built_in in DATASETS.items()} | named_sets()


def _studies() -> dict[str, str]:
    from heedful.studies import STUDIES

    return {name: study.paper for name, study in STUDIES.items()}


def _runs(folder: str) -> dict[str, str]:
    from heedful.runs.store import Store

    finished, problems = Store(folder).listing()
    for problem in problems:
        typer.secho(f"skipped: {problem}", fg="yellow", err=True)
    return {key: _describe_run(described) for key, described in finished.items()}


def _describe_run(described: "RunFile") -> str:
    run, test = described.run, described.scores["test"]
    scores = "  ".join(f"{name} {value:.3f}" for name, value in test.items() if value is not None)
    parts = (run.data.source, run.network.encoder, run.network.attention, run.training.method, f"seed {run.seed}")
    return f"{'  '.join(parts)}  {scores}"
