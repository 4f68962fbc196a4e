"""What claims about Jain and Wallace's models measure that no audit does."""

from collections.abc import Callable, Mapping

import torch
from scipy.stats import kendalltau

from heedful.battery.question import Values
from heedful.papers.claim_rule import only_where
from heedful.papers.reproduction import Cell
from heedful.papers.study_figures import LARGEST

GRADIENT, GRADIENT_P = "gradient_agreement.tau", "gradient_agreement.p"
LEAVE_ONE_OUT, LEAVE_ONE_OUT_P = "leave_one_out_agreement.tau", "leave_one_out_agreement.p"
EACH_OTHER = "leave_one_out_agreement.tau_gradient"
PERMUTED = "permutation.median_tvd"
ADVERSARIAL, CAP = "adversarial_attention.js", "adversarial_attention.cap"
WITHOUT_TOP = "adversarial_attention.without_top_1"

HIGH = 0.5
"""A largest weight that suggests a single word as the explanation."""
LITTLE = 0.1
"""A small change of the prediction."""
NEAR = 0.9
"""The share of its cap above which a divergence counts as near it."""


def little_change_at_high_weight(cell: Cell) -> Values:
    """1 where permuting changes the prediction by less than LITTLE, else 0; of the texts with a high weight."""
    return only_where((cell.columns[PERMUTED] < LITTLE).double(), cell.columns[LARGEST] >= HIGH)


def near_cap(cell: Cell) -> Values:
    """1 where some attention with the same answer is nearly as different as any attention can be, else 0."""
    cap = cell.columns[CAP]
    return only_where((cell.columns[ADVERSARIAL] >= NEAR * cap).double(), cap > 0)


def near_cap_at_high_weight(cell: Cell) -> Values:
    """The same, of the texts with a high weight."""
    return only_where(near_cap(cell), cell.columns[LARGEST] >= HIGH)


MODEST, WEAK = 0.5, 0.3
"""The largest agreement that the paper calls modest; and, by our reading, the largest trend that is weak."""


def trend_against_largest_weight(cell: Cell) -> Values:
    """Kendall's tau of the eps-max JSD with the largest weight, negated, for each seed."""
    pairs = zip(cell.columns[LARGEST], cell.columns[ADVERSARIAL], strict=True)
    taus = [-kendalltau(largest, divergence, nan_policy="omit").statistic for largest, divergence in pairs]
    return torch.tensor(taus, dtype=torch.float64).unsqueeze(1)


COLUMNS: Mapping[str, Callable[[Cell], Values]] = {
    "half_minus_tau_gradient": lambda cell: MODEST - cell.columns[GRADIENT],
    "half_minus_tau_leave_one_out": lambda cell: MODEST - cell.columns[LEAVE_ONE_OUT],
    "little_change_at_high_weight": little_change_at_high_weight,
    "near_cap": near_cap,
    "near_cap_at_high_weight": near_cap_at_high_weight,
    "trend_against_largest_weight": trend_against_largest_weight,
    "weakness_of_trend": lambda cell: WEAK - trend_against_largest_weight(cell),
}
