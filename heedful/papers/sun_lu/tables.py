"""The tables of the paper and of its supplement, and what goes beyond them: kinds of words, terms, amounts of L2."""

from math import nan

import torch

from heedful.measures import Estimate
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Entry, Results, Table
from heedful.papers.sun_lu.claims import (
    ABOVE,
    AD,
    DP,
    DP_A,
    DP_L,
    DP_MODERATE,
    DP_PLANTED,
    LAMBDAS,
    MODERATE,
    NAME,
    RATIOS,
    SETS,
    ScaledModel,
)
from heedful.papers.sun_lu.token_history import (
    indicative,
    last_scores,
    nearer_zero,
    neutral,
    part_of_sum,
    positive,
    right_signs,
    shares,
    split_shares,
    weight_shares,
)
from heedful.token_scores import NEUTRAL

KINDS = {"class 0": 0, "class 1": 1, "class 2": 2, "neutral": NEUTRAL}
LABEL = "prediction.label"


def tables(results: Results) -> list[Table]:
    """Tables 1 and 2, numbers of the supplement, and what is ours: kinds of words, terms of the flow, amounts of L2."""
    own = [_scores(results), _terms(results), _amounts(results)]
    return [_data(results), _accuracy(results), _alignment(results), _local(results), _words(results), *own]


def _data(results: Results) -> Table:
    """Table 1; of ours what the runs tell."""
    rows = []
    for data, cell in DP_MODERATE.measured(results).items():
        labels = cell.columns.get(LABEL, torch.zeros(0, 0))[0]
        ours = {f"test_size class {label}": float((labels == label).sum()) for label in range(cell.classes)}
        if cell.tokens:
            ours["vocabulary"] = float(last_scores(cell.tokens[0]).height)
        sizes = [f"{split}_size class {label}" for split in ("train", "dev", "test") for label in range(3)]
        entries = (_count(data, measure, "Table 1", ours) for measure in ("average_length", "vocabulary", *sizes))
        rows.append(((data,), tuple(entries)))
    sizes = (f"{split}, label {label}" for split in ("train", "dev", "test") for label in range(3))
    note = "Ours: the words of the training texts that were used, and the audited test texts. Splits: see the notes."
    return Table("Table 1", "Data sets", note, ("data",), ("average length", "vocabulary", *sizes), tuple(rows))


def _count(data: str, measure: str, item: str, ours: dict[str, float]) -> Entry:
    own = Estimate(ours[measure], nan, nan, 1) if measure in ours else None
    return Entry(own, number(NAME, item=item, data=data, measure=measure))


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
    measure = f"accuracy lambda={model.scaling:g}"
    printed = number(NAME, item="Table 2", data=data, model=model.encoder, measure=measure)
    return Entry(None if cell is None else score_estimate(cell, "accuracy"), printed)


def _alignment(results: Results) -> Table:
    """V.W where the planted sets' training ends, and how far it moved."""
    rows = []
    for data, cell in DP_PLANTED.recorded(results).items():
        products = [table.filter(measure="V.W").sort("epoch")["value"] for table in cell.tokens]
        ends = torch.tensor([[float(own[-1])] for own in products], dtype=torch.float64)
        moved = torch.tensor([[float(own[-1] - own[0])] for own in products], dtype=torch.float64)
        if data in RATIOS:
            printed = number(NAME, item="supplement", data=data, measure="alignment")
            rows.append(((data,), (entry(ends, printed), entry(moved))))
    note = (
        "V.W by the ratio positive : negative (1:1 for planted), mean of four starts. It starts at random, with a "
        "standard deviation of 5.8. The paper's numbers are read off its figure; that of 2:5 contradicts 1:2 and 1:5, "
        "so it is probably of 5:2."
    )
    columns = ("at the end", "change since the start")
    return Table("Supplement, Figure 7", "V.W by the ratio of the classes", note, ("data",), columns, tuple(rows))


def _local(results: Results) -> Table:
    cells = ScaledModel(DP_L, MODERATE).recorded(results).values()
    rows = tuple(
        (
            (cell.data,),
            (entry(shares(cell, indicative, neutral)), entry(shares(cell, indicative, neutral, "attention"))),
        )
        for cell in cells
    )
    note = (
        "The probability that a label-indicative word has a larger attention score than a neutral one (AUROC), under "
        "the LSTM: scores averaged over the training texts (local), and of the word alone (global)."
    )
    columns = ("local scores", "global scores")
    return Table("Supplement, Figure 13", "Local and global scores", note, ("data",), columns, rows)


def _words(results: Results) -> Table:
    rows = []
    for data, cell in DP_MODERATE.recorded(results).items():
        counts = dict(last_scores(cell.tokens[0])["class"].value_counts().iter_rows())
        ours = {f"tokens {kind}": float(counts.get(label, 0)) for kind, label in KINDS.items() if label < cell.classes}
        entries = tuple(_count(data, f"tokens {kind}", "supplement", ours) for kind in KINDS)
        rows.append(((data,), entries))
    titles = ("of label 0", "of label 1", "of label 2", "neutral")
    note = (
        "Ours in the training texts that were used, cut to so many words; the paper's in all of them. For three labels "
        "the paper gives no threshold; more than .68 of more than 26 occurrences meets its counts best on whole texts."
    )
    return Table("Supplement, Table 1", "How many words indicate a label", note, ("data",), titles, tuple(rows))


def _recorded(results: Results) -> list[Cell]:
    return [cell for cell in results.select(role=None) if cell.tokens]


def _scores(results: Results) -> Table:
    cells = [cell for cell in _recorded(results) if not cell.data.startswith("planted")]
    rows = tuple(((cell.data, cell.model), _score_entries(cell)) for cell in cells)
    titles = (
        "label-indicative above neutral, scores",
        "favored by V.W above the other",
        "label-indicative above neutral, mean weights",
        "label-indicative above neutral, in a text",
    )
    note = (
        "The probability that a word of the first kind has the larger attention score (AUROC; .5: no difference). "
        "Label-indicative words occur mostly in texts of one label. The first two columns are over the words of the "
        "training texts; the third is over the words of the test texts, by their mean weight, as Figure 5; the last is "
        "by weights within each test text."
    )
    return Table("Scores", "Do attention scores distinguish kinds of words?", note, ("data", "model"), titles, rows)


def _score_entries(cell: Cell) -> tuple[Entry, ...]:
    return (
        entry(shares(cell, indicative, neutral)),
        entry(split_shares(cell) if cell.classes == 2 else None),
        entry(None if cell.shown.is_empty() else weight_shares(cell)),
        entry(cell.columns.get(ABOVE)),
    )


def _terms(results: Results) -> Table:
    """What the theory says of scores and terms, word by word."""
    cells = [cell for cell in _recorded(results) if "flow_D" in last_scores(cell.tokens[0]).columns]
    rows = tuple(((cell.data, cell.model), _term_entries(cell)) for cell in cells)
    titles = (
        "polarity has the word's sign",
        "neutral nearer 0, polarity",
        "B has the word's sign",
        "C has the word's sign",
        "E is positive",
        "F is positive",
        "A of A, B, C",
        "D of D, E, F",
    )
    note = (
        "Shares of label-indicative words; for the second column, of pairs of a neutral and a label-indicative word. "
        "The last two are mean sizes of a term relative to the sizes of the three together. pi(e) has the sign of B, "
        "and rho(e) that of E. Terms are those of the exact gradient flow at the epoch of the scores (the last one on "
        "planted sets)."
    )
    return Table("Terms", "Signs and sizes of the terms", note, ("data", "model"), titles, rows)


def _term_entries(cell: Cell) -> tuple[Entry, ...]:
    return (
        entry(right_signs(cell, "polarity")),
        entry(nearer_zero(cell, "polarity")),
        *(entry(right_signs(cell, f"flow_{letter}")) for letter in "BC"),
        *(entry(positive(cell, f"flow_{letter}")) for letter in "EF"),
        entry(part_of_sum(cell, "A", "ABC")),
        entry(part_of_sum(cell, "D", "DEF")),
    )


def _amounts(results: Results) -> Table:
    """The grid of L2, of which the paper gives no amount."""
    rows = []
    for cell in results.select(data="sst2", method=ScaledModel(DP, MODERATE).method, role=None):
        decay = cell.runs[0].run.training.weight_decay
        if isinstance(decay, dict):
            dev = torch.tensor([[run.scores["dev"].get("accuracy") or nan] for run in cell.runs], dtype=torch.float64)
            about = (cell.encoder, *(f"{amount:g} on {layer}" for layer, amount in decay.items()))
            rows.append((about, (entry(dev), Entry(score_estimate(cell, "accuracy")), _score_entries(cell)[0])))
    columns = ("accuracy on dev", "accuracy on test", "label-indicative above neutral, scores")
    note = "On SST at lambda 10. The paper names the decayed layers and no amounts; these are ours, as is the choice."
    return Table("L2", "Amounts of L2", note, ("model", "amount"), columns, tuple(sorted(rows, key=lambda row: row[0])))
