"""Verdicts as tables in the terminal."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heedful.formatting import format_interval, format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.report import AuditFiles
    from heedful.schema import Line
    from heedful.verdict.comparison import Side


def print_verdicts(console: "Console", audits: "Sequence[AuditFiles]", seeds: int = 1) -> None:
    """The verdict of each model, its numbers and then its sentences; across seeds where there are several."""
    groups: dict[str, list[AuditFiles]] = defaultdict(list)
    for audit in audits:
        model = audit.verdict.model or audit.verdict.run
        run = "" if seeds > 1 else f" ({audit.verdict.run})"
        groups[f"{audit.verdict.data}: {model}{run}"].append(audit)
    for title, group in groups.items():
        lines = list(group[0].verdict.lines) if len(group) == 1 else _across(group)
        size = f"{group[0].verdict.texts} texts" + (f", {len(group)} seeds" if len(group) > 1 else "")
        _print_numbers(console, f"{title}, {size}", lines)
        _print_sentences(console, group, lines)
    if len(groups) > 1 and seeds == 1:
        print_comparison(console, audits)


def _across(group: "list[AuditFiles]") -> "list[Line]":
    from heedful.verdict.scoring import lines_across

    return list(lines_across([audit.rows for audit in group]))


def _print_numbers(console: "Console", title: str, lines: "list[Line]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from heedful.verdict.counting import status

    table = Table(box=SIMPLE_HEAD, title=f"[bold]{escape(title)}[/bold]", title_justify="left", title_style="")
    for name in ("question", "value", "floor", "best", "score", ""):
        table.add_column(name, justify="right" if name in ("value", "floor", "best", "score") else "left")
    for place, line in enumerate(lines):
        if place and line.group != lines[place - 1].group:
            table.add_section()
        best = f"{format_number(line.best)} {'C' if line.best_kind == 'ceiling' else 'Y'}"
        score = "nothing to measure" if line.score is None else _shown(line.score, line.score_low, line.score_high)
        value = _shown(line.value, line.low, line.high)
        table.add_row(escape(line.question), value, format_number(line.floor), best, score, status(line).outcome)
    console.print(table)
    console.print(
        "[dim]C: nothing can be better; Y: a yardstick, which can be beaten. Score: 0 at the floor, 1 at the best."
        "[/dim]\n"
    )


def _print_sentences(console: "Console", group: "list[AuditFiles]", lines: "list[Line]") -> None:
    from rich.markup import escape

    for line in lines:
        left_out = f" ({line.undefined} texts have no such number and are left out.)" if line.undefined else ""
        console.print(f"- {escape(line.sentence)}{left_out}")
    shares = [audit.verdict.redundancy for audit in group if audit.verdict.redundancy is not None]
    if shares:
        share = format_number(sum(shares) / len(shares), percent=True)
        console.print(
            f"- {share} of the texts are redundant: several words, each alone, give the decision. There it is no "
            "reproach to attention that other attention would do as well."
        )
    advice = group[0].verdict.show_instead
    if advice is not None and len(group) == 1:
        console.print(f"- [bold]{escape(advice.sentence)}[/bold]")
    console.print()


def _shown(value: float | None, low: float | None, high: float | None) -> str:
    interval = format_interval(low, high)
    return f"{format_number(value)} [dim]({interval})[/dim]" if interval else format_number(value)


def print_comparison(console: "Console", audits: "Sequence[AuditFiles]") -> None:
    """Scores of prediction and lines of the verdict, a column a model; seeds of one model together."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from heedful.verdict.comparison import compare

    groups = _models(audits)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for name, group in groups.items():
        seeds = f"\n{len(group)} seeds" if len(group) > 1 else ""
        table.add_column(escape(f"{group[0].verdict.data}\n{name}{seeds}"), justify="right")
    for metric in dict.fromkeys(name for audit in audits for name in audit.verdict.scores):
        scores = [[audit.verdict.scores.get(metric) for audit in group] for group in groups.values()]
        table.add_row(metric, *map(_over_seeds, scores))
    table.add_section()
    for comparison in compare({name: [audit.rows for audit in group] for name, group in groups.items()}):
        table.add_row(escape(comparison.question), *map(_side, comparison.sides))
    console.print(table)
    console.print(
        "[dim]In brackets the interval, of prediction scores the range over seeds; after it the difference from the "
        "first model, with * where it is significant: its interval excludes 0.[/dim]"
    )


def _models(audits: "Sequence[AuditFiles]") -> "dict[str, list[AuditFiles]]":
    """The audits by model: what differs in the seed alone is one model; names tell the models apart."""
    from heedful.report.names import distinct_names

    settings = [_without_seed(audit.verdict.settings) for audit in audits]
    distinct = [own for place, own in enumerate(settings) if own not in settings[:place]]
    firsts = [audits[settings.index(own)] for own in distinct]
    names = distinct_names([audit.verdict.model or audit.verdict.run for audit in firsts], distinct)
    groups: dict[str, list[AuditFiles]] = {name: [] for name in names}
    for audit, own in zip(audits, settings, strict=True):
        groups[names[distinct.index(own)]].append(audit)
    return groups


def _without_seed(settings: "Mapping[str, Any]") -> "dict[str, Any]":
    """Without what differs between seeds: the seed, and the run that it refers to."""
    run = settings.get("run")
    return {**settings, "run": run and {name: v for name, v in run.items() if name not in ("seed", "reference")}}


def _over_seeds(values: "Sequence[float | None]") -> str:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return format_number(known[0] if known else None)
    return _shown(sum(known) / len(known), min(known), max(known))


def _side(side: "Side | None") -> str:
    if side is None:
        return format_number(None)
    value = _shown(side.value.value, side.value.low, side.value.high)
    difference = side.difference_from_first
    if difference is None or difference.value != difference.value:
        return value
    return f"{value} {difference.value:+.2f}{'*' if side.is_significant else ''}"
