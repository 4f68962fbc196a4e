"""Each claim of Hu et al. on rows in which its sentence is plainly true, and plainly false."""

import math
from functools import partial

import pytest
import torch

from heedful.papers import STUDIES
from heedful.papers.reproduction import MINILM
from heedful.papers.seat.claims import (
    DROP,
    EMPTIED,
    largest_relative_to_uniform,
    printed_comprehensiveness,
    printed_tvd,
)
from support.synthetic_results import known, made_cell, made_results, share, word_on

STUDY = STUDIES["seat"]


def measured(method, *, role="", **columns):
    """A BiLSTM trained by that method; `a__b` is the column a.b."""
    return made_cell(
        "sst2", "bilstm", method, role=role, columns={name.replace("__", "."): v for name, v in columns.items()}
    )


def lower_than_vanilla(column, method, true):
    """The measure, of which less is better, is lower for the method than for vanilla; or higher."""
    vanilla, other = (0.4, 0.1) if true else (0.1, 0.4)
    return made_results(measured("vanilla", **{column: vanilla}), measured(method, **{column: other}))


def selective(method, true):
    """Of ten words the top one has half of all attention, or hardly more than a tenth."""
    return made_results(measured(method, prediction__max_attention=0.5 if true else 0.11, prediction__items=10.0))


def better_than_best(column, true, *, is_lower_better=True):
    """The method is better than both baselines; or than one of them."""
    good, bad = (0.01, 0.4) if is_lower_better else (0.4, 0.01)
    other = bad if true else good / 10 if is_lower_better else 2 * good
    values = {"seat_code": good, "word_at": bad, "attention_at": other}
    return made_results(*(measured(method, **{column: value}) for method, value in values.items()))


CLAIM_CASES = {
    "predicts_as_well_seat_code": lambda true: made_results(
        measured("vanilla", role="all test texts", prediction__correct=share(0.9)),
        measured("seat_code", role="all test texts", prediction__correct=share(0.9 if true else 0.6)),
    ),
    "steadier_seat_code": partial(lower_than_vanilla, "embedding_attack__js_answer", "seat_code"),
    "steadier_predictions_seat_code": partial(lower_than_vanilla, "embedding_attack__tvd_answer", "seat_code"),
    "steadier_than_best_seat_code": partial(better_than_best, "embedding_attack__js_answer"),
    "more_sufficient_than_best_seat_code": partial(
        better_than_best, "comprehensiveness_sufficiency__sufficiency_attention"
    ),
    "more_necessary_than_best_seat_code": partial(
        better_than_best, "comprehensiveness_sufficiency__comprehensiveness_attention", is_lower_better=False
    ),
    "more_necessary_seat": lambda true: lower_than_vanilla(
        "comprehensiveness_sufficiency__comprehensiveness_attention", "seat", not true
    ),
    "more_sufficient_seat": partial(lower_than_vanilla, "comprehensiveness_sufficiency__sufficiency_attention", "seat"),
    "keeps_top_words_seat": lambda true: made_results(measured("seat", seeds__overlap=0.95 if true else 0.2)),
    "distinguishes_words_seat_code": partial(selective, "seat_code"),
}


def test_a_method_is_compared_with_the_vanilla_model_of_its_own_encoder():
    other = made_cell("sst2", "rnn", "seat", columns={"word_substitution.js": 0.1})
    results = made_results(measured("vanilla", word_substitution__js=0.4), other)
    assert word_on(STUDY, "steadier_replaced_words_seat", results) == "not tested"


# The paper's quantities, reconstructed from ours.


def read(method, **columns):
    values = {name.replace("__", "."): torch.tensor([texts]).double() for name, texts in columns.items()}
    return made_cell("sst2", "rnn", method, columns=values)


def test_the_paper_s_tvd_is_16_where_nothing_moves_and_takes_the_new_probability_for_a_logit():
    certain = {
        "embedding_attack__drop_answer": [0.0, 0.0],
        "prediction__probability": [1.0, 1.0],
        "prediction__predicted": [0, 1],
    }
    vanilla, seat = (known(printed_tvd(read(method, **certain), DROP)) for method in ("vanilla", "seat"))
    assert vanilla.tolist()[0] == pytest.approx([32 * math.log(2), 32 * (math.log1p(math.e) - 1)])
    assert vanilla.mean() == pytest.approx(16, abs=0.2)
    assert seat.abs().max() == 0
    columns = {
        "embedding_attack__drop_answer_0.05": [0.3],
        "prediction__probability": [0.9],
        "prediction__predicted": [0],
    }
    # p = .1 becomes .4
    expected = 32 * (math.log1p(math.exp(0.4)) - 0.1 * 0.4)
    assert known(printed_tvd(read("vanilla", **columns), f"{DROP}_0.05")).item() == pytest.approx(expected)
    assert known(printed_tvd(read("word_at", **columns), f"{DROP}_0.05")).item() == pytest.approx(32 * 0.3 / 2)
    assert printed_tvd(read("word_at", **columns), f"{DROP}_0.01") is None


def test_bert_has_batches_of_eight_and_no_number_of_vanilla_s_to_compare_with():
    columns = {"embedding_attack.drop_answer": torch.tensor([[0.5]]), EMPTIED: torch.tensor([[0.5]])}
    word_at, vanilla = (made_cell("sst2", MINILM, method, columns=columns) for method in ("word_at", "vanilla"))
    assert known(printed_tvd(word_at, DROP)).item() == 8 * 0.5 / 2 == known(printed_comprehensiveness(word_at)).item()
    assert printed_tvd(vanilla, DROP) is None


def test_comprehensiveness_is_of_all_words_and_uniform_attention_of_size_1():
    emptied = read("seat", comprehensiveness_sufficiency__emptied=[-0.25, 0.5])
    assert known(printed_comprehensiveness(emptied)).tolist() == [[4, 8]]
    assert printed_comprehensiveness(read("seat")) is None
    uniform = read("seat_code", prediction__max_attention=[0.25, 0.5], prediction__items=[4, 4])
    assert largest_relative_to_uniform(uniform).tolist() == [[1, 2]]
