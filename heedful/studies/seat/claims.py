"""What Hu et al. (2023) say about their method, tested: as the paper defines it and as its code trains it."""

from collections.abc import Callable

from heedful.battery.question import Values
from heedful.studies.claims import paired, test_claim
from heedful.studies.seat.columns import (
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
from heedful.studies.study import Cell, Claim, Results

TOLERANCE, LEAST_OVERLAP, MAGNITUDE, SELECTIVE = 0.01, 0.8, 1.0, 1.5
"""Accuracy that may be lost; top words that must be kept; powers of ten; a largest weight that singles out a word."""
LEAST_JSD = 1e-12
"""Below it, rounding."""
VERSIONS = {SEAT: "as defined", SEAT_CODE: "as the authors' code trains it"}
TABLE_1, TABLE_2 = "section 5.2, Table 1", "section 5.3, Table 2"


def claims(results: Results) -> list[Claim]:
    """What the paper says about its method, each as a number above a threshold."""
    return [
        _predicts_as_well(results),
        *(_keeps_top_words(results, method) for method in VERSIONS),
        *_steadier_claims(results),
        *(_steadier_by_magnitudes(results, method) for method in VERSIONS),
        *(_selective(results, method) for method in VERSIONS),
        *_further_stability_claims(results),
        *_interpretability_claims(results),
    ]


def _vanilla_minus(results: Results, method: str, column: str) -> dict[str, Values]:
    """Vanilla - the method, text by text, wherever both were measured."""
    return _compared(results, method, column, paired)


def _compared(
    results: Results, method: str, column: str, compare: Callable[[Values, Values], Values]
) -> dict[str, Values]:
    """Vanilla and the method, compared text by text, wherever both were measured."""
    parts = {}
    for vanilla in results.select(column, method=VANILLA):
        other = results.find(column, data=vanilla.data, encoder=vanilla.encoder, method=method)
        if other is not None:
            parts[f"{vanilla.data}, {vanilla.encoder}"] = compare(vanilla.columns[column], other.columns[column])
    return parts


def _magnitudes(vanilla: Values, other: Values) -> Values:
    """How many powers of ten the other's divergence is smaller."""
    return paired(vanilla.clamp_min(LEAST_JSD).log10(), other.clamp_min(LEAST_JSD).log10())


def _by_cell(cells: list[Cell], measure: Callable[[Cell], Values]) -> dict[str, Values]:
    return {f"{cell.data}, {cell.encoder}": measure(cell) for cell in cells}


def _predicts_as_well(results: Results) -> Claim:
    lost = _vanilla_minus(results, SEAT, CORRECT)
    return test_claim(
        "predicts_as_well",
        "SEAT predicts as well as vanilla.",
        TABLE_1,
        f"{TOLERANCE} - the accuracy lost",
        {name: TOLERANCE - values for name, values in lost.items()},
    )


def _keeps_top_words(results: Results, method: str) -> Claim:
    return test_claim(
        f"keeps_top_words_{method}",
        f"SEAT keeps the most attended words ({VERSIONS[method]}).",
        "section 4, equation 5",
        "share of the top seven words that are vanilla's top seven, too",
        _by_cell(results.select(OVERLAP, method=method), lambda cell: cell.columns[OVERLAP]),
        threshold=LEAST_OVERLAP,
    )


def _steadier_claims(results: Results) -> list[Claim]:
    trained = {SEAT: "attention alone trained, as defined", SEAT_ALL: "everything trained"}
    return [
        test_claim(
            f"steadier_{method}",
            f"SEAT is steadier under noise on the embeddings ({how}).",
            TABLE_1,
            f"JSD of attention under the attack on embeddings, vanilla - {method}",
            _vanilla_minus(results, method, ATTACK),
        )
        for method, how in trained.items()
    ]


def _steadier_by_magnitudes(results: Results, method: str) -> Claim:
    return test_claim(
        f"steadier_by_magnitudes_{method}",
        f"SEAT is steadier by orders of magnitude ({VERSIONS[method]}).",
        TABLE_1,
        "how many powers of ten the JSD of attention under the attack on embeddings is smaller than vanilla's",
        _compared(results, method, ATTACK, _magnitudes),
        threshold=MAGNITUDE,
    )


def _selective(results: Results, method: str) -> Claim:
    return test_claim(
        f"selective_{method}",
        f"SEAT's attention distinguishes between words ({VERSIONS[method]}).",
        "section 4",
        "largest weight of a text, relative to uniform",
        _by_cell(results.select(LARGEST, ITEMS, method=method), largest_relative_to_uniform),
        threshold=SELECTIVE,
    )


def _further_stability_claims(results: Results) -> list[Claim]:
    return [
        test_claim(
            "steadier_predictions",
            "SEAT's predictions are steadier, too.",
            TABLE_1,
            "TVD of the prediction under the attack on embeddings, vanilla - seat",
            _vanilla_minus(results, SEAT, ATTACK_TVD),
        ),
        test_claim(
            "steadier_replaced_words",
            "SEAT is steadier where words are replaced.",
            "section 5.2, Table 3",
            "JSD of attention with one word replaced, vanilla - seat",
            _vanilla_minus(results, SEAT, REPLACED),
        ),
    ]


def _interpretability_claims(results: Results) -> list[Claim]:
    gained = _compared(results, SEAT, COMPREHENSIVENESS("attention"), lambda vanilla, other: paired(other, vanilla))
    return [
        test_claim(
            "more_necessary_words",
            "SEAT's top words are more necessary.",
            TABLE_2,
            "comprehensiveness, seat - vanilla",
            gained,
        ),
        test_claim(
            "more_sufficient_words",
            "SEAT's top words are more sufficient.",
            TABLE_2,
            "sufficiency (lower is better), vanilla - seat",
            _vanilla_minus(results, SEAT, SUFFICIENCY("attention")),
        ),
    ]
