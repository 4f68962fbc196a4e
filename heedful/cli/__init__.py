"""The commands. Heavy imports wait until a command runs, so that `heedful --help` answers at once."""

import os
import sys
from typing import Annotated

import typer

from heedful import __version__
from heedful.cli import audit, calibrate, data, explain, listing, report, reproduce, sweep, train
from heedful.errors import HeedfulError

app = typer.Typer(
    name="heedful",
    help="Should you heed the attention? Train, audit and compare attention models for text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(audit.audit)
app.command("explain")(explain.explain)
app.command("train")(train.train)
app.command("report")(report.report)
app.command("compare")(report.compare)
app.command("sweep")(sweep.sweep)
app.command("reproduce")(reproduce.reproduce)
app.command("calibrate")(calibrate.calibrate)
app.command("list")(listing.list_names)
app.add_typer(data.app, name="data")


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(__version__)
        raise typer.Exit
    return asked


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command: exit code 0 done, 2 the user's input, 1 ours, 130 stopped by Ctrl-C."""
    # torch reads this once, when it loads: without it two idle threads spin and slow a busy machine a hundredfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except HeedfulError as error:
        typer.secho(f"heedful: {error}", fg="red", err=True)
        sys.exit(2)
    except SystemExit as leaving:
        if leaving.code == 130:
            typer.secho("heedful: stopped. What was finished is kept; what was under way is not.", err=True)
        raise
