"""The figures of the report, in their order; a new one is a function and a line here."""

from collections.abc import Callable

from heedful.report.agreement import tau_gradient, tau_gradient_leave_one_out, tau_leave_one_out
from heedful.report.erasure import erase_one, erase_one_flips, erase_one_negative, fraction_erased, mass_erased
from heedful.report.figure import Figure
from heedful.report.perturbation import adversarial_attention, adversarial_attention_by_largest, permutation
from heedful.report.retrained import adversaries_plane, adversaries_seeds
from heedful.report.stability import (
    certified_share,
    noise_by_largest,
    seeds_by_largest,
    substitution_by_largest,
    top_word_curves,
)
from heedful.report.texts import Texts
from heedful.report.words import token_weights

FIGURES: tuple[Callable[[Texts], Figure | None], ...] = (
    tau_gradient,
    tau_leave_one_out,
    tau_gradient_leave_one_out,
    permutation,
    adversarial_attention,
    adversarial_attention_by_largest,
    erase_one,
    erase_one_negative,
    erase_one_flips,
    fraction_erased,
    mass_erased,
    adversaries_plane,
    adversaries_seeds,
    seeds_by_largest,
    noise_by_largest,
    substitution_by_largest,
    top_word_curves,
    certified_share,
    token_weights,
)


def draw_figures(texts: Texts) -> list[Figure]:
    """Every figure whose rows are there."""
    drawn = (figure(texts) for figure in FIGURES)
    return [figure for figure in drawn if figure is not None]
