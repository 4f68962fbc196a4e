"""What Hu et al. (2023) say about their method, tested: as the paper defines it and as its code trains it."""

from collections.abc import Callable, Sequence

from heedful.battery.question import Values
from heedful.papers.claim_rule import Part, paired, part_of, test_claim
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.seat.columns import (
    ATTACK,
    ATTACK_TVD,
    COMPREHENSIVENESS,
    CORRECT,
    ITEMS,
    LARGEST,
    OVERLAP,
    REPLACED,
    SEAT,
    SEAT_ALL,
    SEAT_CODE,
    SUFFICIENCY,
    VANILLA,
    largest_relative_to_uniform,
)

LEAST = 1e-12
"""A change below it is rounding."""
VERSIONS = {SEAT: "as defined", SEAT_CODE: "as the authors' code trains it"}
TRAINED = {SEAT: "attention alone trained, as defined", SEAT_ALL: "everything trained"}
STABILITY, INTERPRETABILITY = "Stability Evaluation, {}".format, "Evaluating Interpretability and Utility, {}".format
POWERS, PROBABILITY = "powers of ten", "probability"
STEADIER = 0.1
"""A tenth of a power of ten: a fifth less."""

PREDICTS_AS_WELL = Claim(
    id="predicts_as_well",
    statement="SEAT predicts as well as vanilla.",
    quote="there is almost no accuracy deterioration in SEAT",
    source=INTERPRETABILITY("Table 1 (of F1; ours: accuracy, text by text)"),
    measured="accuracy, seat - vanilla",
    unit="accuracy",
    margin=0.01,
    kind="no_less",
)
KEEPS_TOP_WORDS = {
    method: Claim(
        id=f"keeps_top_words_{method}",
        statement=f"SEAT keeps the most attended words ({how}).",
        quote="the vanilla attention should have large overlaps",
        source='Introduction, property 2 ("large": our reading, .8)',
        measured="share of the top seven words that are vanilla's top seven, too",
        unit="share of words",
        margin=0.05,
        baseline=0.8,
    )
    for method, how in VERSIONS.items()
}
STEADIER_ATTENTION = {
    method: Claim(
        id=f"steadier_{method}",
        statement=f"SEAT's attention is steadier under noise on the embeddings ({how}).",
        quote="SEAT outperforms other baselines with RNN, BiLSTM and BERT under JSD and TVD evaluation metrics",
        source=STABILITY("Table 1"),
        measured=f"powers of ten by which {method} lowers vanilla's JSD of attention under the attack on embeddings",
        unit=POWERS,
        margin=STEADIER,
    )
    for method, how in TRAINED.items()
}
STEADIER_BY_MAGNITUDES = {
    method: Claim(
        id=f"steadier_by_magnitudes_{method}",
        statement=f"SEAT's attention is steadier by orders of magnitude ({how}).",
        quote="the JSD of all our results are almost zero",
        source=STABILITY("Table 1 (orders of magnitude: our reading of its numbers)"),
        measured=f"powers of ten by which {method} lowers vanilla's JSD of attention under the attack on embeddings",
        unit=POWERS,
        margin=0.5,
        baseline=1.0,
    )
    for method, how in VERSIONS.items()
}
SELECTIVE = {
    method: Claim(
        id=f"selective_{method}",
        statement=f"SEAT's attention distinguishes between words ({how}).",
        quote="",
        source="our reading: attention that ranks words, as the Motivation asks of it, cannot be uniform",
        measured="largest weight of a text, relative to uniform",
        unit="uniform weights",
        margin=0.25,
        baseline=1.5,
    )
    for method, how in VERSIONS.items()
}
STEADIER_PREDICTIONS = Claim(
    id="steadier_predictions",
    statement="SEAT's predictions are steadier, too.",
    quote="the TVD of SEAT is small",
    source=STABILITY("Table 1"),
    measured="powers of ten by which seat lowers vanilla's TVD of the prediction under the attack on embeddings",
    unit=POWERS,
    margin=STEADIER,
)
STEADIER_REPLACED = Claim(
    id="steadier_replaced_words",
    statement="SEAT's attention is steadier where words are replaced.",
    quote="the JSD of SEAT is much smaller than it of the vanilla attention",
    source=STABILITY("Table 3 (of BERT; ours: of RNN, BiLSTM and, where it is at hand, MiniLM)"),
    measured="powers of ten by which seat lowers vanilla's JSD of attention with one word replaced",
    unit=POWERS,
    margin=STEADIER,
)
MORE_NECESSARY = Claim(
    id="more_necessary_words",
    statement="SEAT's top words are more necessary.",
    quote="SEAT outperforms other baselines on all three evaluation metrics",
    source=INTERPRETABILITY("Table 2"),
    measured="comprehensiveness, seat - vanilla",
    unit=PROBABILITY,
    margin=0.02,
)
MORE_SUFFICIENT = Claim(
    id="more_sufficient_words",
    statement="SEAT's top words are more sufficient.",
    quote="SEAT outperforms other baselines on all three evaluation metrics",
    source=INTERPRETABILITY("Table 2"),
    measured="sufficiency (lower is better), vanilla - seat",
    unit=PROBABILITY,
    margin=0.02,
)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its method, each tested by itself."""
    return [
        test_claim(PREDICTS_AS_WELL, _accuracy_kept(results)),
        *(
            test_claim(claim, _by_cell(results.select(OVERLAP, method=method), lambda cell: cell.columns[OVERLAP]))
            for method, claim in KEEPS_TOP_WORDS.items()
        ),
        *(test_claim(claim, _lowered(results, method, ATTACK)) for method, claim in STEADIER_ATTENTION.items()),
        *(test_claim(claim, _lowered(results, method, ATTACK)) for method, claim in STEADIER_BY_MAGNITUDES.items()),
        *(
            test_claim(claim, _by_cell(results.select(LARGEST, ITEMS, method=method), largest_relative_to_uniform))
            for method, claim in SELECTIVE.items()
        ),
        test_claim(STEADIER_PREDICTIONS, _lowered(results, SEAT, ATTACK_TVD)),
        test_claim(STEADIER_REPLACED, _lowered(results, SEAT, REPLACED)),
        test_claim(MORE_NECESSARY, _compared(results, SEAT, COMPREHENSIVENESS("attention"), _gained)),
        test_claim(MORE_SUFFICIENT, _compared(results, SEAT, SUFFICIENCY("attention"), paired)),
    ]


def _pairs(results: Results, method: str, column: str) -> list[tuple[Cell, Cell]]:
    """The vanilla cell and the method's, wherever both were measured."""
    return [
        (vanilla, other)
        for vanilla in results.select(column, method=VANILLA)
        if (other := results.find(column, data=vanilla.data, encoder=vanilla.encoder, method=method)) is not None
    ]


def _compared(
    results: Results, method: str, column: str, compare: Callable[[Values, Values], Values]
) -> dict[str, Part]:
    """Vanilla and the method, compared text by text."""
    return {
        _name(vanilla): part_of(compare(vanilla.columns[column], other.columns[column]), vanilla, other)
        for vanilla, other in _pairs(results, method, column)
    }


def _gained(vanilla: Values, other: Values) -> Values:
    return paired(other, vanilla)


def _lowered(results: Results, method: str, column: str) -> dict[str, Part]:
    """By how many powers of ten the method lowers a measure of change, text by text."""
    return _compared(
        results,
        method,
        column,
        lambda vanilla, other: paired(vanilla.clamp_min(LEAST).log10(), other.clamp_min(LEAST).log10()),
    )


def _accuracy_kept(results: Results) -> dict[str, Part]:
    """Only vanilla must have learnt its task: a method that has not has lost accuracy."""
    return {
        _name(vanilla): part_of(_gained(vanilla.columns[CORRECT], other.columns[CORRECT]), vanilla)
        for vanilla, other in _pairs(results, SEAT, CORRECT)
    }


def _by_cell(cells: Sequence[Cell], measure: Callable[[Cell], Values]) -> dict[str, Part]:
    return {_name(cell): part_of(measure(cell), cell) for cell in cells}


def _name(cell: Cell) -> str:
    return f"{cell.data}, {cell.encoder}"
