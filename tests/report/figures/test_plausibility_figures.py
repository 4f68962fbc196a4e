"""The picture of faithful and plausible: a point a ranking, and nothing where one of the two is unknown."""

import polars as pl
import pytest

from heedful.report.figure import to_svg
from heedful.report.figures.plausibility_figures import faithful_and_plausible, ranking_points
from heedful.report.texts import Texts
from heedful.schema import Ranking


def ranking(name, faithful=0.5, plausible=0.2, **more):
    ends = {
        f"{axis}_{end}": value + shift
        for axis, value in (("faithful", faithful), ("plausible", plausible))
        for end, shift in (("low", -0.1), ("high", 0.1))
        if value is not None
    }
    return Ranking(
        name=name, title=more.pop("title", name), faithful=faithful, plausible=plausible, texts=40, **ends, **more
    )


def texts(*rankings, runs=("bilstm",)):
    return Texts(pl.DataFrame(), runs, (), rankings=tuple(rankings for _ in runs))


def test_every_ranking_that_has_both_scores_is_a_point():
    drawn = texts(ranking("attention"), ranking("mine", 0.9, -0.3), ranking("half", plausible=None))
    assert ranking_points(drawn)["title"].to_list() == ["attention", "mine"]
    figure = faithful_and_plausible(drawn)
    assert figure.table["ranking"].to_list() == ["attention", "mine", "half"]
    assert "attention 0.50 and 0.20, mine 0.90 and -0.30" in figure.alt
    assert "Only the first says anything of how the model decides." in figure.caption


def test_without_marks_nothing_is_drawn():
    assert faithful_and_plausible(texts(ranking("attention", plausible=None))) is None
    assert faithful_and_plausible(texts()) is None


@pytest.mark.parametrize("runs", [("one",), ("one", "two")])
def test_names_from_outside_are_drawn_as_text_and_cut(runs):
    names = ["attention", "<script>", "a" * 40, *(f"r{n}" for n in range(9))]
    drawn = to_svg(
        faithful_and_plausible(texts(*(ranking(f"r{n}", title=name) for n, name in enumerate(names)), runs=runs))
    )
    assert "&lt;script&gt;" in drawn and "<script" not in drawn
    assert "a" * 23 + "…" in drawn and "a" * 24 not in drawn
