"""The verdict in the terminal: the answer first, then every question with its score."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heedful.formatting import format_estimate, format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.tables import ModelTable
    from heedful.schema import Line, Verdict

COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}
WIDE = 110
"""Columns of a terminal in which value, floor and best have room beside the score."""


def print_verdicts(console: "Console", verdicts: "Sequence[Verdict]", compared: "ModelTable | None") -> None:
    """Each model's answer, what to do, and its questions; then models side by side where there are several."""
    from heedful.cli.rankings import print_rankings
    from heedful.cli.tables import print_models

    for verdict in verdicts:
        print_answer(console, verdict)
        _print_lines(console, verdict)
        print_rankings(console, verdict)
    if compared is not None:
        print_models(console, compared)


def print_answer(console: "Console", verdict: "Verdict") -> None:
    """What was audited, the answer and what to do, in the words of the report."""
    from rich.markup import escape

    from heedful.verdict.headline import headline

    answer = headline(verdict)
    console.print(f"[bold]{escape(_title(verdict))}[/bold]\n")
    console.print(f"[bold]{escape(answer.lead)}[/bold]")
    for sentence in (answer.text, *answer.beside):
        console.print(escape(sentence))
    if answer.advice:
        console.print(f"[bold]{escape(answer.advice)}[/bold]")
    for sentence in (*verdict.about, verdict.heads.sentence if verdict.heads else ""):
        console.print(f"[dim]{escape(sentence)}[/dim]" if sentence else "")
    for name, reason in verdict.not_asked.items():
        console.print(f"[dim]Not asked: {escape(name.replace('_', ' '))}: {escape(reason)}[/dim]")


def _title(verdict: "Verdict") -> str:
    parts = [f"{verdict.data}: {verdict.model or verdict.run}" if verdict.data else verdict.model or verdict.run]
    parts.append(f"{verdict.texts:,} {verdict.split} texts")
    seeds = [str(training.seed) for training in verdict.trainings if training.seed is not None]
    if seeds:
        parts.append(f"seed {seeds[0]} ({verdict.run})" if len(seeds) == 1 else f"seeds {', '.join(seeds)}")
    accuracy = verdict.scores.get("accuracy")
    return ", ".join([*parts, f"accuracy {format_number(accuracy, percent=True)}"] if accuracy is not None else parts)


def _print_lines(console: "Console", verdict: "Verdict") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    is_wide = console.width >= WIDE
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("question")
    for name in ("value", "floor", "best") if is_wide else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("attention", no_wrap=True)
    for place, line in enumerate(verdict.lines):
        if line.group and (not place or line.group != verdict.lines[place - 1].group):
            table.add_section()
            table.add_row(f"[bold]{line.group}[/bold]")
        numbers = _numbers(line) if is_wide else []
        score = "–" if line.score is None else format_estimate(line.score, line.score_low, line.score_high)
        colour = COLOURS.get(line.outcome, "dim")
        table.add_row(escape(line.question), *numbers, score, f"[{colour}]{line.outcome}[/]")
    console.print(table)
    console.print("[dim]Score: 0 is what ignorance gives, 1 the best possible, with its 95 % interval.[/dim]\n")


def _numbers(line: "Line") -> list[str]:
    percent = line.unit == "share"
    return [format_number(number, percent=percent) for number in (line.value, line.floor, line.best)]
