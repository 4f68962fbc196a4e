"""Panels for data sets and models: how wide they are together, and what is written beside them."""

import json
import re
from itertools import product
from math import nan
from xml.etree import ElementTree

import polars as pl
import pytest

from heedful.measures import Estimate
from heedful.papers.charts import (
    WIDEST,
    WIDEST_LEGEND,
    beyond,
    box_plots,
    color_by,
    curves,
    histograms,
    interval_limits,
    intervals,
    planes,
    scatter,
    strips,
)
from heedful.papers.study_figures import Heading, study_figure
from heedful.report.figure import to_svg

MODELS = [f"{attention} {encoder}" for attention in ("additive", "dot") for encoder in ("bilstm", "average", "cnn")]
SETS = [f"set_{place}_of_a_long_name" for place in range(8)]


def svg_of(chart):
    return to_svg(study_figure(Heading("name", "", ""), chart, caption="", alt=""))


def width_of(svg):
    return float(re.findall(r'width="([\d.]+)"', svg)[0])


def grid_frame(sets, models):
    places = [(data, model) for data in sets for model in models]
    rows = [(*place, f"class {n % 2}", 0.1 * n, 0.1 * n, 1.0 - 0.1 * n) for place in places for n in range(6)]
    return pl.DataFrame(rows, schema=["data", "model", "class", "value", "x", "y"], orient="row")


GRIDS = {
    "histograms": (lambda frame: histograms(frame, 0.0, 1.0, "across"), ("across", "share of texts")),
    "box_plots": (
        lambda frame: box_plots(frame, ("class", ["class 0", "class 1"], "kind"), "across"),
        ("across", "kind"),
    ),
    "scatter": (lambda frame: scatter(frame, "across", "upwards"), ("across", "upwards")),
}


def test_a_grid_fits_the_page_and_has_one_title_for_each_axis():
    # The widest grid, and panels side by side that would fit more easily.
    for sets, models in ((SETS, MODELS), (SETS[:4], MODELS[:1])):
        for draw, titles in GRIDS.values():
            drawn = svg_of(draw(grid_frame(sets, models)))
            assert width_of(drawn) <= WIDEST
            for name in (*titles, *sets, *models):
                assert drawn.count(f">{name}</text>") == 1


def test_where_a_panel_is_missing_the_others_keep_their_places():
    whole = grid_frame(SETS[:3], MODELS[:3])
    row, column = missing = (1, 0)
    frame = whole.filter((pl.col("data") != SETS[row]) | (pl.col("model") != MODELS[column]))
    drawn = ElementTree.fromstring(svg_of(scatter(frame, "across", "upwards")))
    points = {place: 6 for place in product(range(3), range(3))}
    assert _points_by_panel(drawn) == {**points, missing: 0}


def _points_by_panel(drawn):
    """How many points each panel has, by its row and column."""
    (cells,) = drawn.iterfind(".//{*}g[@class='mark-group role-scope cell']")
    counts = {}
    for panel in cells:
        x, y = map(float, re.findall(r"[\d.]+", panel.attrib["transform"]))
        points = panel.iterfind(".//{*}g[@class='mark-symbol role-mark child_layer_0_marks']/{*}path")
        counts[y, x] = len(list(points))
    ys, xs = (sorted({place[axis] for place in counts}) for axis in (0, 1))
    return {(ys.index(y), xs.index(x)): count for (y, x), count in counts.items()}


def test_small_differences_and_numbers_of_narrow_axes_can_be_read():
    values = pl.DataFrame({"x": [0.1, 0.2, 0.3], "y": [0.0, 0.02, 0.6]})
    frame = values.with_columns(data=pl.lit("sst2"), model=pl.lit("bilstm"))
    drawn = ElementTree.fromstring(svg_of(scatter(frame, "across", "upwards")))
    points = drawn.findall(".//{*}g[@class='mark-symbol role-mark child_layer_0_marks']/{*}path")
    zero, small, large = (float(point.attrib["transform"].split(",")[1].strip(")")) for point in points)
    assert (zero - small) / (zero - large) > 0.2
    frame = grid_frame(SETS[:7], MODELS).with_columns(value=pl.col("value") * 1.4)
    narrow = svg_of(box_plots(frame, ("class", ["class 0", "class 1"], "kind"), "across"))
    assert [narrow.count(f">{number}</text>") for number in ("0.0", "0.2", "0.4", "0.6")] == [6, 6, 6, 6]


def series_frame(sets, series):
    rows = [(data, name, float(x), 0.1 * x) for data in sets for name in series for x in range(3)]
    return pl.DataFrame(rows, schema=["data", "series", "x", "y"], orient="row")


def test_panels_of_curves_fit_the_page_and_their_axes_have_titles():
    for count in (1, 3, 8):
        frame = series_frame(SETS[:count], ["first", "second"])
        for chart in (
            curves(frame, "across", "upwards", ["first"]),
            planes(frame, frame, "across", "upwards", ["first"]),
        ):
            drawn = svg_of(chart)
            assert width_of(drawn) <= WIDEST
            assert ">across</text>" in drawn and ">upwards</text>" in drawn
    parts = svg_of(curves(series_frame(["sst2, bilstm"], ["first"]), "across", "upwards", ["first"]))
    assert re.search(r"<tspan>sst2</tspan><tspan[^>]*>bilstm</tspan>", parts)


def test_a_legend_has_as_many_columns_as_fit_and_none_is_needed_for_a_single_series():
    for length, columns in ((5, WIDEST_LEGEND // 65), (40, 2), (100, 1), (300, 1)):
        legend = json.loads(color_by(["a" * length, "b"], "series").to_json())["legend"]
        assert (legend["columns"], legend["labelLimit"]) == (columns, 0)
    assert json.loads(color_by(["a"], "series").to_json())["legend"] is None


# Intervals on an axis that no outlier stretches, and points seed by seed.

ALIKE = {(f"set {n}", "x - y"): Estimate(0.1 * n, 0.1 * n - 0.05, 0.1 * n + 0.05, 9) for n in range(6)}
FAR = ("far", "x - y")
OUTLIER = Estimate(9.0, 8.0, 10.0, 9)
POINT, ARROW = re.compile(r'<path transform="[^"]+" d="M[^"]*A'), re.compile(r'<path transform="[^"]+" d="M[^"A]+Z"')


def rows_of(chart):
    (rows,) = [rows for rows in chart.to_dict()["datasets"].values() if "outside" in rows[0]]
    return {row["row"]: row for row in rows}


def test_an_axis_is_cut_for_outliers_alone():
    usual = pytest.approx((-0.05, 0.55))
    assert interval_limits(ALIKE) == usual and beyond(ALIKE, interval_limits(ALIKE)) == {}
    assert interval_limits(ALIKE, 0.7) == pytest.approx((-0.05, 0.7))
    limits = interval_limits({**ALIKE, FAR: OUTLIER})
    assert limits == usual and beyond({**ALIKE, FAR: OUTLIER}, limits) == {FAR: OUTLIER}
    assert interval_limits({**ALIKE, FAR: Estimate(1.0, 0.95, 1.05, 9)}) == pytest.approx((-0.05, 1.05))
    assert interval_limits({FAR: Estimate(0.3, nan, nan, 1)}) == (0.0, 0.3)
    wide = Estimate(0.3, 0.2, 10.0, 9)
    limits = interval_limits({**ALIKE, FAR: wide})
    row = rows_of(intervals({**ALIKE, FAR: wide}, "x", limits))["far"]
    assert (row["value"], row["left"], row["right"], row["outside"]) == (0.3, False, True, False)
    assert 0.55 < row["high"] < 0.6
    near = {(f"set {n}", series): Estimate(0.001 * n, -0.002, 0.004, 100) for n in range(8) for series in "abc"}
    apart = {(f"set {n}", "apart"): Estimate(0.05 + 0.001 * n, 0.04, 0.3, 100) for n in range(8)}
    low, high = interval_limits({**near, **apart})
    assert low <= -0.002 and 0.057 <= high < 0.3


def test_what_is_cut_off_is_an_arrow_and_no_point():
    for sign, side in ((1, "right"), (-1, "left")):
        low, high = sorted((sign * OUTLIER.low, sign * OUTLIER.high))
        estimates = {**ALIKE, FAR: Estimate(sign * OUTLIER.value, low, high, 9)}
        chart = intervals(estimates, "x", interval_limits(estimates))
        row = rows_of(chart)["far"]
        assert row["outside"] and row[side] and row["left"] != row["right"]
        drawn = svg_of(chart)
        assert (len(POINT.findall(drawn)), len(ARROW.findall(drawn))) == (len(ALIKE), 1)
    whole = svg_of(intervals(ALIKE, "x", interval_limits(ALIKE)))
    assert (len(POINT.findall(whole)), len(ARROW.findall(whole))) == (len(ALIKE), 0)


DASHED, DIAMOND = (
    re.compile(r'<line [^>]*stroke-dasharray="4,2"'),
    re.compile(r'<path [^>]*Z" stroke="[^"]+" stroke-width="1.6"'),
)


def test_the_paper_s_numbers_are_dashed_lines_in_histograms_and_diamonds_among_intervals():
    frame = grid_frame(["a", "b"], ["bilstm"])
    plain = svg_of(histograms(frame, 0.0, 1.0, "across"))
    printed = {("a", "bilstm", "class 0"): 0.25, ("b", "bilstm", "class 1"): 0.5, ("b", "mlp", "class 1"): 0.5}
    marked = svg_of(histograms(frame, 0.0, 1.0, "across", printed))
    assert (len(DASHED.findall(plain)), len(DASHED.findall(marked))) == (0, 2)
    assert marked.count("mark-area") == plain.count("mark-area")
    (place, part), *_ = ALIKE.items()
    chart = intervals(ALIKE, "x", interval_limits(ALIKE, 0.7), {place: 0.7})
    assert [row["paper"] for row in rows_of(chart).values() if row["paper"] is not None] == [0.7]
    before, after = (svg_of(each) for each in (intervals(ALIKE, "x", interval_limits(ALIKE, 0.7)), chart))
    assert len(DIAMOND.findall(after)) == len(DIAMOND.findall(before)) + 1


def test_rows_and_series_have_their_whole_names():
    series = [f"tau of gradient and leave-one-out - tau of attention and {other}" for other in ("gradient", "loo")]
    estimates = {(data, name): OUTLIER for data in ("a", "a set with a rather long name") for name in series}
    drawn = svg_of(intervals(estimates, "x", interval_limits(estimates)))
    for name in (*series, "a set with a rather long name"):
        assert f">{name}</text>" in drawn
    long = [f"mock-5: bilstm, words at the {end}" for end in ("start", "end")]
    frame = pl.DataFrame({"row": long * 2, "series": "bilstm", "x": [0.71, 0.72, 0.74, 0.75]})
    drawn = svg_of(strips(frame, "AtteFa", ["bilstm"], (0.0, 1.0)))
    for name in (*long, "AtteFa", "data set"):
        assert f">{name}</text>" in drawn
    assert ">0.00</text>" not in drawn and ">0.72</text>" in drawn
