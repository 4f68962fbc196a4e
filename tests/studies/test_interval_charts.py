"""Intervals on an axis that no outlier stretches, and points seed by seed."""

import re
from math import nan

import polars as pl
import pytest

from heedful.measures import Estimate
from heedful.report.figure import to_svg
from heedful.studies.figures import Heading, study_figure
from heedful.studies.interval_charts import beyond, interval_limits, intervals, strips

ALIKE = {(f"set {n}", "x - y"): Estimate(0.1 * n, 0.1 * n - 0.05, 0.1 * n + 0.05, 9) for n in range(6)}
FAR = ("far", "x - y")
OUTLIER = Estimate(9.0, 8.0, 10.0, 9)
POINT, ARROW = re.compile(r'<path transform="[^"]+" d="M[^"]*A'), re.compile(r'<path transform="[^"]+" d="M[^"A]+Z"')


def rows_of(chart):
    (rows,) = [rows for rows in chart.to_dict()["datasets"].values() if "outside" in rows[0]]
    return {row["row"]: row for row in rows}


def svg_of(chart):
    return to_svg(study_figure(Heading("name", "", ""), chart, caption="", alt=""))


def test_the_axis_holds_all_intervals_and_the_mark():
    assert interval_limits(ALIKE) == pytest.approx((-0.05, 0.55))
    assert interval_limits(ALIKE, mark=0.7) == pytest.approx((-0.05, 0.7))
    assert beyond(ALIKE, interval_limits(ALIKE)) == {}


def test_an_outlier_does_not_set_the_scale():
    limits = interval_limits({**ALIKE, FAR: OUTLIER})
    assert limits == pytest.approx((-0.05, 0.55))
    assert beyond({**ALIKE, FAR: OUTLIER}, limits) == {FAR: OUTLIER}


def test_an_interval_that_is_far_out_on_one_side_only_is_cut_there():
    wide = Estimate(0.3, 0.2, 10.0, 9)
    limits = interval_limits({**ALIKE, FAR: wide})
    assert limits == pytest.approx((-0.05, 0.55))
    row = rows_of(intervals({**ALIKE, FAR: wide}, "x", limits))["far"]
    assert (row["value"], row["left"], row["right"], row["outside"]) == (0.3, False, True, False)
    assert 0.55 < row["high"] < 0.6


def test_an_outlier_that_stretches_the_axis_little_is_kept():
    near = Estimate(1.0, 0.95, 1.05, 9)
    assert interval_limits({**ALIKE, FAR: near}) == pytest.approx((-0.05, 1.05))


def test_a_single_number_without_an_interval_has_an_axis():
    assert interval_limits({FAR: Estimate(0.3, nan, nan, 1)}) == (0.0, 0.3)


@pytest.mark.parametrize("sign, side", [(1, "right"), (-1, "left")])
def test_what_is_cut_off_is_an_arrow_and_no_point(sign, side):
    low, high = sorted((sign * OUTLIER.low, sign * OUTLIER.high))
    estimates = {**ALIKE, FAR: Estimate(sign * OUTLIER.value, low, high, 9)}
    chart = intervals(estimates, "x", interval_limits(estimates))
    row = rows_of(chart)["far"]
    assert row["outside"] and row[side] and row["left"] != row["right"]
    drawn = svg_of(chart)
    assert (len(POINT.findall(drawn)), len(ARROW.findall(drawn))) == (len(ALIKE), 1)
    whole = svg_of(intervals(ALIKE, "x", interval_limits(ALIKE)))
    assert (len(POINT.findall(whole)), len(ARROW.findall(whole))) == (len(ALIKE), 0)


def test_every_series_of_a_row_has_its_colour_and_its_whole_name():
    series = [f"tau of gradient and leave-one-out - tau of attention and {other}" for other in ("gradient", "loo")]
    estimates = {(data, name): OUTLIER for data in ("a", "a set with a rather long name") for name in series}
    drawn = svg_of(intervals(estimates, "x", interval_limits(estimates)))
    for name in (*series, "a set with a rather long name"):
        assert f">{name}</text>" in drawn


def test_strips_name_every_row_in_full_and_show_where_the_points_are():
    long = [f"mock-5: bilstm, words at the {end}" for end in ("start", "end")]
    frame = pl.DataFrame({"row": long * 2, "series": "bilstm", "x": [0.71, 0.72, 0.74, 0.75]})
    drawn = svg_of(strips(frame, "AtteFa", ["bilstm"], (0.0, 1.0)))
    for name in (*long, "AtteFa", "data set"):
        assert f">{name}</text>" in drawn
    assert ">0.00</text>" not in drawn and ">0.72</text>" in drawn


def test_a_series_that_lies_elsewhere_is_no_outlier():
    near = {(f"set {n}", series): Estimate(0.001 * n, -0.002, 0.004, 100) for n in range(8) for series in "abc"}
    apart = {(f"set {n}", "apart"): Estimate(0.05 + 0.001 * n, 0.04, 0.3, 100) for n in range(8)}
    low, high = interval_limits({**near, **apart})
    assert low <= -0.002 and 0.057 <= high < 0.3
