"""The tables of Hu et al. (2023): ours as means over texts, and beside them on the scale that the paper prints."""

from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import MINILM, Cell, Entry, Results, Table
from heedful.papers.seat.claims import (
    ATTACK,
    ATTACK_TVD,
    CERTIFICATE,
    COMPREHENSIVENESS,
    ITEMS,
    LARGEST,
    NAME,
    NOISE,
    OTHER_SEEDS,
    OVERLAP,
    RADII,
    REPLACED,
    SEAT,
    SEAT_CODE,
    SENSITIVITY,
    SENSITIVITY_AREA,
    SUFFICIENCY,
    TO_COMPANION,
    VANILLA,
    WITHOUT_STABILITY,
    WITHOUT_TOPK,
    WORDS,
    largest_relative_to_uniform,
    printed_comprehensiveness,
    printed_tvd,
    suffix,
)

ABLATION_RADIUS = 0.01
ABLATED = (VANILLA, SEAT, WITHOUT_STABILITY, WITHOUT_TOPK)
PRINTED_AS = {SEAT_CODE: SEAT, MINILM: "bert"}
"""The paper's SEAT is shown beside ours as defined and as its code trains it, its BERT beside our MiniLM."""


def tables(results: Results) -> list[Table]:
    """Tables 1 to 4 and 6 to 10, and two that the paper lacks: what attention looks like, and certificates."""
    return [
        _embeddings(results),
        _interpretability(results),
        _words(results),
        _ablation(results),
        _concentration(results),
        _certificates(results),
    ]


def _paper(cell: Cell, measure: str, *items: str) -> float | None:
    """The paper's number in the first of these tables that has it."""
    model = " ".join(PRINTED_AS.get(name, name) for name in (cell.encoder, cell.method))
    printed = (number(NAME, item=item, data=cell.data, model=model, measure=measure) for item in items)
    return next((value for value in printed if value is not None), None)


def _embeddings(results: Results) -> Table:
    rows = [
        ((cell.data, cell.model, f"{radius:g}"), _noise_entries(cell, radius))
        for cell in results.select(ATTACK, NOISE)
        for radius in RADII
    ]
    note = (
        "JSD of attention and TVD of the prediction under Gaussian noise on one word, and under the worst noise on all "
        "words that ascent finds. On the paper's scale TVD is a sum over a batch of 32, and for vanilla it is another "
        "quantity, which is 16 where nothing moves: vanilla's rows cannot be compared with the others. The paper's "
        "SEAT is shown beside both SEAT as defined and SEAT as its code trains it, and its BERT beside our MiniLM."
    )
    columns = ("JSD, one word", "JSD, attack", "TVD, attack", "TVD on the paper's scale", "F1")
    return Table("Tables 1 and 8", "Noise on embeddings", note, ("data", "model", "radius"), columns, tuple(rows))


def _noise_entries(cell: Cell, radius: float) -> tuple[Entry, ...]:
    ending = suffix(RADII, radius)
    js, tvd, f1 = (
        _paper(cell, f"{measure} radius={radius:g}", "Table 1", "Table 8")
        for measure in ("embedding_jsd", "embedding_tvd", "f1")
    )
    return (
        entry(cell.columns[f"{NOISE}{ending}"]),
        entry(cell.columns[f"{ATTACK}{ending}"], js),
        entry(cell.columns[f"{ATTACK_TVD}{ending}"]),
        entry(printed_tvd(cell, radius), tvd),
        Entry(score_estimate(cell, "f1"), f1),
    )


def _interpretability(results: Results) -> Table:
    rows = []
    for cell in results.select(COMPREHENSIVENESS("attention")):
        searched = results.find(data=cell.data, encoder=cell.encoder, method=cell.method, role=SENSITIVITY)
        rows.append(((cell.data, cell.model), _interpretability_entries(cell, searched)))
    note = (
        "Ours: means over texts and over rationales of 1, 3, 5, 10 words and a fifth of the text, deleted. The paper's "
        "code empties all texts of a batch at the top words of any of them, which is all words: its comprehensiveness "
        "is the effect of all words, summed over the batch, and its sufficiency is near 0 by construction. Its "
        "sensitivity measures something else, too."
    )
    columns = (
        "comprehensiveness",
        "random words",
        "comprehensiveness on the paper's scale",
        "sufficiency",
        "random words",
        "sensitivity",
        "random words",
    )
    return Table("Tables 2 and 9", "Interpretability", note, ("data", "model"), columns, tuple(rows))


def _interpretability_entries(cell: Cell, searched: Cell | None) -> tuple[Entry, ...]:
    """Of a model, and of the same where its sensitivity was searched for."""
    columns, sensitivity = cell.columns, searched.columns if searched else {}
    comprehensiveness_in_paper, sufficiency_in_paper, sensitivity_in_paper = (
        _paper(cell, measure, "Table 2") for measure in ("comprehensiveness", "sufficiency", "sensitivity")
    )
    return (
        entry(columns[COMPREHENSIVENESS("attention")]),
        entry(columns[COMPREHENSIVENESS("random")]),
        entry(printed_comprehensiveness(cell), comprehensiveness_in_paper),
        entry(columns[SUFFICIENCY("attention")], sufficiency_in_paper),
        entry(columns[SUFFICIENCY("random")]),
        entry(sensitivity.get(SENSITIVITY_AREA("attention")), sensitivity_in_paper),
        entry(sensitivity.get(SENSITIVITY_AREA("random"))),
    )


def _words(results: Results) -> Table:
    rows = []
    for cell in results.select(REPLACED):
        for count in WORDS:
            ending = suffix(WORDS, count)
            entries = tuple(
                entry(cell.columns[f"word_substitution.{measure}{ending}"])
                for measure in ("js", "tvd", "flips", "overlap")
            )
            rows.append(((cell.data, cell.model, str(count)), entries))
    note = (
        "The paper's tables are for BERT and, except for vanilla, repeat its numbers from another table, so none are "
        "shown here."
    )
    columns = ("JSD", "TVD", "decisions changed", "top-7 overlap")
    return Table("Tables 3 and 10", "Words replaced", note, ("data", "model", "words"), columns, tuple(rows))


def _ablation(results: Results) -> Table:
    rows = [
        ((cell.data, cell.model), _ablation_entries(cell))
        for cell in results.select(ATTACK, COMPREHENSIVENESS("attention"))
        if cell.method in ABLATED
    ]
    note = (
        f"At radius {ABLATION_RADIUS:g}. TVD and comprehensiveness on the paper's scale; the rest as means over texts."
    )
    columns = ("JSD, attack", "TVD on the paper's scale", "F1", "comprehensiveness on the paper's scale", "sufficiency")
    return Table("Tables 4, 6 and 7", "Without one of the terms", note, ("data", "model"), columns, tuple(rows))


def _ablation_entries(cell: Cell) -> tuple[Entry, ...]:
    at = f" radius={ABLATION_RADIUS:g}"
    js = cell.columns[f"{ATTACK}{suffix(RADII, ABLATION_RADIUS)}"]
    tvd, comprehensiveness = printed_tvd(cell, ABLATION_RADIUS), printed_comprehensiveness(cell)
    sufficiency = cell.columns[SUFFICIENCY("attention")]
    return (
        entry(js, _paper(cell, f"embedding_jsd{at}", "Table 6")),
        entry(tvd, _paper(cell, f"embedding_tvd{at}", "Table 6", "Table 4")),
        Entry(score_estimate(cell, "f1"), _paper(cell, f"f1{at}", "Table 6", "Table 4")),
        entry(comprehensiveness, _paper(cell, f"comprehensiveness{at}", "Table 7")),
        entry(sufficiency, _paper(cell, f"sufficiency{at}", "Table 7", "Table 4")),
    )


def _concentration(results: Results) -> Table:
    rows = []
    for cell in results.select(LARGEST, ITEMS):
        beside_seeds = results.find(data=cell.data, encoder=cell.encoder, method=cell.method, role=OTHER_SEEDS)
        entries = (
            entry(largest_relative_to_uniform(cell)),
            entry(cell.columns.get(OVERLAP)),
            entry(cell.columns.get(TO_COMPANION)),
            entry(beside_seeds.columns.get(TO_COMPANION) if beside_seeds else None),
        )
        rows.append(((cell.data, cell.model), entries))
    note = (
        "The largest weight of a text relative to uniform is 1 where attention gives all words the same weight; such "
        "attention is as stable as attention can be."
    )
    columns = (
        "largest weight, relative to uniform",
        "top-7 overlap with vanilla",
        "JSD to vanilla",
        "JSD to another seed",
    )
    return Table("What attention looks like", "How concentrated it is", note, ("data", "model"), columns, tuple(rows))


def _certificates(results: Results) -> Table:
    rows = []
    for cell in results.select(CERTIFICATE("linf")):
        radius = cell.columns[CERTIFICATE("linf")]
        measures = [cell.columns[CERTIFICATE(norm)] for norm in ("l1", "l2", "linf")]
        measures += [(radius > least).double() for least in (0.01, 0.05)]
        rows.append(((cell.data, cell.model), tuple(map(entry, measures))))
    columns = ("radius, l1", "l2", "linf", "certified at .01 (linf)", "certified at .05 (linf)")
    note = "How far attention, as a distribution, may be off before the decision can change: exact, text by text."
    return Table(
        "Certificates", "What no perturbation of the weights can change", note, ("data", "model"), columns, tuple(rows)
    )
