"""Figures of rankings and of heads: nothing is drawn of what is not known."""

import polars as pl

from heedful.report.figure import to_svg
from heedful.report.figures.other_figures import OF_VERDICTS, faithful_and_plausible, heads_agreement, ranking_points
from heedful.report.texts import Texts
from heedful.schema import Heads, Interval, Ranking


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


def ranked(*rankings, runs=("bilstm",)):
    return Texts(pl.DataFrame(), runs, (), rankings=tuple(rankings for _ in runs))


def test_every_ranking_that_has_both_scores_is_a_point_and_without_marks_none_is_drawn():
    drawn = ranked(ranking("attention"), ranking("mine", 0.9, -0.3), ranking("half", plausible=None))
    assert ranking_points(drawn)["title"].to_list() == ["attention", "mine"]
    figure = faithful_and_plausible(drawn)
    assert figure.table["ranking"].to_list() == ["attention", "mine", "half"]
    assert "attention 0.50 and 0.20, mine 0.90 and -0.30" in figure.alt
    assert "Only the first says anything of how the model decides." in figure.caption
    assert faithful_and_plausible(ranked(ranking("attention", plausible=None))) is None
    assert faithful_and_plausible(ranked()) is None


def test_names_from_outside_are_drawn_as_text_and_cut():
    names = ["attention", "<script>", "a" * 40, *(f"r{n}" for n in range(9))]
    drawn = to_svg(
        faithful_and_plausible(
            ranked(*(ranking(f"r{n}", title=name) for n, name in enumerate(names)), runs=("one", "two"))
        )
    )
    assert "&lt;script&gt;" in drawn and "<script" not in drawn
    assert "a" * 23 + "…" in drawn and "a" * 24 not in drawn


def heads(count=3):
    rows = tuple(tuple((layer + head) / 10 for head in range(count)) for layer in range(2))
    measures = {"agreement": ((-0.2, 0.5, None), rows[1]), "deletion_moves": rows, "uniform_moves": rows}
    interval = Interval(value=0.5, low=0.4, high=0.6, n=9)
    best = {"layer": 0, "head": 1, "agreement": interval, "mean_agreement": interval, "gain": interval}
    return Heads(measures=measures, **best)


def of_models(**known):
    return Texts(pl.DataFrame(), tuple(known), (), known)


def test_every_head_has_a_cell_for_every_model():
    figure = heads_agreement(of_models(bert=heads()))
    drawn = to_svg(figure)
    for number in ("-0.20", "0.50", "0.10", "0.30"):
        assert number.replace("-", "−") in drawn or number in drawn
    assert "0.50 in head 0.1" in figure.alt
    for figure in OF_VERDICTS[1:]:
        assert figure(of_models()) is None
        both = figure(of_models(first=heads(), second=heads(14)))
        assert "first" in both.alt and "second" in both.alt
        assert "second" in to_svg(both)
