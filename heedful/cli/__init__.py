"""The commands. Heavy imports wait until a command runs, so that `heedful --help` is fast."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from typing import Annotated

import typer

from heedful import __version__
from heedful.cli import (
    audit_command,
    calibrate,
    data_commands,
    explain_command,
    improve,
    lists,
    report_commands,
    reproduce,
    serve,
    sweep_command,
    train,
)
from heedful.cli.output import with_output
from heedful.errors import HeedfulError
from heedful.formatting import printable

app = typer.Typer(
    name="heedful",
    help="Can you trust attention as an explanation? Train, audit and compare attention models for text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(audit_command.audit)
app.command("explain")(explain_command.explain)
app.command("serve")(serve.serve)
app.command("train")(train.train)
app.command("report")(report_commands.report)
app.command("compare")(report_commands.compare)
app.command("improve")(improve.improve)
app.command("sweep")(sweep_command.sweep)
app.command("reproduce")(reproduce.reproduce)
app.command("calibrate")(calibrate.calibrate)
app.command("list")(lists.list_names)
app.add_typer(data_commands.app, name="data")

for command in (*app.registered_commands, *data_commands.app.registered_commands):
    if command.callback is not None:
        command.callback = with_output(command.callback)

OUT_OF_MEMORY = ("allocate memory", "out of memory", "not enough memory")
"""Messages of torch's errors if memory ends; on a CPU they have no class."""


DECISIVE = ("torch", "transformers", "polars", "dask")
"""The packages that compute, load, store and distribute."""


def _print_versions(asked: bool) -> bool:
    if asked:
        typer.echo(f"heedful {__version__}\npython {platform.python_version()}")
        for name in DECISIVE:  # nothing is imported
            try:
                typer.echo(f"{name} {version(name)}")
            except PackageNotFoundError:
                typer.echo(f"{name} not installed")
        raise typer.Exit
    return asked


@app.callback()
def _root(
    versions_asked: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_versions,
            is_eager=True,
            help="Print the versions of Heedful and of what it builds on, and exit.",
        ),
    ] = False,
) -> None:
    pass


def run_command() -> None:
    """Run the command of this process; errors of the user or the machine become a sentence and an exit code."""
    # torch reads this once, when it loads: without it two idle threads spin and slow a busy machine a hundredfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an ASCII terminal shows what it can
    try:
        app()
    except (HeedfulError, OSError, MemoryError, RuntimeError) as error:
        problem = explain_failure(error)
        if problem is None:
            raise
        typer.secho(f"heedful: {printable(problem)}", fg="red", err=True)
        sys.exit(2 if isinstance(error, HeedfulError) else 1)


def explain_failure(error: Exception) -> str | None:
    """A sentence for an error that the user can act on; None for an error of Heedful."""
    if isinstance(error, HeedfulError):
        return str(error)
    if isinstance(error, MemoryError) or any(mark in str(error) for mark in OUT_OF_MEMORY):
        return "out of memory. Reduce batch_size, hidden_size, embed_size or the counts."
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}. Give a place that can be read and written, with room on its disk."
    return None
