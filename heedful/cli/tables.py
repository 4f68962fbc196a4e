"""Models side by side, as a table in the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heedful.formatting import format_interval, format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.report import AuditFiles
    from heedful.verdict.comparison import Side


def _shown(value: float | None, low: float | None, high: float | None) -> str:
    interval = format_interval(low, high)
    return f"{format_number(value)} [dim]({interval})[/dim]" if interval else format_number(value)


def print_comparison(console: "Console", audits: "Sequence[AuditFiles]") -> None:
    """Scores of prediction and lines of the verdict, a column a model, its seeds together."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from heedful.report.names import distinct_names
    from heedful.report.pooled import by_training
    from heedful.verdict.comparison import compare

    models = [audit.verdict.model or audit.verdict.run for audit in audits]
    names = distinct_names(models, [audit.verdict.settings for audit in audits])
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for name, audit in zip(names, audits, strict=True):
        seeds = f"\n{len(audit.verdict.trainings)} seeds" if len(audit.verdict.trainings) > 1 else ""
        table.add_column(escape(f"{audit.verdict.data}\n{name}{seeds}"), justify="right")
    for metric in dict.fromkeys(name for audit in audits for name in audit.verdict.scores):
        table.add_row(metric, *(format_number(audit.verdict.scores.get(metric)) for audit in audits))
    table.add_section()
    rows = {name: by_training(audit.rows) for name, audit in zip(names, audits, strict=True)}
    for comparison in compare(rows, audits[0].verdict.item):
        table.add_row(escape(comparison.question), *map(_side, comparison.sides))
    console.print(table)
    console.print(
        "[dim]In brackets the 95 % interval; after it the difference from the first model, with * where it is "
        "significant: its interval excludes 0. Prediction scores are means over seeds.[/dim]"
    )


def _side(side: "Side | None") -> str:
    if side is None:
        return format_number(None)
    value = _shown(side.value.value, side.value.low, side.value.high)
    difference = side.difference_from_first
    if difference is None or difference.value != difference.value:
        return value
    return f"{value} {difference.value:+.2f}{'*' if side.is_significant else ''}"
