"""What the SEAT study makes of rows: the paper's scale by hand, texts chosen to be drawn."""

import math
import re
from dataclasses import replace

import polars as pl
import pytest
import torch

from heedful.report.audit_files import AuditFiles, read_audit
from heedful.studies import STUDIES
from heedful.studies.pipeline import shown_words
from heedful.studies.seat.tables import evenness, printed_comprehensiveness, printed_tvd
from heedful.studies.study import Cell
from support.synthetic_audit import SIMILAR, make_audit
from support.synthetic_results import results_of

STUDY = STUDIES["seat"]


def cell(model: str, **columns: list[float]) -> Cell:
    said = {name.replace("__", "."): torch.tensor([values]).double() for name, values in columns.items()}
    return Cell("sst2", model, (), said)


def test_where_nothing_moves_the_paper_s_tvd_of_vanilla_is_16_and_of_others_0():
    sure = {
        "embedding_attack__drop_answer": [0.0, 0.0],
        "prediction__probability": [1.0, 1.0],
        "prediction__predicted": [0, 1],
    }
    vanilla = printed_tvd(cell("rnn vanilla", **sure), 0.001)
    assert vanilla.tolist()[0] == pytest.approx([32 * math.log(2), 32 * (math.log1p(math.e) - 1)])
    assert vanilla.mean() == pytest.approx(16, abs=0.2)
    assert printed_tvd(cell("rnn seat", **sure), 0.001).abs().max() == 0


def test_the_paper_s_tvd_takes_the_new_probability_for_a_logit():
    columns = {
        "embedding_attack__drop_answer_0.05": [0.3],
        "prediction__probability": [0.9],
        "prediction__predicted": [0],
    }
    # p = .1 becomes .4
    wanted = 32 * (math.log1p(math.exp(0.4)) - 0.1 * 0.4)
    assert printed_tvd(cell("bilstm vanilla", **columns), 0.05).item() == pytest.approx(wanted)
    assert printed_tvd(cell("bilstm word_at", **columns), 0.05).item() == pytest.approx(32 * 0.3 / 2)


def test_the_paper_s_comprehensiveness_is_that_of_all_words():
    assert printed_comprehensiveness(cell("bilstm seat", rationale__emptied=[-0.25, 0.5])).tolist() == [[4, 8]]
    assert printed_comprehensiveness(cell("bilstm seat")) is None


def test_even_attention_has_a_largest_weight_of_one_share():
    even = cell("bilstm seat_code", prediction__max_attention=[0.25, 0.5], prediction__items=[4, 4])
    assert evenness(even).tolist() == [[1, 2]]


def test_a_short_text_in_which_a_word_was_replaced_is_drawn_for_each_data_set():
    results = results_of(STUDY)
    drawn = {figure.name: figure for figure in STUDY.figures(results)}
    for data in ("sst2", "rotten_tomatoes"):
        assert "seat_code, a similar word: <b> 0.12" in drawn[f"heat_{data}"].alt
    assert {"figure_2_bilstm", "figure_5_top_k_gap", "figure_5_top_k_overlap", "noise_bilstm", "certified"} <= set(
        drawn
    )


def test_a_model_beside_other_seeds_does_not_stand_for_the_model_itself():
    results = results_of(STUDY)
    cells = {
        key: replace(one, columns={name: values for name, values in one.columns.items() if "attack" not in name})
        if one.model.endswith("seeds")
        else one
        for key, one in results.cells.items()
    }
    drawn = {figure.name: figure for figure in STUDY.figures(replace(results, cells=cells))}
    drawn_models = set(re.findall(r'"model": "(\w+)"', drawn["noise_bilstm"].chart.to_json()))
    assert drawn_models == {"vanilla", "word_at", "seat", "seat_all", "seat_code"}


def test_texts_that_are_too_long_are_not_drawn():
    results = results_of(STUDY)
    long = {
        key: replace(one, shown=one.shown if one.shown.is_empty() else one.shown.filter(pl.col("example") == 3))
        for key, one in results.cells.items()
    }
    assert not [one for one in STUDY.figures(replace(results, cells=long)) if one.name.startswith("heat_")]


@pytest.fixture
def audit(tmp_path) -> AuditFiles:
    return read_audit(make_audit(tmp_path / "audit", texts=5, shown=2))


def test_shown_texts_have_a_line_for_each_word_and_measure(audit):
    frame = shown_words(audit).filter(measure="replaced_attention", example=1).sort("item")
    words = audit.examples.filter(example=1)["items"].item().to_list()
    assert frame["word"].to_list() == words
    assert frame["replaced"].to_list() == [*words[:-1], SIMILAR]
    assert frame["value"].sum() == pytest.approx(1.0)
