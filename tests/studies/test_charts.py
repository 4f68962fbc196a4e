"""Panels for data sets and models: how wide they are together, and what is written beside them."""

import json
import re
from itertools import product
from xml.etree import ElementTree

import polars as pl
import pytest

from heedful.report.figure import to_svg
from heedful.studies.charts import WIDEST, WIDEST_LEGEND, box_plots, colour_by, curves, histograms, planes, scatter
from heedful.studies.figures import Heading, study_figure

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


@pytest.mark.parametrize("draw, titles", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("sets, models", [(SETS, MODELS), (SETS[:4], MODELS[:1]), (SETS[:1], MODELS[:1])])
def test_a_grid_fits_the_page_and_has_one_title_for_each_axis(draw, titles, sets, models):
    drawn = svg_of(draw(grid_frame(sets, models)))
    assert width_of(drawn) <= WIDEST
    for title in titles:
        assert drawn.count(f">{title}</text>") == 1
    for name in (*sets, *models):
        assert drawn.count(f">{name}</text>") == 1


@pytest.mark.parametrize("missing", [(0, 2), (1, 0), (2, 1)])
def test_where_a_panel_is_missing_the_others_keep_their_places(missing):
    whole = grid_frame(SETS[:3], MODELS[:3])
    row, column = missing
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


def test_small_differences_can_be_seen_beside_large_ones():
    values = pl.DataFrame({"x": [0.1, 0.2, 0.3], "y": [0.0, 0.02, 0.6]})
    frame = values.with_columns(data=pl.lit("sst2"), model=pl.lit("bilstm"))
    drawn = ElementTree.fromstring(svg_of(scatter(frame, "across", "upwards")))
    points = drawn.findall(".//{*}g[@class='mark-symbol role-mark child_layer_0_marks']/{*}path")
    zero, small, large = (float(point.attrib["transform"].split(",")[1].strip(")")) for point in points)
    assert (zero - small) / (zero - large) > 0.2


def test_numbers_along_a_narrow_axis_are_as_many_as_there_is_room_for():
    frame = grid_frame(SETS[:7], MODELS).with_columns(value=pl.col("value") * 1.4)
    narrow = svg_of(box_plots(frame, ("class", ["class 0", "class 1"], "kind"), "across"))
    assert [narrow.count(f">{number}</text>") for number in ("0.0", "0.2", "0.4", "0.6")] == [6, 6, 6, 6]


def series_frame(sets, series):
    rows = [(data, name, float(x), 0.1 * x) for data in sets for name in series for x in range(3)]
    return pl.DataFrame(rows, schema=["data", "series", "x", "y"], orient="row")


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_panels_of_curves_fit_the_page_and_their_axes_have_titles(count):
    frame = series_frame(SETS[:count], ["first", "second"])
    for chart in (curves(frame, "across", "upwards", ["first"]), planes(frame, frame, "across", "upwards", ["first"])):
        drawn = svg_of(chart)
        assert width_of(drawn) <= WIDEST
        assert ">across</text>" in drawn and ">upwards</text>" in drawn


def test_parts_of_a_panel_s_name_have_a_line_each():
    drawn = svg_of(curves(series_frame(["sst2, bilstm"], ["first"]), "across", "upwards", ["first"]))
    assert re.search(r"<tspan>sst2</tspan><tspan[^>]*>bilstm</tspan>", drawn)


def test_names_in_a_legend_are_never_cut():
    names = [f"the measure of {'very ' * 12}long names, {end}" for end in ("first", "second")]
    drawn = svg_of(curves(series_frame(["sst2"], names), "across", "upwards", names))
    for name in names:
        assert f">{name}</text>" in drawn


def legend_of(series):
    return json.loads(colour_by(series, "series").to_json())["legend"]


@pytest.mark.parametrize("length, columns", [(5, WIDEST_LEGEND // 65), (40, 2), (100, 1), (300, 1)])
def test_a_legend_has_as_many_columns_as_fit(length, columns):
    legend = legend_of(["a" * length, "b"])
    assert (legend["columns"], legend["labelLimit"]) == (columns, 0)


def test_a_single_series_needs_no_legend():
    assert legend_of(["a"]) is None
