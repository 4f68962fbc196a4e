"""Exact answers from attention, item_logits and empty_logits, if everything after attention is linear.

Erasures take `log_attention`, the logarithms of the weights, since what is left may be too light for the weights.
`items` is True where there is an item; whatever stands elsewhere counts for nothing. Everything is computed, and
comes back, in float64.
"""

from heedful.exact.adversary import Adversary, eps_max_js, prediction_survives_without_top, without_top
from heedful.exact.ball import Norm
from heedful.exact.certificates import certified_radius, certified_radius_on_simplex, certified_radius_zero_sum
from heedful.exact.erasure import (
    FirstFlip,
    first_flip,
    first_flips,
    prefix_logits,
    single_erasure_logits,
)
from heedful.exact.flip_set import FlipSet, minimal_flip_set
from heedful.exact.frozen import FrozenOptimum, frozen_optimum
from heedful.exact.linear_form import item_margins
from heedful.exact.log_space import log_weights
from heedful.exact.permutation import (
    WorstPermutation,
    draw_permutations,
    expected_permuted_js,
    logits_of_permutations,
    order_keys,
    orders_by,
    permuted_logits,
    random_orders,
    some_permutation_flips,
    worst_permutation,
)
from heedful.exact.several_classes import Witness, eps_max_js_bound, prediction_survives_on_items
from heedful.exact.worst_case import (
    WorstCase,
    worst_case_free,
    worst_case_in_box,
    worst_case_on_simplex,
    worst_case_zero_sum,
)

__all__ = [
    "Adversary",
    "FirstFlip",
    "FlipSet",
    "FrozenOptimum",
    "WorstPermutation",
    "Norm",
    "Witness",
    "WorstCase",
    "prediction_survives_on_items",
    "prediction_survives_without_top",
    "certified_radius",
    "certified_radius_on_simplex",
    "certified_radius_zero_sum",
    "draw_permutations",
    "eps_max_js",
    "eps_max_js_bound",
    "expected_permuted_js",
    "first_flip",
    "first_flips",
    "frozen_optimum",
    "item_margins",
    "log_weights",
    "logits_of_permutations",
    "minimal_flip_set",
    "worst_permutation",
    "order_keys",
    "orders_by",
    "permuted_logits",
    "prefix_logits",
    "random_orders",
    "single_erasure_logits",
    "some_permutation_flips",
    "without_top",
    "worst_case_free",
    "worst_case_in_box",
    "worst_case_on_simplex",
    "worst_case_zero_sum",
]
