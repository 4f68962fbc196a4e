"""Each figure of a single text, read back: the text's value stands where the axes say."""

import math
from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from heedful.report.figure import to_svg
from heedful.report.figures import FIGURES
from heedful.report.texts import gather_texts
from support.svg import has_axes, panel_points, words

VALUE, OTHER = 0.37, 0.23


def has_mark_across(drawing: str, value: float) -> bool:
    return any(x == pytest.approx(value, abs=1e-3) for mark in panel_points(drawing) for x, _ in mark)


def has_mark_up(drawing: str, value: float) -> bool:
    return any(y == pytest.approx(value, abs=1e-3) for mark in panel_points(drawing) for _, y in mark)


def has_bar(drawing: str, value: float) -> bool:
    """Whether all texts, which are one, are in a bin around the value."""
    tops = [[x for x, y in mark if y == pytest.approx(1)] for mark in panel_points(drawing) if len(mark) > 1]
    return any(top and min(top) <= value <= max(top) <= min(top) + 0.06 for top in tops)


def has_fall(drawing: str, value: float) -> bool:
    """Whether a curve of the last norm stays at 1 as far as the value and no farther."""
    ends = [max(x for x, y in mark if y == pytest.approx(1)) for mark in panel_points(drawing, panel=2)]
    return any(end <= value < end + 1 / 60 + 1e-9 for end in ends)


def has_number(drawing: str, value: float) -> bool:
    return f"{100 * value:.1f}" in words(drawing)


def is_stated(drawing: str, value: float) -> bool:
    """Whether the value stands in the sentence that takes the place of a chart of a single point."""
    return f"{value:.2f}, a single value." in " ".join(words(drawing))


Check = Callable[[str, float], bool]
DRAWN: dict[str, tuple[str, Check]] = {
    "tau_gradient": ("gradient_agreement.tau", has_bar),
    "tau_leave_one_out": ("leave_one_out_agreement.tau", has_bar),
    "tau_gradient_leave_one_out": ("leave_one_out_agreement.tau_gradient", has_bar),
    "permutation": ("permutation.median_tvd", has_mark_across),
    "adversarial_attention": ("adversarial_attention.js", has_bar),
    "adversarial_attention_by_largest": ("adversarial_attention.js", has_mark_across),
    "erase_one": ("erase_one.delta_attention_attention", has_mark_across),
    "erase_one_negative": ("erase_one.delta_attention_attention", has_bar),
    "erase_one_flips": ("erase_one.other_flips_attention", has_number),
    "fraction_erased": ("erase_until_flip.fraction_attention", has_mark_across),
    "mass_erased": ("erase_until_flip.mass_attention", has_mark_across),
    "adversaries_plane": ("adversarial_models.tvd_1", has_mark_up),
    "adversaries_seeds": ("adversarial_models.tvd_1", has_mark_across),
    "seeds_by_largest": ("seeds.max_js", has_mark_across),
    "noise_by_largest": ("embedding_noise.js", has_mark_across),
    "substitution_by_largest": ("word_substitution.js", has_mark_across),
    "top_word_curves": ("comprehensiveness_sufficiency.comprehensiveness_attention_3", has_mark_up),
    "certified_share": ("certificate.linf_simplex", has_fall),
    "token_weights": ("token_scores.weight[positive]", has_mark_across),
}
"""For each figure a measure that it shows, and how the value of a single text can be read off the drawing."""

GIVEN = {
    "erase_one.delta_js_attention": -0.1,  # else no text is where the other word mattered more
    "erase_one.flips_attention": 1.0,
    "adversarial_models.js_1": math.log(2),  # AtteFa is then the distance of the answers
}


@pytest.fixture(scope="module")
def single(audits):
    """The first text, with numbers for all that is undefined."""
    texts = gather_texts(audits[:1])
    given = [pl.lit(value).alias(column) for column, value in GIVEN.items()]
    frame = texts.frame.head(1).with_columns(pl.selectors.starts_with("erase_until_flip.") * 0 + 1)
    return replace(texts, frame=frame.fill_nan(0.5).with_columns(given))


def test_the_value_of_a_single_text_is_in_its_figure(single):
    for figure in FIGURES:
        name = figure.__name__
        assert name in DRAWN, "say in DRAWN how the value is read off this figure"
        column, has_value = DRAWN[name]
        valued, other = (
            to_svg(figure(replace(single, frame=single.frame.with_columns(pl.lit(value).alias(column)))))
            for value in (VALUE, OTHER)
        )
        shows = has_value if has_axes(valued) else is_stated
        assert shows(valued, VALUE) and not shows(other, VALUE), name


def test_a_single_point_stands_at_both_of_its_values(single):
    points = [mark[0] for mark in panel_points(to_svg(next(f for f in FIGURES if f.__name__ == "erase_one")(single)))]
    lead = single.frame["erase_one.delta_attention_attention"].item()
    assert (pytest.approx(lead, abs=1e-3), pytest.approx(-0.1, abs=1e-3)) in points
