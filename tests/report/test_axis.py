"""Axes show their data, whatever its size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.report.axis import axis_ends, x_axis, y_axis

numbers = st.floats(-1e3, 1e3).filter(lambda number: number == 0 or abs(number) > 1e-9)


@given(st.lists(numbers, min_size=1, max_size=8))
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


@pytest.mark.parametrize(
    ("values", "limits", "ends"),
    [
        ([0.00001, 0.00008], (0.0, 1.0), (0.0, 0.00008)),  # noise on one word: not from 0 to 1
        ([0.983, 1.0], (0.0, 1.0), (0.982, 1.0)),  # attention erased: not all at the right
        ([0.5], (0.0, 1.0), (0.0, 1.0)),
        ([3.0], None, (0.0, 3.0)),
        ([0.0], None, (0.0, 1.0)),
        ([-0.2, 0.7], (-1.0, 1.0), (-1.0, 1.0)),
    ],
)
def test_an_axis_is_cut_where_its_values_would_fill_little_of_it(values, limits, ends):
    assert axis_ends(values, limits) == pytest.approx(ends)


def test_small_numbers_are_written_in_a_power_of_ten():
    axis = x_axis("value", "JSD", (0.0, 0.00008)).to_dict()
    assert axis["title"] == "JSD (× 1e-5)" and "1e5" in axis["axis"]["labelExpr"]
    plain = y_axis("value", "JSD", (0.0, 0.8)).to_dict()
    assert plain["title"] == "JSD" and plain["axis"]["values"] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert plain["scale"]["domain"] == [0.0, 0.8]
