import inspect
from dataclasses import replace

import polars as pl
import pytest

from heedful.report.figure import Figure, inline_svg, to_png, to_svg
from heedful.report.figures import (
    FIGURES,
    agreement_figures,
    draw_figures,
    erasure_figures,
    other_figures,
    perturbation_figures,
    stability_figures,
)
from heedful.report.figures.erasure_figures import MOST_POINTS, erase_one, flip_cells
from heedful.report.texts import Texts, gather_texts
from heedful.schema import Ranking

NAMES = [
    "gradient_agreement",
    "leave_one_out_agreement",
    "leave_one_out_agreement_tau_gradient",
    "permutation",
    "adversarial_attention",
    "adversarial_attention_by_max_attention",
    "erase_one",
    "erase_one_negative",
    "erase_one_flips",
    "fraction_erased",
    "mass_erased",
    "adversaries_plane",
    "adversaries_seeds",
    "seeds_max_js",
    "embedding_noise_js",
    "word_substitution_js",
    "comprehensiveness_sufficiency",
    "certified_share",
    "token_weights",
]
PAPERS = (
    "Jain & Wallace 2019",
    "Serrano & Smith 2019",
    "Amini & Kosseim",
    "Hu et al. 2023",
    "Sun & Lu 2020",
    "In none of the papers",
)


@pytest.fixture(scope="module")
def texts(audits):
    return gather_texts(audits)


def test_every_figure_is_drawn_in_its_order_listed_and_says_how_to_read_it(texts):
    assert [figure.name for figure in draw_figures(texts)] == NAMES
    written = {
        function
        for module in (agreement_figures, erasure_figures, perturbation_figures, stability_figures, other_figures)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and inspect.signature(function).return_annotation == Figure | None
        if not name.startswith("_") and name != "by_largest"
    }
    assert written == {*FIGURES, *other_figures.OF_VERDICTS}
    for drawn in draw_figures(texts):
        assert drawn.caption.endswith(".") and "{" not in drawn.caption, drawn.name
        assert drawn.source.startswith(PAPERS), drawn.name
        assert len(drawn.alt) > 40 and "nan" not in drawn.alt.lower() and "None" not in drawn.alt, drawn.name


def test_a_figure_without_rows_or_a_defined_value_is_left_out(texts):
    undefined = texts.frame.with_columns(pl.selectors.float() * float("nan"))
    for frame in (texts.frame.select("run", "example", "class"), undefined):
        assert draw_figures(replace(texts, frame=frame)) == []


def test_several_runs_are_named_in_the_drawing_and_one_is_not(texts, audits):
    for figure in draw_figures(texts):
        drawn = to_svg(figure)
        # No decision of the average model rests more on the other word.
        assert "average" in drawn or figure.name == "erase_one_negative"
        assert "bilstm" in drawn
    for figure in draw_figures(gather_texts(audits[1:])):
        assert ">bilstm<" not in to_svg(figure)


def flips(top, other):
    """Texts of one run with these flips of the top item and shares of flips of the others."""
    columns = {"run": ["a"] * len(top), "example": range(len(top)), "class": ["x"] * len(top)}
    columns |= {"erase_one.flips_attention": top, "erase_one.other_flips_attention": other}
    return Texts(pl.DataFrame(columns), ("a",), ("x",))


def test_the_flip_table_by_hand_adds_up_to_a_hundred(texts):
    cells = flip_cells(flips([1.0, 1.0, 0.0, 0.0, float("nan")], [0.5, 0.0, 0.25, 0.0, 0.0]))
    percents = {(top, other): percent for top, other, percent in cells.select("top", "other", "percent").rows()}
    assert percents == {("yes", "yes"): 12.5, ("yes", "no"): 37.5, ("no", "yes"): 6.25, ("no", "no"): 43.75}
    assert set(cells["texts"]) == {4}
    sums = flip_cells(texts).group_by("run", "ranking").agg(pl.col("percent").sum())
    assert sums.height == 6
    assert sums["percent"].to_list() == pytest.approx([100] * 6)


def test_a_scatter_is_thinned_the_same_way_and_keeps_the_smallest_sign(texts):
    many = replace(texts, frame=pl.concat([texts.frame] * 60))
    figure = erase_one(many)
    assert figure.alt.startswith(f"Scatter plot of {MOST_POINTS:,} texts")
    assert f"of 4,800 texts lie there. The figure shows {MOST_POINTS:,} of the texts" in figure.caption
    assert to_svg(figure).count("<path transform") >= MOST_POINTS
    assert to_svg(figure) == to_svg(erase_one(many))
    assert "The figure shows" not in erase_one(texts).caption
    tiny = texts.frame.with_columns(pl.lit(-1e-9).alias("erase_one.delta_js_attention"))
    assert "80 of 80 texts lie there" in erase_one(replace(texts, frame=tiny)).caption


def test_names_are_text_in_a_drawing_never_markup(texts):
    trick = "<script>alert(1)</script>\"'&"
    renamed = replace(
        texts,
        frame=texts.frame.with_columns(pl.col("run").replace("average", trick), pl.lit(trick).alias("class")),
        runs=(trick, "bilstm"),
        classes=(trick,),
    )
    for figure in draw_figures(renamed):
        assert "<script" not in inline_svg(figure)


def test_a_drawing_is_described_short_and_a_png(texts):
    figure = FIGURES[0](texts)
    drawn = inline_svg(figure)
    assert drawn.startswith('<svg role="img" aria-label="Histograms of Kendall&#39;s tau')
    assert len(drawn) < len(to_svg(figure)) + 1000
    assert to_png(FIGURES[0](texts), scale=0.5).startswith(b"\x89PNG")


def test_many_runs_are_drawn_and_figures_of_verdicts_beside_those_of_rows(texts):
    runs = tuple(f"run {number}" for number in range(31))
    frame = pl.concat([texts.frame.with_columns(run=pl.lit(run)) for run in runs])
    assert "run 30" in to_svg(FIGURES[0](replace(texts, frame=frame, runs=runs)))
    own = Ranking(name="attention", title="attention", faithful=0.5, plausible=0.2)
    names = [figure.name for figure in draw_figures(replace(texts, rankings=((own,),) * len(texts.runs)))]
    assert names[-1] == "faithful_and_plausible" and len(names) == len(draw_figures(texts)) + 1
