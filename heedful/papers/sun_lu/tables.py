"""The tables of the paper and of its supplement, and what goes beyond them: kinds of words, terms, amounts of L2."""

from dataclasses import replace
from math import nan

import polars as pl
import torch

from heedful.measures import Estimate
from heedful.papers.claim_rule import AUROC, entry, estimate, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Entry, Results, Table
from heedful.papers.sun_lu import claims as paper
from heedful.papers.sun_lu.token_history import (
    indicative,
    last_scores,
    neutral,
    own_values,
    relative_size,
    shares,
    split_shares,
)
from heedful.token_scores import NEUTRAL

KINDS = {"class 0": 0, "class 1": 1, "class 2": 2, "neutral": NEUTRAL}
SIZES = [f"{split}_size class {label}" for split in ("train", "dev", "test") for label in range(3)]


def tables(results: Results) -> list[Table]:
    """Tables 1 and 2, numbers of the supplement, and what is ours: kinds of words, terms of the flow, amounts of L2."""
    own = [_scores(results), _terms(results), _amounts(results)]
    return [_data(results), _accuracy(results), _alignment(results), _local(results), _words(results), *own]


def _data(results: Results) -> Table:
    """Table 1; of ours what the runs tell."""
    rows = []
    for data, cell in paper.DP_MODERATE.measured(results).items():
        labels = cell.columns["prediction.label"][0] if "prediction.label" in cell.columns else torch.zeros(0)
        ours = {f"test_size class {label}": float((labels == label).sum()) for label in range(cell.classes)}
        if cell.tokens:
            ours["vocabulary"] = float(last_scores(cell.tokens[0]).height)
        entries = (_count(data, measure, "Table 1", ours) for measure in ("average_length", "vocabulary", *SIZES))
        rows.append(((data,), tuple(entries)))
    sizes = (size.replace("_size class", ", label") for size in SIZES)
    note = "Ours: the words of the training texts that were used, and the audited test texts. Splits: see the notes."
    return Table("Table 1", "Data sets", note, ("data",), ("average length", "vocabulary", *sizes), tuple(rows))


def _count(data: str, measure: str, item: str, ours: dict[str, float]) -> Entry:
    own = Estimate(ours[measure], nan, nan, 1) if measure in ours else None
    return Entry(own, number(paper.NAME, item=item, data=data, measure=measure))


def _accuracy(results: Results) -> Table:
    rows = []
    for data in paper.SETS:
        for model in (paper.DP, paper.DP_L, paper.DP_A, paper.AD):
            if results.select(data=data, encoder=model):
                entries = tuple(_accuracy_entry(results, data, model, scaling) for scaling in paper.LAMBDAS)
                rows.append(((data, model), entries))
    note = "Accuracy on the test texts; the paper's is of a single run on the whole sets."
    titles = tuple(f"lambda {scaling:g}" for scaling in paper.LAMBDAS)
    return Table("Table 2", "Accuracy by scaling factor", note, ("data", "model"), titles, tuple(rows), alike=True)


def _accuracy_entry(results: Results, data: str, model: str, scaling: float) -> Entry:
    cell = paper.ScaledModel(model, scaling).measured(results).get(data)
    printed = number(paper.NAME, item="Table 2", data=data, model=model, measure=f"accuracy lambda={scaling:g}")
    return Entry(None if cell is None else score_estimate(cell, "accuracy"), printed)


def _alignment(results: Results) -> Table:
    """V.W where the planted sets' training ends, and how far it moved."""
    rows = []
    for data, cell in paper.DP_PLANTED.recorded(results).items():
        products = [table.filter(measure="V.W").sort("epoch")["value"] for table in cell.tokens]
        ends = torch.tensor([(own[-1], own[-1] - own[0]) for own in products], dtype=torch.float64)
        if data in paper.RATIOS:
            printed = number(paper.NAME, item="supplement", data=data, measure="alignment")
            rows.append(((data,), (entry(ends[:, :1], printed), entry(ends[:, 1:]))))
    note = (
        "V.W by the ratio positive : negative (1:1 for planted), mean of four starts. It starts at random, with a "
        "standard deviation of 5.8. The paper's numbers are read off its figure; that of 2:5 contradicts 1:2 and 1:5, "
        "so it is probably of 5:2."
    )
    columns = ("at the end", "change since the start")
    return Table("Supplement, Figure 7", "V.W by the ratio of the classes", note, ("data",), columns, tuple(rows))


def _local(results: Results) -> Table:
    rows = []
    for cell in paper.ScaledModel(paper.DP_L, paper.MODERATE).recorded(results).values():
        alone = tuple(table.filter(pl.col("measure") != "attention_local") for table in cell.tokens)
        cells = (cell, replace(cell, tokens=alone))
        both = (estimate(shares(each, indicative, neutral), within=AUROC) for each in cells)
        rows.append(((cell.data,), tuple(map(Entry, both))))
    note = (
        "The probability that a label-indicative word has a larger attention score than a neutral one (AUROC), under "
        "the LSTM: scores averaged over the training texts (local), and of the word alone (global)."
    )
    columns = ("local scores", "global scores")
    return Table("Supplement, Figure 13", "Local and global scores", note, ("data",), columns, tuple(rows))


def _words(results: Results) -> Table:
    rows = []
    for data, cell in paper.DP_MODERATE.recorded(results).items():
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
        "label-indicative above neutral, in a text",
    )
    note = (
        "The probability that a word of the first kind has the larger attention score (AUROC; .5: no difference). "
        "Label-indicative words occur mostly in texts of one label. The first two columns are over the words of the "
        "training texts; the last is by weights within each test text."
    )
    return Table("Scores", "Do attention scores distinguish kinds of words?", note, ("data", "model"), titles, rows)


def _score_entries(cell: Cell) -> tuple[Entry, ...]:
    return (
        Entry(estimate(shares(cell, indicative, neutral), within=AUROC)),
        Entry(estimate(split_shares(cell), within=AUROC) if cell.classes == 2 else None),
        entry(cell.columns.get(paper.ABOVE)),
    )


SIGNS = {"polarity": "polarity", "flow_B": "B", "flow_C": "C", "flow_E": "E", "flow_F": "F"}
PARTS = {"A": "ABC", "D": "DEF"}


def _terms(results: Results) -> Table:
    """What the theory says of scores and terms, word by word."""
    cells = [cell for cell in _recorded(results) if "flow_E" in last_scores(cell.tokens[0]).columns]
    rows = tuple(((cell.data, cell.model), _term_entries(cell)) for cell in cells)
    titles = (*(f"{name} as derived" for name in SIGNS.values()), *(f"{of} of {', '.join(PARTS[of])}" for of in PARTS))
    note = (
        "The share of label-indicative words whose polarity, and terms B and C, have the sign of the word's label (for "
        "three labels: are largest for it), and whose terms E and F are positive; pi(e) has the sign of B, and rho(e) "
        "that of E. Last, the mean sizes of A and D, as shares of the sizes of their three terms together. Terms are "
        "those of the exact gradient flow at the epoch of the scores, on planted sets the last one."
    )
    return Table("Terms", "Signs and sizes of the terms", note, ("data", "model"), titles, rows)


def _term_entries(cell: Cell) -> tuple[Entry, ...]:
    signs = ((own_values(cell, measure) > 0).double() for measure in SIGNS)
    sizes = (relative_size(cell, letter, letters) for letter, letters in PARTS.items())
    return tuple(map(entry, (*signs, *sizes)))


def _amounts(results: Results) -> Table:
    """The grid of L2, of which the paper gives no amount."""
    rows = []
    for cell in results.select(data="sst2", method=paper.ScaledModel(paper.DP, paper.MODERATE).method, role=None):
        decay = cell.runs[0].run.training.weight_decay
        if isinstance(decay, dict):
            ((layer, amount),) = decay.items()
            dev = torch.tensor([[run.scores["dev"].get("accuracy") or nan] for run in cell.runs], dtype=torch.float64)
            entries = (entry(dev), Entry(score_estimate(cell, "accuracy")), _score_entries(cell)[0])
            rows.append(((cell.encoder, f"{amount:g} on {layer}"), entries))
    columns = ("accuracy on dev", "accuracy on test", "label-indicative above neutral, scores")
    note = "On SST at lambda 10. The paper names the decayed layers and no amounts; these are ours, as is the choice."
    return Table("L2", "Amounts of L2", note, ("model", "amount"), columns, tuple(sorted(rows, key=lambda row: row[0])))
