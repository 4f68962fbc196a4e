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
from support.synthetic_results import known, made_cell, made_results, share, verdict_of

STUDY = STUDIES["seat"]


def measured(method, **columns):
    """A BiLSTM trained by that method; `a__b` is the column a.b."""
    return made_cell("sst2", "bilstm", method, columns={name.replace("__", "."): v for name, v in columns.items()})


def lower_than_vanilla(column, method, true):
    """The measure, of which less is better, is lower for the method than for vanilla; or higher."""
    vanilla, other = (0.4, 0.1) if true else (0.1, 0.4)
    return made_results(measured("vanilla", **{column: vanilla}), measured(method, **{column: other}))


def steadier_by_magnitudes(method, true):
    """Vanilla's divergence is a thousand times as large, or hardly larger."""
    other = 0.00001 if true else 0.009
    made = {"vanilla": 0.01, method: other}
    return made_results(*(measured(name, embedding_attack__js_answer=share(1.0) * js) for name, js in made.items()))


def selective(method, true):
    """Of ten words the top one has half of all attention, or hardly more than a tenth."""
    return made_results(measured(method, prediction__max_attention=0.5 if true else 0.11, prediction__items=10.0))


CLAIM_CASES = {
    "predicts_as_well": lambda true: made_results(
        measured("vanilla", prediction__correct=share(0.9)),
        measured("seat", prediction__correct=share(0.9 if true else 0.6)),
    ),
    "keeps_top_words_seat": lambda true: made_results(measured("seat", seeds__overlap=0.95 if true else 0.2)),
    "keeps_top_words_seat_code": lambda true: made_results(measured("seat_code", seeds__overlap=0.95 if true else 0.2)),
    "steadier_seat": partial(lower_than_vanilla, "embedding_attack__js_answer", "seat"),
    "steadier_seat_all": partial(lower_than_vanilla, "embedding_attack__js_answer", "seat_all"),
    "steadier_by_magnitudes_seat": partial(steadier_by_magnitudes, "seat"),
    "steadier_by_magnitudes_seat_code": partial(steadier_by_magnitudes, "seat_code"),
    "selective_seat": partial(selective, "seat"),
    "selective_seat_code": partial(selective, "seat_code"),
    "steadier_predictions": partial(lower_than_vanilla, "embedding_attack__tvd_answer", "seat"),
    "steadier_replaced_words": partial(lower_than_vanilla, "word_substitution__js", "seat"),
    "more_necessary_words": lambda true: lower_than_vanilla(
        "comprehensiveness_sufficiency__comprehensiveness_attention", "seat", not true
    ),
    "more_sufficient_words": partial(
        lower_than_vanilla, "comprehensiveness_sufficiency__sufficiency_attention", "seat"
    ),
}


def test_a_method_is_compared_with_the_vanilla_model_of_its_own_encoder():
    other = made_cell("sst2", "rnn", "seat", columns={"word_substitution.js": 0.1})
    results = made_results(measured("vanilla", word_substitution__js=0.4), other)
    assert verdict_of(STUDY, "steadier_replaced_words", results) == "not tested"


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
