import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.formatting import UNDEFINED, format_estimate, format_interval, format_number, format_seconds


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (0.005, "0.01"),
        (0.004, "4.0e-03"),
        (-0.004, "-4.0e-03"),
        (1.8e-8, "1.8e-08"),
        (9.994, "9.99"),
        (10.04, "10.0"),
        (-12.34, "-12.3"),
        (None, UNDEFINED),
        (math.nan, UNDEFINED),
        (math.inf, UNDEFINED),
    ],
)
def test_a_number(value, shown):
    assert format_number(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.125, "12.5%"), (-0.0001, "0.0%"), (-0.02, "-2.0%"), (1.0, "100.0%")])
def test_a_share(value, shown):
    assert format_number(value, percent=True) == shown


def test_decimals():
    assert format_number(0.12345, decimals=3) == "0.123" and format_number(0.0004, decimals=3) == "4.0e-04"


@given(st.floats(-1e6, 1e6))
def test_what_is_shown_is_the_number_to_its_decimals(value):
    assert float(format_number(value)) == pytest.approx(value, abs=0.051 if abs(value) >= 9.99 else 0.0051)
    assert "-0.00" not in format_number(value)


@pytest.mark.parametrize(("low", "high"), [(None, 1.0), (1.0, None), (math.nan, 1.0), (0.0, math.inf)])
def test_an_interval_without_both_ends_is_empty(low, high):
    assert format_interval(low, high) == "" and format_estimate(0.5, low, high) == "0.50"


def test_an_interval():
    assert format_interval(-0.1, 0.25) == "-0.10 to 0.25"
    assert format_interval(0.1, 0.25, percent=True) == "10.0 to 25.0%"


def test_an_estimate_without_a_value_has_no_interval():
    assert format_estimate(None, 0.1, 0.2) == UNDEFINED
    assert format_estimate(0.15, 0.1, 0.2, percent=True) == "15.0% (10.0 to 20.0%)"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (7_199.0, "120 min"), (7_200.0, "2.0 h")]
)
def test_a_duration(seconds, shown):
    assert format_seconds(seconds) == shown
