"""The tables of Jain and Wallace (2019): performance, agreement, and Figures 6 to 8 as numbers."""

from heedful.papers.claim_rule import Where, entry, only_where, score_estimate
from heedful.papers.jain_wallace.columns import (
    ADVERSARIAL,
    BABI,
    GRADIENT,
    GRADIENT_P,
    HIGH,
    LEAVE_ONE_OUT,
    LEAVE_ONE_OUT_P,
    LITTLE,
    NAME,
    NEAR,
    PERMUTED,
    WITHOUT_TOP,
    little_change_at_high_weight,
    near_cap,
)
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Entry, Results, Table
from heedful.papers.study_figures import LARGEST

SIGNIFICANT = 0.05


def tables(results: Results) -> list[Table]:
    """Table 1 (performance), Table 2 (agreement), and what Figures 6 to 8 show as numbers."""
    return [_performance(results), _agreement(results), _counterfactuals(results)]


def _performance(results: Results) -> Table:
    rows = []
    for cell in results.select():
        metric = "f1" if cell.classes == 2 else "accuracy"
        printed = number(NAME, item="Table 1", data=cell.data, model=cell.model, measure=metric)
        entries = (Entry(score_estimate(cell, metric), printed), Entry(score_estimate(cell, "roc_auc")))
        rows.append(((cell.data, cell.model, metric), entries))
    note = "F1 of the positive class for two classes, accuracy for more."
    return Table(
        "Table 1", "How well the models predict", note, ("data", "model", "measure"), ("score", "AUC"), tuple(rows)
    )


def _agreement(results: Results) -> Table:
    rows = [
        ((cell.data, cell.model, label), _agreement_entries(cell, label, where))
        for cell in results.select(GRADIENT, LEAVE_ONE_OUT)
        for label, where in _by_class(cell)
    ]
    note = "Kendall's tau-b of attention with each, by predicted class; and the share of texts significant at .05."
    return Table(
        "Table 2",
        "Does attention agree with other importance measures?",
        note,
        ("data", "model", "predicted"),
        ("tau gradient", "significant", "tau leave-one-out", "significant"),
        tuple(rows),
    )


def _agreement_entries(cell: Cell, label: str, where: Where) -> tuple[Entry, ...]:
    """Tau and the share that is significant, with the gradient and with leave-one-out."""
    entries = []
    for name, tau_column, p_column in (
        ("gradient", GRADIENT, GRADIENT_P),
        ("leave_one_out", LEAVE_ONE_OUT, LEAVE_ONE_OUT_P),
    ):
        tau, is_significant = cell.columns[tau_column], (cell.columns[p_column] < SIGNIFICANT).double()
        for kind, values in (("tau", tau), ("significant", is_significant)):
            measure = f"{kind}_{name}" if label == "all" else f"{kind}_{name} {label}"
            printed = number(NAME, item="Table 2", data=cell.data, model=cell.model, measure=measure)
            kept = only_where(values, where & ~tau.isnan())
            entries.append(entry(kept, printed))
    return tuple(entries)


def _by_class(cell: Cell) -> list[tuple[str, Where]]:
    """The texts by predicted class as the paper splits them: not at all for question answering."""
    predicted = cell.columns["prediction.predicted"]
    if cell.data in BABI:
        return [("all", predicted >= 0)]
    return [(f"class {label}", predicted == label) for label in range(cell.classes)]


def _counterfactuals(results: Results) -> Table:
    rows = []
    for cell in results.select(PERMUTED, ADVERSARIAL, LARGEST):
        measures = (
            cell.columns[PERMUTED],
            little_change_at_high_weight(cell),
            cell.columns[ADVERSARIAL],
            near_cap(cell),
            cell.columns[WITHOUT_TOP],
        )
        rows.append(((cell.data, cell.model), tuple(map(entry, measures))))
    columns = (
        "median change, permuted",
        f"share of texts where it is below {LITTLE}, given a largest weight of {HIGH} or more",
        "eps-max JSD",
        f"share of texts at {NEAR} of its cap or more",
        "share of predictions that stay with no weight on the top word",
    )
    note = "What Figures 6 to 8 show, as numbers; the paper prints none. For two classes the adversary is exact."
    return Table("Figures 6 to 8", "Permuted and adversarial attention", note, ("data", "model"), columns, tuple(rows))
