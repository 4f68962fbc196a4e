"""Rankings in the terminal, side by side: how faithful each is, and how plausible."""

from typing import TYPE_CHECKING

from heedful.formatting import format_estimate, format_number
from heedful.verdict.ranking_names import SHOWN

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.schema import Ranking, Verdict


def print_rankings(console: "Console", verdict: "Verdict") -> None:
    """A line a ranking; nothing where there are neither marks of people nor rankings that somebody asked for."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    has_marks = any(ranking.plausible is not None for ranking in verdict.rankings)
    if not has_marks and {ranking.name for ranking in verdict.rankings} <= {*SHOWN, "weight_gradient"}:
        return
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("ranking", overflow="fold")
    table.add_column("faithful", justify="right", no_wrap=True)
    if has_marks:
        table.add_column("plausible", justify="right", no_wrap=True)
    table.add_column("erased", justify="right", no_wrap=True)
    table.add_column("tau", justify="right", no_wrap=True)
    for ranking in sorted(verdict.rankings, key=_order):
        plausible = [_estimate(ranking, "plausible")] if has_marks else []
        erased = format_number(ranking.erased, percent=True)
        tau = format_number(ranking.agreement.get("attention"))
        table.add_row(escape(ranking.title), _estimate(ranking, "faithful"), *plausible, erased, tau)
    console.print(table)
    console.print(f"[dim]{_legend(has_marks)}[/dim]\n")


def _order(ranking: "Ranking") -> float:
    return -ranking.faithful if ranking.faithful is not None else 1.0


def _estimate(ranking: "Ranking", axis: str) -> str:
    value, low, high = (getattr(ranking, f"{axis}{end}") for end in ("", "_low", "_high"))
    return "–" if value is None else format_estimate(value, low, high)


def _legend(has_marks: bool) -> str:
    faithful = (
        "Faithful: 0 is a random order, 1 the smallest set that changes the decision; erased: the share of a text that "
        "is erased in its order before the decision changes; tau: agreement with attention."
    )
    plausible = (
        " Plausible: agreement with people's marks, 0 the best ranking that knows nothing of the model, 1 the marks; "
        "no evidence of how the model decides."
    )
    return faithful + (plausible if has_marks else "")
