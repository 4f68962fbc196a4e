"""What a command prints, and where: for people, for scripts (`--json`), or the result alone (`--quiet`).

Every command takes both options (`with_output`), prints through `output()`, and ends by `Output.end`. Control
characters of texts, labels and names are shown, never sent to the terminal.
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import typer
from pydantic_core import to_jsonable_python

from heedful.cli.command_options import option, parameters_of
from heedful.formatting import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text


@dataclass(frozen=True)
class Output:
    """Where the running command prints.

    Args:
        as_json: one document on stdout, all else on stderr.
        is_quiet: the result alone.
    """

    as_json: bool = option(
        "Print one JSON document; everything else goes to stderr.", "--json", default=False, rich_help_panel="Output"
    )
    is_quiet: bool = option(
        "Print only the result: no notes, no progress.", "--quiet", "-q", default=False, rich_help_panel="Output"
    )

    @cached_property
    def console(self) -> "Console":
        """Console for people: stdout; stderr with --json; silent with --quiet."""
        return _console(to_stderr=self.as_json, is_silent=self.is_quiet)

    @cached_property
    def progress(self) -> "Console":
        """Console for progress: stderr, so that stdout can be piped."""
        return _console(to_stderr=True, is_silent=self.is_quiet)

    def note(self, text: str) -> None:
        """Print a note in addition to the result."""
        self.say(f"note: {text}")

    def say(self, *lines: object) -> None:
        """Print lines without markup; only the terminal breaks them."""
        for line in lines:
            self.console.print(line, markup=False, soft_wrap=True)

    def end(self, document: Mapping[str, Any], result: str = "") -> None:
        """The last act of a command.

        Args:
            document: what `--json` prints; numbers that are none become null.
            result: what `--quiet` prints.
        """
        if self.as_json:
            typer.echo(as_json(document))
        elif self.is_quiet and result:
            typer.echo(printable(result))


_running: ContextVar[Output | None] = ContextVar("output", default=None)


def output() -> Output:
    """The output of the running command."""
    return _running.get() or Output()


def with_output(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with `--json` and `--quiet`; of a parameter that is a dataclass, each field is an option."""
    own = inspect.signature(command).parameters
    kinds: dict[str, Any] = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}

    @wraps(command)
    def run(**given: Any) -> None:
        token = _running.set(_taken(Output, given))
        try:
            command(**{name: _taken(kind, given) for name, kind in kinds.items()}, **given)
            sys.stdout.flush()
        except BrokenPipeError:  # `| head` has seen enough
            _close_stdout()
            raise typer.Exit from None
        except OSError:  # a full device: what is left unsaid must not fail a second time when Python ends
            _close_stdout()
            raise
        finally:
            _running.reset(token)

    parameters = [
        parameter
        for name, each in own.items()
        for parameter in (parameters_of(kinds[name]) if name in kinds else [each.replace(kind=each.KEYWORD_ONLY)])
    ]
    parameters += parameters_of(Output)
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _taken(kind: Any, given: dict[str, Any]) -> Any:
    """Options made of what is given for them, which is taken out."""
    return kind(**{each.name: given.pop(each.name) for each in fields(kind)})


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


def as_json(document: Mapping[str, Any]) -> str:
    """The document, with null for numbers that JSON does not have."""
    return json.dumps(to_jsonable_python(document, inf_nan_mode="null", fallback=str), indent=2)


def make_table(
    headings: Sequence[str], rows: Iterable[Sequence["str | Text"]], *, text: Collection[int] = (0,), title: str = ""
) -> "Table":
    """A table for the terminal; a row of a single cell is a heading.

    Args:
        text: places of the columns that hold text; the others hold numbers, and stand to the right.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    style = {"title_justify": "left", "title_style": "bold", "padding": (0, 1, 0, 0)}
    table = Table(box=SIMPLE_HEAD, title=Text(title) if title else None, **style)
    for place, heading in enumerate(headings):
        is_text = place in text
        table.add_column(Text(heading), overflow="fold", justify="left" if is_text else "right", no_wrap=not is_text)
    for row in rows:
        if len(row) == 1:
            table.add_section()
        cells = [Text(cell, "bold" * (len(row) == 1)) if isinstance(cell, str) else cell for cell in row]
        table.add_row(*cells)
    return table
