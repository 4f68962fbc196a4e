"""What was measured of each model: agreement with deleting words, signs, and other attention in three scopes."""

from collections.abc import Callable, Mapping, Sequence

from heedful.studies.claims import entry
from heedful.studies.study import Cell, Results, Table
from heedful.studies.transformers.columns import (
    AGREES,
    CHANGES,
    CONSISTENT,
    CORRECT,
    PLACE_NAMES,
    RANKINGS,
    SIGNED_AGREES,
    TOP,
    changed_correct,
    changed_moves,
)

CHANGE_NAMES = {"uniform": "uniform", "permuted": "permuted", "blind": "blind to words"}


def tables(results: Results) -> list[Table]:
    """Agreement, top words, signs, and scopes."""
    cells = results.select(CORRECT)
    return [
        _by_ranking(
            cells,
            "Agreement",
            "Does a ranking of words agree with deleting them?",
            "Mean Kendall's tau-b with leave-one-out: how far the prediction moves without each word. Signed rankings "
            "by magnitude. The best head is chosen on dev.",
            AGREES,
        ),
        _by_ranking(
            cells,
            "Top word",
            "How far the prediction moves without the top word",
            "Mean total variation distance when the word that is ranked first is deleted from the text; of any word at "
            "random, and of the word that moves it most.",
            TOP,
            {"random": "random word", "most": "best word"},
        ),
        _by_ranking(
            cells,
            "Signed agreement",
            "Does a ranking agree with what speaks for the decision, and what against it?",
            "Mean Kendall's tau-b with signed leave-one-out: how far the log odds of the decision fall.",
            SIGNED_AGREES,
        ),
        _by_ranking(
            cells,
            "Polarity",
            "Does the top word speak as its sign says?",
            "Share of texts in which deleting the word of the largest magnitude moves the probability of the decision "
            "in the direction of its sign; attention has none, so its words count as speaking for the decision. "
            "Random: share of words that do.",
            CONSISTENT,
            {"random": "random word"},
        ),
        _accuracy(cells),
        _moves(cells),
    ]


def _by_ranking(
    cells: Sequence[Cell],
    name: str,
    title: str,
    note: str,
    column: Callable[[str], str],
    more: Mapping[str, str] | None = None,
) -> Table:
    shown = {**RANKINGS, **(more or {})}
    rows = tuple(
        ((cell.data, cell.model), tuple(entry(cell.columns.get(column(ranking))) for ranking in shown))
        for cell in cells
    )
    return Table(name, title, note, ("data", "model"), tuple(shown.values()), rows)


def _accuracy(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        own = entry(cell.columns[CORRECT])
        for place, where in PLACE_NAMES.items():
            changed = (entry(cell.columns.get(changed_correct(place, change))) for change in CHANGES)
            rows.append(((cell.data, where), (own, *changed)))
    note = (
        "Accuracy as it is, and with other attention over words in every head: the same for each word; that of other "
        "words; none, so that all of it is on special tokens."
    )
    columns = ("as it is", *CHANGE_NAMES.values())
    return Table("Accuracy", "With other attention, in three scopes", note, ("data", "where"), columns, tuple(rows))


def _moves(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        for place, where in PLACE_NAMES.items():
            changes = (*CHANGES, "erased")
            moves = tuple(entry(cell.columns.get(changed_moves(place, change))) for change in changes)
            rows.append(((cell.data, where), moves))
    note = (
        "Mean total variation distance of the prediction under the same changes; and when the most attended word alone "
        "loses its weight while it stays in the text."
    )
    columns = (*CHANGE_NAMES.values(), "top word erased")
    return Table("Moves", "How far other attention moves the prediction", note, ("data", "where"), columns, tuple(rows))
