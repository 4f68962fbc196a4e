"""The tables for Wiegreffe and Pinter (2019): scores, what the weights add, and the spread over seeds."""

from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import Entry, Results, Table
from heedful.papers.wiegreffe_pinter.columns import (
    ADVERSARIAL,
    BILSTM,
    BILSTM_UNIFORM,
    LARGEST_TO_SEED,
    MEAN_TO_SEED,
    MLP,
    MLP_IMPOSED,
    MLP_UNIFORM,
    MODELS,
    NAME,
    OTHER_SEEDS,
    SEED_FLIPS,
    PaperModel,
    gain,
)


def tables(results: Results) -> list[Table]:
    """F1 of every model, what attention adds, and the spread over seeds."""
    return [_scores(results), _gains(results), _spread(results)]


def _scores(results: Results) -> Table:
    rows = tuple(((data,), tuple(_score_entry(results, data, model) for model in MODELS)) for data in results.datasets)
    note = "F1 of the positive class; the paper's as Amini and Kosseim report them."
    return Table("F1", "How well each model predicts", note, ("data",), tuple(model.label for model in MODELS), rows)


def _score_entry(results: Results, data: str, model: PaperModel) -> Entry:
    cell = model.cell(results, data)
    printed = number(NAME, item="Table 2 of Amini and Kosseim", data=data, model=model.label, measure="f1")
    return Entry(score_estimate(cell, "f1") if cell else None, printed)


def _gains(results: Results) -> Table:
    columns = {
        "bilstm: own attention - uniform": (BILSTM, BILSTM_UNIFORM),
        "mlp: own attention - uniform": (MLP, MLP_UNIFORM),
        "mlp: the bilstm's attention - its own": (MLP_IMPOSED, MLP),
        "mlp: the bilstm's attention - uniform": (MLP_IMPOSED, MLP_UNIFORM),
    }
    rows = tuple(
        ((data,), tuple(entry(gain(results, data, *pair)) for pair in columns.values())) for data in results.datasets
    )
    note = "Difference in accuracy, text by text, with the same seeds."
    return Table("Gain", "What the weights add", note, ("data",), tuple(columns), rows)


def _spread(results: Results) -> Table:
    columns = (LARGEST_TO_SEED, MEAN_TO_SEED, SEED_FLIPS, ADVERSARIAL)
    rows = tuple(
        ((cell.data,), tuple(entry(cell.columns[name]) for name in columns))
        for cell in results.select(*columns, role=OTHER_SEEDS)
    )
    titles = (
        "largest JSD to another seed",
        "mean JSD",
        "decisions changed",
        "largest JSD with the same prediction (exact)",
    )
    note = "How far the attention of other seeds is from this one's, and how far any with the same prediction could be."
    return Table("Seeds", "Does attention depend on the seed?", note, ("data",), titles, rows)
