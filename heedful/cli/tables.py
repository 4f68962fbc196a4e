"""Verdicts as tables in the terminal."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.report import AuditFiles
    from heedful.report.audit_files import Line
    from heedful.verdict.comparison import Side


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
    from heedful.auditing.audit import line_json, lines_across
    from heedful.report.audit_files import Line

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
    return "-" if value is None or math.isnan(value) else f"{value:.2f}"


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    if low is None or math.isnan(low):
        return _number(value)
    return f"{_number(value)} [dim]({_number(low)} to {_number(high)})[/dim]"


def print_comparison(console: "Console", found: "Sequence[AuditFiles]") -> None:
    """Scores of prediction and lines of the verdict, a column a model; seeds of one model together."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from heedful.verdict.comparison import compared

    groups = _models(found)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for name, group in groups.items():
        seeds = f"\n{len(group)} seeds" if len(group) > 1 else ""
        table.add_column(escape(f"{group[0].verdict.data}\n{name}{seeds}"), justify="right")
    for metric in dict.fromkeys(name for one in found for name in one.verdict.scores):
        table.add_row(
            metric, *(_scores([one.verdict.scores.get(metric) for one in group]) for group in groups.values())
        )
    table.add_section()
    for line in compared({name: [one.rows for one in group] for name, group in groups.items()}):
        table.add_row(escape(line.question), *map(_side, line.sides))
    console.print(table)
    console.print(
        "[dim]In brackets the interval; after it what a model has more than the first, with * where that is sure: its "
        "interval leaves out 0, and every seed agrees on the sign.[/dim]"
    )


def _models(found: "Sequence[AuditFiles]") -> "dict[str, list[AuditFiles]]":
    """The audits by model: what differs in the seed alone is one; names tell the models apart."""
    from heedful.report.names import distinct_names

    settings = [_without_seed(one.verdict.settings) for one in found]
    distinct = [one for place, one in enumerate(settings) if one not in settings[:place]]
    firsts = [found[settings.index(one)] for one in distinct]
    names = distinct_names([one.verdict.model or one.verdict.run for one in firsts], distinct)
    groups: dict[str, list[AuditFiles]] = {name: [] for name in names}
    for one, own in zip(found, settings, strict=True):
        groups[names[distinct.index(own)]].append(one)
    return groups


def _without_seed(settings: "Mapping[str, Any]") -> "dict[str, Any]":
    """Without what differs between seeds: the seed, and the run that it refers to."""
    run = settings.get("run")
    return {**settings, "run": run and {name: v for name, v in run.items() if name not in ("seed", "reference")}}


def _scores(values: "Sequence[float | None]") -> str:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return _number(known[0] if known else None)
    return _interval(sum(known) / len(known), min(known), max(known))


def _side(side: "Side | None") -> str:
    if side is None:
        return "-"
    value = _interval(side.value.value, side.value.low, side.value.high)
    if side.less_first is None or math.isnan(side.less_first.value):
        return value
    return f"{value} {side.less_first.value:+.2f}{'*' if side.is_sure else ''}"
