"""The tables of Serrano and Smith (2019), some of their figures as numbers, and each ranking's regret."""

from heedful.battery.question import Columns, Values
from heedful.papers.claim_rule import entry, only_where, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Entry, Results, Table
from heedful.papers.serrano_smith.columns import (
    FLIPS,
    FRACTION,
    FRACTIONS,
    MASS,
    NAME,
    OTHER_FLIPS,
    RANKINGS,
    ROUNDING,
    STANDS_FOR,
    TOPS,
)

PRINTED_IN = {"attention": "Table 2", "weight_gradient": "Figure 12", "attention_x_gradient": "Figure 13"}
NAMES = {"attention": "Table 2 and Figure 9", "weight_gradient": "Figure 12", "attention_x_gradient": "Figure 13"}
RANKED_BY = {
    "attention": "attention",
    "weight_gradient": "the gradient",
    "attention_x_gradient": "attention x gradient",
}


def tables(results: Results) -> list[Table]:
    """Table 3 (accuracy), Table 2 with Figures 9, 12, 13 (single erasures), Figures 5, 6, 10, 11 as numbers, regret."""
    return [_accuracy(results), *(_single(results, top) for top in TOPS), _sets(results), _regret(results)]


def _printed(cell: Cell, item: str, measure: str) -> float | None:
    return number(NAME, item=item, data=STANDS_FOR[cell.data], model=cell.model, measure=measure)


def _accuracy(results: Results) -> Table:
    rows = tuple(
        ((cell.data, cell.model), (Entry(score_estimate(cell, "accuracy"), _printed(cell, "Table 3", "accuracy")),))
        for cell in results.select()
    )
    note = "The paper's data sets are different and much larger: Yahoo (10 classes), IMDB (10)."
    return Table("Table 3", "Accuracy", note, ("data", "model"), ("accuracy",), rows)


def _single(results: Results, top: str) -> Table:
    rows = []
    for cell in results.select(FLIPS(top), OTHER_FLIPS(top)):
        entries = tuple(
            entry(values, _printed(cell, PRINTED_IN[top], f"{name}_{top}"))
            for name, values in _flip_shares(cell.columns, top).items()
        )
        rows.append(((cell.data, cell.model), entries))
    return Table(
        NAMES[top],
        f"Does erasing the top item by {RANKED_BY[top]} change the decision? Does erasing a random other item?",
        "The random item is not sampled: its share is the exact expectation over all others.",
        ("data", "model"),
        ("both do", "only the top", "only the other", "neither"),
        tuple(rows),
    )


def _flip_shares(columns: Columns, top: str) -> dict[str, Values]:
    top_flips, other_flips = columns[FLIPS(top)], columns[OTHER_FLIPS(top)]
    return {
        "both_flip": top_flips * other_flips,
        "only_top_flips": top_flips * (1 - other_flips),
        "only_other_flips": (1 - top_flips) * other_flips,
        "neither_flips": (1 - top_flips) * (1 - other_flips),
    }


def _sets(results: Results) -> Table:
    rows = []
    for cell in results.select(*FRACTIONS):
        for name, column in (("fraction of items", FRACTION), ("attention mass", MASS)):
            entries = tuple(entry(cell.columns[column(ranking)]) for ranking in RANKINGS)
            rows.append(((cell.data, cell.model, name), entries))
    return Table(
        "Figures 5, 6, 10 and 11",
        "What each ranking erases before the decision changes",
        "Means over the texts in which erasing some set of items changes the decision; the smallest set is exact.",
        ("data", "model", "erased"),
        tuple(RANKINGS.values()),
        tuple(rows),
    )


def _regret(results: Results) -> Table:
    rows = []
    for cell in results.select(*FRACTIONS):
        smallest = cell.columns[FRACTION("minimal")]
        regrets = {ranking: cell.columns[FRACTION(ranking)] - smallest for ranking in ("random", *TOPS)}
        measures = [*regrets.values(), *(_is_zero(regrets[top]) for top in TOPS)]
        rows.append(((cell.data, cell.model), tuple(map(entry, measures))))
    return Table(
        "Regret",
        "How far each ranking is from the smallest set that changes the decision",
        "Fraction of items erased beyond the exact minimum, which the paper did not have; and how often a ranking "
        "finds the smallest set.",
        ("data", "model"),
        (
            *(RANKINGS[ranking] for ranking in ("random", *TOPS)),
            *(f"{RANKINGS[top]} finds it" for top in TOPS),
        ),
        tuple(rows),
    )


def _is_zero(regret: Values) -> Values:
    return only_where((regret < ROUNDING).double(), ~regret.isnan())
