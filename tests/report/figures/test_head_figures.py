import polars as pl
import pytest

from heedful.report.figure import to_svg
from heedful.report.figures.head_figures import FIGURES, heads_agreement
from heedful.report.texts import Texts
from heedful.schema import Heads, Interval


def heads(count=3):
    rows = tuple(tuple((layer + head) / 10 for head in range(count)) for layer in range(2))
    measures = {"agreement": ((-0.2, 0.5, None), rows[1]), "deletion_moves": rows, "uniform_moves": rows}
    interval = Interval(value=0.5, low=0.4, high=0.6, n=9)
    best = {"layer": 0, "head": 1, "agreement": interval, "mean_agreement": interval, "gain": interval}
    return Heads(measures=measures, **best)


def texts(**known):
    return Texts(pl.DataFrame(), tuple(known), (), known)


def test_every_head_has_a_cell_with_its_number():
    figure = heads_agreement(texts(bert=heads()))
    drawn = to_svg(figure)
    for number in ("-0.20", "0.50", "0.10", "0.30"):
        assert number.replace("-", "−") in drawn or number in drawn
    assert "0.50 in head 0.1" in figure.alt


@pytest.mark.parametrize("figure", FIGURES)
def test_each_is_drawn_for_every_model_and_for_none(figure):
    assert figure(texts()) is None
    both = figure(texts(first=heads(), second=heads(14)))
    assert "first" in both.alt and "second" in both.alt
    assert "second" in to_svg(both)
