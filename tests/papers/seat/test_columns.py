"""The paper's quantities, reconstructed from ours."""

import math

import pytest
import torch

from heedful.papers.seat.claims import largest_relative_to_uniform, printed_comprehensiveness, printed_tvd
from support.synthetic_results import known, made_cell


def cell(method: str, **columns: list[float]):
    values = {name.replace("__", "."): torch.tensor([texts]).double() for name, texts in columns.items()}
    return made_cell("sst2", "rnn", method, columns=values)


def test_where_nothing_moves_the_paper_s_tvd_of_vanilla_is_16_and_of_others_0():
    certain = {
        "embedding_attack__drop_answer": [0.0, 0.0],
        "prediction__probability": [1.0, 1.0],
        "prediction__predicted": [0, 1],
    }
    vanilla, seat = (known(printed_tvd(cell(method, **certain), 0.001)) for method in ("vanilla", "seat"))
    assert vanilla.tolist()[0] == pytest.approx([32 * math.log(2), 32 * (math.log1p(math.e) - 1)])
    assert vanilla.mean() == pytest.approx(16, abs=0.2)
    assert seat.abs().max() == 0


def test_the_paper_s_tvd_takes_the_new_probability_for_a_logit():
    columns = {
        "embedding_attack__drop_answer_0.05": [0.3],
        "prediction__probability": [0.9],
        "prediction__predicted": [0],
    }
    # p = .1 becomes .4
    expected = 32 * (math.log1p(math.exp(0.4)) - 0.1 * 0.4)
    assert known(printed_tvd(cell("vanilla", **columns), 0.05)).item() == pytest.approx(expected)
    assert known(printed_tvd(cell("word_at", **columns), 0.05)).item() == pytest.approx(32 * 0.3 / 2)
    assert printed_tvd(cell("word_at", **columns), 0.01) is None


def test_the_paper_s_comprehensiveness_is_that_of_all_words():
    emptied = cell("seat", comprehensiveness_sufficiency__emptied=[-0.25, 0.5])
    assert known(printed_comprehensiveness(emptied)).tolist() == [[4, 8]]
    assert printed_comprehensiveness(cell("seat")) is None


def test_uniform_attention_has_a_largest_weight_of_1_relative_to_uniform():
    uniform = cell("seat_code", prediction__max_attention=[0.25, 0.5], prediction__items=[4, 4])
    assert largest_relative_to_uniform(uniform).tolist() == [[1, 2]]
