"""The tables of Sun and Lu (2020): accuracy by scaling factor, scores and kinds of words."""

from math import nan

from heedful.measures import Estimate
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Entry, Results, Table
from heedful.papers.sun_lu.columns import (
    ABOVE,
    AD,
    DP,
    DP_A,
    DP_L,
    DP_MODERATE,
    LAMBDAS,
    NAME,
    PLANTED,
    SETS,
    ScaledModel,
)
from heedful.papers.sun_lu.token_history import indicative, last_scores, neutral, shares, split_shares
from heedful.token_scores import NEUTRAL

KINDS = {"class 0": 0, "class 1": 1, "class 2": 2, "neutral": NEUTRAL}


def tables(results: Results) -> list[Table]:
    """Table 2, how attention scores differ between kinds of words, and how many words of each kind there are."""
    return [_accuracy(results), _scores(results), _words(results)]


def _accuracy(results: Results) -> Table:
    rows = []
    for data in SETS:
        for model in (DP, DP_L, DP_A, AD):
            if results.select(data=data, encoder=model):
                entries = tuple(_accuracy_entry(results, data, ScaledModel(model, scaling)) for scaling in LAMBDAS)
                rows.append(((data, model), entries))
    note = "Accuracy on the test texts; the paper's is of a single run on the whole sets."
    titles = tuple(ScaledModel(DP, scaling).method for scaling in LAMBDAS)
    return Table("Table 2", "Accuracy by scaling factor", note, ("data", "model"), titles, tuple(rows))


def _accuracy_entry(results: Results, data: str, model: ScaledModel) -> Entry:
    cell = model.measured(results).get(data)
    if cell is None:
        return Entry(None)
    measure = f"accuracy lambda={model.scaling:g}"
    printed = number(NAME, item="Table 2", data=data, model=model.encoder, measure=measure)
    return Entry(score_estimate(cell, "accuracy"), printed)


def _scores(results: Results) -> Table:
    cells = [cell for cell in results.select(role=None) if cell.tokens and cell.role != PLANTED]
    rows = tuple(((cell.data, cell.model), _score_entries(cell)) for cell in cells)
    titles = (
        "label-indicative above neutral, scores",
        "favoured by V.W above the other",
        "label-indicative above neutral, in a text",
    )
    note = (
        "The probability that a word of the first kind has the larger attention score (AUROC; .5: no difference). "
        "Label-indicative words occur mostly in texts of one label. The first two columns are over the words of the "
        "training texts, resampled; the last is by weights within each test text."
    )
    return Table("Scores", "Do attention scores distinguish kinds of words?", note, ("data", "model"), titles, rows)


def _score_entries(cell: Cell) -> tuple[Entry, ...]:
    return (
        entry(shares(cell, indicative, neutral)),
        entry(split_shares(cell) if cell.classes == 2 else None),
        entry(cell.columns.get(ABOVE)),
    )


def _words(results: Results) -> Table:
    rows = []
    for data, cell in DP_MODERATE.recorded(results).items():
        counts = dict(last_scores(cell.tokens[0])["class"].value_counts().iter_rows())
        entries = tuple(
            Entry(
                _count(counts.get(label, 0)) if label < cell.classes else None,
                number(NAME, item="supplement", data=data, measure=f"tokens {kind}"),
            )
            for kind, label in KINDS.items()
        )
        rows.append(((data,), entries))
    titles = ("of label 0", "of label 1", "of label 2", "neutral")
    note = "Ours in the training texts that were used, below the paper's scale a sample; the paper's in all of them."
    return Table("Words", "How many words indicate a label", note, ("data",), titles, tuple(rows))


def _count(count: int) -> Estimate:
    return Estimate(float(count), nan, nan, 1)
