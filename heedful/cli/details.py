"""`heedful audit --details`: the tests that explain the answer, and the answer by other definitions of the outcome."""

from itertools import groupby
from typing import TYPE_CHECKING

from heedful.formatting import format_estimate, format_number
from heedful.schema import GROUPS
from heedful.verdict.ranking_names import ranking_title

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.schema import Line, Verdict


def print_details(console: "Console", verdict: "Verdict") -> None:
    """Other definitions, the tests in their groups, and what is to be known of the audited attention."""
    from rich.markup import escape

    if verdict.answer is not None:
        for name, each in verdict.answer.variants.items():
            console.print(escape(f"{ranking_title(name)}: {each.answer}. {each.sentence}"))
    _print_lines(console, verdict)
    for sentence in (*verdict.about, verdict.heads.sentence if verdict.heads else ""):
        if sentence:
            console.print(f"[dim]{escape(sentence)}[/dim]")
    for name, reason in verdict.not_asked.items():
        console.print(f"[dim]Not measured: {escape(name.replace('_', ' '))}: {escape(reason)}[/dim]")


def _print_lines(console: "Console", verdict: "Verdict") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("test", overflow="fold")
    for name in ("value", "floor", "best"):
        table.add_column(name, justify="right", no_wrap=True)
    headings: dict[str | None, str] = {**GROUPS}
    for group, lines in groupby(verdict.lines, key=lambda line: line.group):
        table.add_section()
        if group is not None:
            table.add_row(f"[bold]{headings[group]}[/bold]")
        for line in lines:
            table.add_row(escape(line.question), *_numbers(line))
    console.print(table)
    console.print(
        "[dim]Value with its 95% interval; floor: an uninformed ranking; best: the best possible. The tests explain "
        "the answer and do not decide it.[/dim]\n"
    )


def _numbers(line: "Line") -> tuple[str, ...]:
    is_share = line.unit == "share"
    value = format_estimate(line.value, line.low, line.high, percent=is_share)
    return value, *(format_number(number, percent=is_share) for number in (line.floor, line.best))
