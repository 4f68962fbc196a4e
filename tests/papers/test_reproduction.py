"""Cells are selected by their fields, never by what tables call them."""

import pytest

from heedful.errors import SettingError
from heedful.papers import STUDIES
from heedful.papers.reproduction import Results, encoders_with_minilm, remark_on_minilm
from support.synthetic_results import made_cell, made_results


def test_minilm_comes_last_where_it_is_wanted_and_is_said_to_be_missing():
    assert encoders_with_minilm(("rnn",)) == ("rnn", "minilm")
    assert encoders_with_minilm(("rnn",), wanted=False) == ("rnn",)
    assert remark_on_minilm(made_results(made_cell("sst2", "minilm")), "it") == []
    (remark,) = remark_on_minilm(Results("small", ()), "what it shows")
    assert remark.startswith("MiniLM was not at hand, so what it shows is missing: set HEEDFUL_MINILM to ")


CELLS = (
    made_cell("sst2", "bilstm", "vanilla", columns={"a.x": 0.5, "a.y": 0.5}),
    made_cell("sst2", "bilstm", "vanilla", role="other seeds", columns={"a.x": 0.5}),
    made_cell("sst2", "rnn", "vanilla", columns={"a.x": 0.5}),
    made_cell("imdb", "bilstm", "seat", columns={"a.y": 0.5}),
)
RESULTS = Results("small", CELLS)


def test_cells_are_selected_by_field_role_and_column():
    assert RESULTS.select(data="sst2") == [CELLS[0], CELLS[2]]
    assert RESULTS.select(encoder="bilstm") == [CELLS[0], CELLS[3]]
    assert RESULTS.select(method="seat") == [CELLS[3]]
    assert RESULTS.select(data="sst2", encoder="bilstm", method="vanilla") == [CELLS[0]]
    assert RESULTS.select(data="imdb", encoder="rnn") == []
    assert RESULTS.select() == [CELLS[0], CELLS[2], CELLS[3]]
    assert RESULTS.select(role="other seeds") == [CELLS[1]]
    assert RESULTS.select(role=None) == list(CELLS)
    assert RESULTS.select("a.x") == [CELLS[0], CELLS[2]]
    assert RESULTS.select("a.x", "a.y") == [CELLS[0]]
    assert RESULTS.datasets == ["sst2", "imdb"]
    assert RESULTS.find(data="sst2", encoder="rnn") is CELLS[2]
    assert RESULTS.find("a.y", data="sst2", encoder="rnn") is None
    with pytest.raises(ValueError, match=r"only one cell may match; these do: bilstm, vanilla, rnn, vanilla\."):
        RESULTS.find(data="sst2")
    with pytest.raises(SettingError, match="unknown scale 'tiny'.*small, medium, paper"):
        STUDIES["attefa"].runs_at("tiny")
