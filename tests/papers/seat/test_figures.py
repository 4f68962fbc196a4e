"""What is drawn, and of which cells."""

import re
from dataclasses import replace

import polars as pl
import pytest

from heedful.papers import STUDIES
from heedful.papers.reproduction import Results
from support.synthetic_results import results_of

STUDY = STUDIES["seat"]


@pytest.fixture(scope="module")
def results():
    return results_of(STUDY)


def drawn(cells):
    results = Results("small", tuple(cells))
    claims = {claim.id: claim for claim in STUDY.claims(results)}
    return {figure.name: figure for figure in STUDY.figures(results, claims)}


def test_a_short_text_in_which_a_word_was_replaced_is_drawn_for_each_data_set(results):
    figures = drawn(results.cells)
    for data in ("sst2", "rotten_tomatoes"):
        assert "seat_code, a similar word: <b> 0.12" in figures[f"heat_{data}"].alt
    others = {
        "figure_2_bilstm",
        "figure_2_minilm",
        "figure_5_top_k_gap",
        "figure_5_top_k_overlap",
        "noise_bilstm",
        "noise_minilm",
        "steadier",
        "certified",
    }
    assert set(figures) == others | {"heat_sst2", "heat_rotten_tomatoes"}


def test_panels_are_called_by_the_method_alone(results):
    chart = drawn(results.cells)["noise_bilstm"].chart.to_json()
    models = set(re.findall(r'"model": "(.+?)"', chart))
    assert models == {"vanilla", "word_at", "seat", "seat_all", "seat_code"}


def test_a_model_compared_with_other_seeds_does_not_stand_for_the_model_itself(results):
    compared = [cell for cell in results.cells if cell.role == "other seeds"]
    assert set(drawn(compared)) == {"heat_sst2", "heat_rotten_tomatoes", "figure_2_bilstm", "figure_2_minilm"}
    alone = [cell for cell in results.cells if cell.role != "other seeds"]
    assert set(drawn(alone)) & {"heat_sst2", "figure_2_bilstm"} == set()


def test_only_the_claims_about_steadiness_are_drawn(results):
    chart = drawn(results.cells)["steadier"].chart.to_json()
    assert "by which seat_all lowers" in chart and "sufficiency" not in chart and "seat_code" not in chart


def test_texts_that_are_too_long_are_not_drawn(results):
    long = [
        replace(cell, shown=cell.shown if cell.shown.is_empty() else cell.shown.filter(pl.col("example") == 3))
        for cell in results.cells
    ]
    assert not [name for name in drawn(long) if name.startswith("heat_")]
