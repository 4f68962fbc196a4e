"""Figures that several studies draw."""

import math

import torch

from heedful.measures import Estimate
from heedful.papers.study_figures import (
    BINS,
    Heading,
    by_largest_figure,
    histogram_figure,
    intervals_figure,
    measures_figure,
    text_frame,
)
from heedful.report.figure import to_svg
from support.synthetic_results import SEEDS, TEXTS, made_cell, near

HEADING = Heading("figure_1", "A figure", "Nobody 2000, Figure 1")
LARGEST = "prediction.max_attention"


def cell(data="sst2", method="additive", **columns):
    return made_cell(data, "bilstm", method, columns={name.replace("__", "."): v for name, v in columns.items()})


def part(value):
    return Estimate(value, value - 0.05, value + 0.05, 100)


def test_a_frame_has_a_row_for_each_text_and_seed_with_its_predicted_class():
    frame = text_frame([cell(a__x=near(0.5, seeds=2)), cell(a__y=0.1)], {"a.x": "value"})
    assert len(frame) == 2 * TEXTS
    assert set(frame["model"]) == {"bilstm, additive"} and set(frame["class"]) == {"all"}
    assert text_frame([cell(a__y=0.1)], {"a.x": "value"}).is_empty()
    predicted = (torch.arange(TEXTS) % 2).double().repeat(SEEDS, 1)
    frame = text_frame([cell(a__x=0.5, prediction__predicted=predicted)], {"a.x": "value"})
    assert frame["class"][:2].to_list() == ["class 0", "class 1"]


def test_nothing_is_drawn_of_what_was_not_measured_or_is_undefined():
    empty = [cell(b__y=0.5)]
    assert histogram_figure(empty, "a.x", "x", (0.0, 1.0), HEADING) == []
    assert by_largest_figure(empty, "a.x", "x", HEADING) == []
    assert measures_figure(empty, {"a.x": "x"}, "x", HEADING) == []
    assert intervals_figure({}, "x", HEADING) == []
    values = near(0.5)
    values[0, :10] = math.nan
    (figure,) = histogram_figure([cell(a__x=values)], "a.x", "x", (0.0, 1.0), HEADING)
    assert figure.alt == "Histograms of x. Means: sst2, bilstm, additive: 0.5."
    assert (figure.name, figure.title, figure.source) == ("figure_1", "A figure", "Nobody 2000, Figure 1")


def test_texts_are_put_into_bins_of_their_largest_weight_and_described_in_their_order():
    for largest, place in ((0.1, 0), (0.26, 1), (0.7, 2), (1.5, 3)):
        (figure,) = by_largest_figure([cell(a__x=0.25, prediction__max_attention=largest)], "a.x", "x", HEADING)
        assert f"{BINS[place]}: median 0.25" in figure.alt
    every = torch.linspace(0.0, 1.0, TEXTS, dtype=torch.float64).repeat(SEEDS, 1)
    (figure,) = by_largest_figure([cell(a__x=0.25, prediction__max_attention=every)], "a.x", "x", HEADING)
    described = "; ".join(f"{weights}: median 0.25" for weights in BINS)
    assert figure.alt.endswith(f"Over all models: {described}.")


def test_boxes_say_what_distinguishes_them_and_extreme_means_are_described():
    cells = [cell(f"set{n}", a__x=n / 100, a__y=0.5) for n in range(30)]
    (figure,) = measures_figure(cells, {"a.x": "first", "a.y": "second"}, "x", HEADING)
    assert "first: from" in figure.alt and "to 0.29 (set29, bilstm, additive)" in figure.alt
    (figure,) = measures_figure([cell(a__x=0.1, a__y=0.5)], {"a.x": "one", "a.y": "two"}, "x", HEADING, rows="kind")
    assert ">kind</text>" in to_svg(figure)


def test_a_figure_of_intervals_has_a_mark_for_each_number_and_names_what_it_cuts_off():
    parts = {("sst2", "x - y"): part(0.2), ("imdb", "x - y"): part(0.3), ("sst2", "z"): part(0.1)}
    (figure,) = intervals_figure(parts, "x", HEADING, {("imdb", "x - y"): 0.4})
    assert figure.alt == "A figure. x - y: sst2 0.2, imdb 0.3 (paper 0.4); z: sst2 0.1."
    assert figure.caption == "Means and their 95% intervals. Open diamonds: the paper's numbers."
    alike = {(f"set {place}", "x - y"): part(0.2 + 0.01 * place) for place in range(6)}
    (whole,) = intervals_figure(alike, "x", HEADING)
    assert whole.caption == "Means and their 95% intervals."
    (cut,) = intervals_figure({**alike, ("imdb", "x - y"): part(30.0)}, "x", HEADING)
    assert cut.caption == f"{whole.caption} Arrows: beyond the axis. imdb (x - y): 30.0 (29.9 to 30.1)."
