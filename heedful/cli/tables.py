"""Verdicts as tables in the terminal."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.report import AuditFiles
    from heedful.report.reading import Line


def print_verdicts(console: "Console", found: "Sequence[AuditFiles]", seeds: int = 1) -> None:
    """The verdict of each model, its numbers and then its sentences; across seeds where there are several."""
    groups: dict[str, list[AuditFiles]] = defaultdict(list)
    for one in found:
        model = one.verdict.model or one.verdict.run
        groups[
            f"{one.verdict.data}: {model}" if seeds > 1 else f"{one.verdict.data}: {model} ({one.verdict.run})"
        ].append(one)
    for title, group in groups.items():
        lines = list(group[0].verdict.lines) if len(group) == 1 else _across(group)
        size = f"{group[0].verdict.texts} texts" + (f", {len(group)} seeds" if len(group) > 1 else "")
        _print_numbers(console, f"{title}, {size}", lines)
        _print_sentences(console, group, lines)
    if len(groups) > 1 and seeds == 1:
        print_comparison(console, found)


def _across(group: "list[AuditFiles]") -> "list[Line]":
    from heedful.audits import line_json, lines_across
    from heedful.report.reading import Line

    return [Line.model_validate(line_json(line)) for line in lines_across([one.rows for one in group])]


def _print_numbers(console: "Console", title: str, lines: "list[Line]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=f"[bold]{escape(title)}[/bold]", title_justify="left", title_style="")
    for name in ("question", "value", "floor", "best", "score"):
        table.add_column(name, justify="left" if name == "question" else "right")
    for line in lines:
        best = f"{_number(line.best)} {'C' if line.best_kind == 'ceiling' else 'Y'}"
        score = "nothing to measure" if line.score is None else _interval(line.score, line.score_low, line.score_high)
        value = _interval(line.value, line.low, line.high)
        table.add_row(escape(line.question), value, _number(line.floor), best, score)
    console.print(table)
    console.print(
        "[dim]C: nothing can be better; Y: a yardstick, which can be. Score: 0 at the floor, 1 at the best.[/dim]\n"
    )


def _print_sentences(console: "Console", group: "list[AuditFiles]", lines: "list[Line]") -> None:
    from rich.markup import escape

    for line in lines:
        left_out = f" ({line.undefined} texts have no such number and are left out.)" if line.undefined else ""
        console.print(f"- {escape(line.sentence)}{left_out}")
    advice = group[0].verdict.show_instead
    if advice is not None and len(group) == 1:
        console.print(f"- [bold]{escape(advice.sentence)}[/bold]")
    console.print()


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    return _number(value) if low is None else f"{_number(value)} [dim]({_number(low)} to {_number(high)})[/dim]"


def print_comparison(console: "Console", found: "Sequence[AuditFiles]") -> None:
    """Scores of prediction and lines of the verdict, a column a model."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for one in found:
        table.add_column(escape(f"{one.verdict.data}\n{one.verdict.model or one.verdict.run}"), justify="right")
    metrics = dict.fromkeys(name for one in found for name in one.verdict.scores)
    for name in metrics:
        table.add_row(name, *(_number(one.verdict.scores.get(name)) for one in found))
    table.add_section()
    questions = dict.fromkeys((line.name, line.question) for one in found for line in one.verdict.lines)
    for name, question in questions:
        lines = [next((line for line in one.verdict.lines if line.name == name), None) for one in found]
        cells = ("-" if line is None else _interval(line.value, line.low, line.high) for line in lines)
        table.add_row(escape(question), *cells)
    console.print(table)
