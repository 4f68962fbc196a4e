"""What claims about Serrano and Smith's models measure that no audit does."""

from collections.abc import Callable, Mapping
from math import nan

import torch

from heedful.battery.question import Columns, Values
from heedful.papers.claim_rule import mean_of_models, only_where
from heedful.papers.reproduction import Cell

FRACTION, MASS = "erase_until_flip.fraction_{}".format, "erase_until_flip.mass_{}".format
FLIPS, OTHER_FLIPS = "erase_one.flips_{}".format, "erase_one.other_flips_{}".format
DELTA_JS, DELTA_ATTENTION = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"
RANDOM, ATTENTION, GRADIENT, PRODUCT, MINIMAL = (
    FRACTION(ranking) for ranking in ("random", "attention", "weight_gradient", "attention_x_gradient", "minimal")
)
ROUNDING = 1e-9
"""A ranking that erases more than the smallest set by less than this finds it."""
LARGE_GAP, NEAR_TIE, LITTLE, SHIFT = (0.3, 0.5), 0.2, 0.02, 0.25
"""Differences in weight "like 0.4" and near 0, a small effect in nats, and the paper's shift in attention mass."""


def _truth(condition: Values, where: Values) -> Values:
    """1 if the condition holds, else 0; NaN unless the second holds."""
    return only_where(condition.double(), where.bool())


def _difference(columns: Columns, first: str, second: str) -> Values:
    return columns[first] - columns[second]


def _sooner(columns: Columns) -> Values:
    saved = _difference(columns, ATTENTION, GRADIENT)
    return _truth(saved > 0, saved.abs() > ROUNDING)


def _above(columns: Columns, first: str, second: str) -> Values:
    """1 if the first exceeds the second, else 0; NaN if one of them is undefined."""
    excess = _difference(columns, first, second)
    return _truth(excess > ROUNDING, ~excess.isnan())


def _mass_shift(columns: Columns, ranking: str) -> Values:
    return _difference(columns, MASS("attention"), MASS(ranking)) - SHIFT


def _either(columns: Columns) -> Values:
    return 1 - (1 - columns[FLIPS("attention")]) * (1 - columns[OTHER_FLIPS("attention")])


def _little_at_large_gap(columns: Columns) -> Values:
    moved, gap = columns[DELTA_JS], columns[DELTA_ATTENTION]
    return _truth(moved < LITTLE, (moved > 0) & (gap >= LARGE_GAP[0]) & (gap <= LARGE_GAP[1]))


def _all_rankings(columns: Columns) -> Values:
    rankings = mean_of_models([columns[name] for name in (RANDOM, ATTENTION, GRADIENT, PRODUCT)])
    return torch.full_like(columns[ATTENTION], nan) if rankings is None else rankings


OF_COLUMNS: Mapping[str, Callable[[Columns], Values]] = {
    "gradient_sooner": _sooner,
    "product_finds_less": lambda columns: _above(columns, ATTENTION, PRODUCT),
    "attention_misses_smallest": lambda columns: _above(columns, ATTENTION, MINIMAL),
    "fraction_of_all_rankings": _all_rankings,
    "mass_shift_of_gradient": lambda columns: _mass_shift(columns, "weight_gradient"),
    "mass_shift_of_product": lambda columns: _mass_shift(columns, "attention_x_gradient"),
    "top_item_keeps_the_prediction": lambda columns: 1 - columns[FLIPS("attention")],
    "top_item_moves_more": lambda columns: _truth(columns[DELTA_JS] > 0, ~columns[DELTA_JS].isnan()),
    "either_flips": _either,
    "little_effect_at_large_gap": _little_at_large_gap,
    "negative_difference_is_small": lambda columns: _truth(columns[DELTA_JS] > -LITTLE, columns[DELTA_JS] < 0),
    "negative_difference_is_near_tie": lambda columns: _truth(
        columns[DELTA_ATTENTION] < NEAR_TIE, columns[DELTA_JS] < 0
    ),
}


def _of_cell(measure: Callable[[Columns], Values]) -> Callable[[Cell], Values]:
    return lambda cell: measure(cell.columns)


COLUMNS = {name: _of_cell(measure) for name, measure in OF_COLUMNS.items()}
