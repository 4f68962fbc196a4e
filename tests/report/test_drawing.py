import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.report.drawing import COLORS, DARK, axis_ends, five_numbers, histogram, x_axis, y_axis
from support.html_page import contrast

numbers = st.lists(st.floats(-2, 2), min_size=1, max_size=11)


def test_histograms_and_boxes_by_hand():
    frame = pl.DataFrame({"run": ["a"] * 4, "value": [-1.0, -0.6, 0.1, 1.0]})
    bars = histogram(frame, ["run"], -1.0, 1.0, 4)
    assert bars["left"].to_list() == [-1, -0.5, 0, 0.5, 1]
    assert bars["share"].to_list() == [0.5, 0, 0.25, 0.25, 0.25]
    box = five_numbers(pl.DataFrame({"run": ["a"] * 6, "value": [1.0, 2.0, 3.0, 4.0, 5.0, 90.0]}), ["run"])
    assert box["high"].item() == 5


@given(numbers, numbers)
def test_every_group_of_a_histogram_adds_up_to_one(ours, theirs):
    frame = pl.DataFrame({"run": ["a"] * len(ours) + ["b"] * len(theirs), "value": ours + theirs})
    bars = histogram(frame, ["run"], -1.0, 1.0, 7)
    for _, group in bars.group_by("run"):
        assert sum(group["share"].to_list()[:-1]) == pytest.approx(1, abs=1e-4)


@given(numbers)
def test_a_box_is_what_numpy_says(values):
    box = five_numbers(pl.DataFrame({"run": ["a"] * len(values), "value": values}), ["run"]).row(0, named=True)
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
    assert (box["q1"], box["median"], box["q3"]) == pytest.approx((q1, median, q3), abs=1e-4)
    inside = [value for value in values if q1 - 1.5 * (q3 - q1) <= value <= q3 + 1.5 * (q3 - q1)]
    assert (box["low"], box["high"]) == pytest.approx((min(inside), max(inside)), abs=1e-4)
    assert box["texts"] == len(values)


def parts(color):
    return tuple(int(color[at : at + 2], 16) for at in (1, 3, 5))


def test_every_color_stands_out_on_light_and_dark_pages():
    for color in COLORS:
        assert contrast(parts(color), parts("#ffffff")) >= 4
        assert contrast(parts(DARK[color]), parts("#191f26")) >= 4


# Axes show their data, whatever its size.

numbers_axis = st.floats(-1e3, 1e3).filter(lambda number: number == 0 or abs(number) > 1e-9)


@given(st.lists(numbers_axis, min_size=1, max_size=8))
def test_an_axis_holds_all_values(values):
    low, high = axis_ends(values)
    assert low < high
    slack = 1e-6 * (high - low)
    assert low - slack <= min(values) and max(values) <= high + slack


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_values_that_differ_fill_some_of_the_axis_or_stand_on_the_whole_measure(values):
    low, high = axis_ends(values, (0.0, 1.0))
    assert 0 <= low < high <= 1
    spread = max(values) - min(values)
    if spread > 1e-6:
        assert spread >= 0.15 * (high - low)


def test_an_axis_is_cut_and_its_numbers_written_by_its_values():
    for values, limits, ends in (
        ([0.00001, 0.00008], (0.0, 1.0), (0.0, 0.00008)),  # noise on one word: not from 0 to 1
        ([0.983, 1.0], (0.0, 1.0), (0.982, 1.0)),  # attention erased: not all at the right
        ([0.5], (0.0, 1.0), (0.0, 1.0)),
        ([3.0], None, (0.0, 3.0)),
        ([0.0], None, (0.0, 1.0)),
        ([-0.2, 0.7], (-1.0, 1.0), (-1.0, 1.0)),
    ):
        assert axis_ends(values, limits) == pytest.approx(ends)
    axis = x_axis("value", "JSD", (0.0, 0.00008)).to_dict()
    assert axis["title"] == "JSD (× 1e-5)" and "1e5" in axis["axis"]["labelExpr"]
    plain = y_axis("value", "JSD", (0.0, 0.8)).to_dict()
    assert plain["title"] == "JSD" and plain["axis"]["values"] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert plain["scale"]["domain"] == [0.0, 0.8]
