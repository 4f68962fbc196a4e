"""What a command prints, and where: for people, for scripts (`--json`), or the result alone (`--quiet`).

Every command takes both options (`with_output`), prints through `output()`, and ends by `Output.end`. Control
characters of texts, labels and names are shown, never sent to the terminal.
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.formatting import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; all else goes to stderr.", rich_help_panel="Output")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print the result alone: no notes, no progress.", rich_help_panel="Output"),
]


@dataclass(frozen=True)
class Output:
    """Where the running command prints.

    Args:
        as_json: one document on stdout, all else on stderr.
        is_quiet: the result alone.
    """

    as_json: bool = False
    is_quiet: bool = False

    @cached_property
    def console(self) -> "Console":
        """For people: stdout; stderr beside a JSON document; nowhere where it is to be quiet."""
        return _console(to_stderr=self.as_json, is_silent=self.is_quiet)

    @cached_property
    def progress(self) -> "Console":
        """For how far work is: stderr, so that stdout can be piped."""
        return _console(to_stderr=True, is_silent=self.is_quiet)

    def note(self, text: str) -> None:
        """Something worth knowing beside the result."""
        self.console.print(f"note: {text}", markup=False, soft_wrap=True)

    def end(self, document: Mapping[str, Any], result: str = "") -> None:
        """The last act of a command.

        Args:
            document: what `--json` prints; numbers that are none become null.
            result: what `--quiet` prints.
        """
        if self.as_json:
            typer.echo(json.dumps(without_nan(document), indent=2, allow_nan=False, default=str))
        elif self.is_quiet and result:
            typer.echo(printable(result))


_running: ContextVar[Output | None] = ContextVar("output", default=None)


def output() -> Output:
    """The output of the running command."""
    return _running.get() or Output()


def with_output(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with `--json` and `--quiet`."""

    @wraps(command)
    def run(*, as_json: bool = False, is_quiet: bool = False, **arguments: Any) -> None:
        token = _running.set(Output(as_json, is_quiet))
        try:
            command(**arguments)
            sys.stdout.flush()
        except BrokenPipeError:  # `| head` has seen enough
            _close_stdout()
            raise typer.Exit from None
        except OSError:  # a full device: what is left unsaid must not fail a second time when Python ends
            _close_stdout()
            raise
        finally:
            _running.reset(token)

    added = {"as_json": Json, "is_quiet": Quiet}
    own = inspect.signature(command)
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in added.items()
    ]
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), *extra])  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {**command.__annotations__, **added}
    return run


def _close_stdout() -> None:
    """Send what is still to be printed nowhere."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _console(*, to_stderr: bool, is_silent: bool) -> "Console":
    from rich.console import Console
    from rich.segment import Segment

    class PrintableConsole(Console):
        """A console that shows the control characters of what it is given."""

        def render(self, renderable: "RenderableType", options: "ConsoleOptions | None" = None) -> "Iterable[Segment]":
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PrintableConsole(highlight=False, stderr=to_stderr, quiet=is_silent)


def without_nan(value: Any) -> Any:
    """The same, with null for numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {str(name): without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and value - value != 0 else value
