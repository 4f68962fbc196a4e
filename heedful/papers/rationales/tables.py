"""Tables: how plausible and how faithful attention is, with and without guidance; and every ranking by itself."""

from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.published import number
from heedful.papers.rationales.columns import (
    AUPRC,
    COMPREHENSIVENESS,
    FRACTION,
    GRADIENT,
    HATEXPLAIN,
    MOVIES,
    NAME,
    NONE,
    PRECISION,
    PRINTED_AS,
    SUFFICIENCY,
    TOKEN_F1,
    iou_f1,
    model_name,
    saved,
)
from heedful.papers.reproduction import MINILM, Cell, Entry, Results, Table

RANKINGS = {
    "attention": "attention",
    "attention_x_gradient": "attention x gradient",
    GRADIENT: "gradient x input",
    "random": "random order",
}
TRIVIAL = {"first": "first words", "longest": "longest words", "rarest": "rarest words"}
TOP = {HATEXPLAIN: "5", MOVIES: "20%"}
"""At which number of words comprehensiveness and sufficiency are shown, as near to the papers as ours have it."""


def tables(results: Results) -> list[Table]:
    """Performance; explainability; rankings that know nothing of the model; every ranking."""
    return [_performance(results), _explainability(results), _trivial(results), _rankings(results)]


def _printed(cell: Cell, measure: str) -> float | None:
    if cell.data != HATEXPLAIN or cell.encoder == MINILM:
        return None
    return number(NAME, item="results table", data=cell.data, model=PRINTED_AS[cell.method], measure=measure)


def _performance(results: Results) -> Table:
    rows = [
        (
            (cell.data, model_name(cell)),
            (
                Entry(score_estimate(cell, "accuracy"), _printed(cell, "accuracy")),
                Entry(score_estimate(cell, "roc_auc"), _printed(cell, "roc_auc")),
            ),
        )
        for cell in results.select()
    ]
    note = "Ours tells two classes apart, the paper three (normal, offensive, hate speech): theirs is the harder task."
    return Table(
        "Performance", "How well the models predict", note, ("data", "model"), ("accuracy", "AUC"), tuple(rows)
    )


def _explainability(results: Results) -> Table:
    rows = []
    for cell in results.select(PRECISION("attention"), FRACTION("attention")):
        if cell.method == NONE:
            continue
        columns, top = cell.columns, TOP[cell.data]
        entries = (
            Entry(iou_f1(cell, "attention"), _printed(cell, "iou_f1")),
            entry(columns[TOKEN_F1("attention")], _printed(cell, "token_f1")),
            entry(columns[AUPRC("attention")], _printed(cell, "auprc")),
            entry(columns[PRECISION("attention")]),
            entry(columns[COMPREHENSIVENESS(f"attention_{top}")], _printed(cell, "comprehensiveness")),
            entry(columns[SUFFICIENCY(f"attention_{top}")], _printed(cell, "sufficiency")),
            entry(saved(cell)),
        )
        rows.append(((cell.data, model_name(cell)), entries))
    note = (
        "Of attention. Plausibility: IOU F1 as HateXplain has it, token F1 (of 5 words; of 31 % on movie reviews), "
        "ERASER's AUPRC, average precision. Faithfulness: comprehensiveness (larger is better) and sufficiency "
        "(smaller is better) of 5 words (of a fifth of a review); the share of a text that need not be erased, "
        "compared with a random order, before the decision changes."
    )
    titles = ("IOU F1", "token F1", "AUPRC", "average precision", "comprehensiveness", "sufficiency", "share saved")
    return Table("Explainability", "How plausible and how faithful", note, ("data", "model"), titles, tuple(rows))


def _trivial(results: Results) -> Table:
    """What needs no model: once for each data set."""
    rows = []
    for data in results.datasets:
        cells = results.select(AUPRC("constant"), PRECISION("first"), data=data)
        if not cells:
            continue
        columns = cells[0].columns
        entries = [entry(columns[PRECISION(name)]) for name in ("random", *TRIVIAL)]
        entries += [entry(columns[TOKEN_F1(name)]) for name in ("random", "best")]
        entries += [entry(columns[AUPRC(name)]) for name in ("random", "constant")]
        rows.append(((data,), tuple(entries)))
    titles = (
        *(f"average precision, {name}" for name in ("random order", *TRIVIAL.values())),
        "token F1, random order",
        "token F1, best possible",
        "AUPRC, random scores",
        "AUPRC, constant scores",
    )
    note = "Rankings that know nothing of any model, on the audited texts; random ones in exact expectation."
    return Table("Floors", "What ignorance reaches", note, ("data",), titles, tuple(rows))


def _rankings(results: Results) -> Table:
    rows = []
    for cell in results.select(PRECISION("attention"), FRACTION("attention")):
        for name, title in RANKINGS.items():
            shown = COMPREHENSIVENESS(name)
            values = (PRECISION(name), shown if name in ("attention", GRADIENT, "random") else "", FRACTION(name))
            entries = tuple(entry(cell.columns[column]) if column else Entry(None) for column in values)
            rows.append(((cell.data, model_name(cell), title), entries))
    note = (
        "Average precision against the marks; comprehensiveness, the mean over 1, 3, 5, 10 words and a fifth of a "
        "text; the share of a text that is erased before the decision changes (smaller is better)."
    )
    titles = ("average precision", "comprehensiveness", "share erased")
    return Table("Rankings", "Every ranking", note, ("data", "model", "ranking"), titles, tuple(rows))
