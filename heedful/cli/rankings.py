"""Rankings in the terminal, side by side: how often each points to the key words, and what it costs."""

from typing import TYPE_CHECKING

from heedful.formatting import format_number
from heedful.schema import Interval
from heedful.verdict.answer_text import share_text
from heedful.verdict.ranking_names import SHOWN

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.schema import Verdict

USUAL = {*SHOWN, "weight_gradient", "alone", "effect"}
"""Rankings of every audit."""
LEGEND = (
    "Points, replaced: of 100 texts in which a small set decides, those in which the ranking points to the key words, "
    "words deleted and replaced. Passes: of a whole text of n words."
)
PLAUSIBLE = (
    " Plausible: agreement with rationales, from 0 (the best ranking that knows nothing of the model) to 1; "
    "no evidence of how the model decides."
)


def asks_for_rankings(verdict: "Verdict") -> bool:
    """Whether somebody asked for rankings beyond those of every audit."""
    return not {ranking.name for ranking in verdict.rankings} <= USUAL


def print_rankings(console: "Console", verdict: "Verdict") -> None:
    """A line per ranking, the largest share first; nothing without an answer."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    if verdict.answer is None or not verdict.answer.rankings:
        return
    plausible = {own.name: own.plausible for own in verdict.rankings if own.plausible is not None}
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("ranking", min_width=17)
    table.add_column("answer")
    for name in ("points", "replaced", "passes", "ms", *(["plausible"] if plausible else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for own in sorted(verdict.answer.rankings, key=lambda own: -(own.points.value or 0.0)):
        cells = [
            share_text(own.points),
            share_text(own.replaced or Interval()).split()[0],
            own.price or format_number(None),
        ]
        cells.append(format_number(own.milliseconds, decimals=1))
        if plausible:
            cells.append(format_number(plausible.get(own.name)))
        table.add_row(escape(own.title), own.answer, *cells)
    console.print(table)
    console.print(f"[dim]{LEGEND}{PLAUSIBLE if plausible else ''}[/dim]\n")
