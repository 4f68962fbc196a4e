"""Each claim on rationales on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

import pytest

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, verdict_of

STUDY = STUDIES["rationales"]
SETS = ("hatexplain", "eraser_movies")
GUIDED = ("guided", "guided as published")


def cells(attention, guided):
    """Both sets with each way to train, whose columns are these; parts differ a little, as real ones do."""
    made = []
    for place, data in enumerate(SETS):
        for more, (method, columns) in enumerate([("attention", attention), *((name, guided) for name in GUIDED)]):
            shifted = {name: value + 0.003 * (place + more) for name, value in columns.items()}
            made.append(made_cell(data, "bilstm", method, columns=shifted))
    return made_results(*made)


def guided_attention_is_more_plausible(true):
    column = "plausibility.average_precision_attention"
    return cells({column: 0.5}, {column: 0.8 if true else 0.2})


def more_plausible_is_not_more_faithful(true):
    erased = "erase_until_flip.fraction_{}".format
    plain = {erased("random"): 0.8, erased("attention"): 0.5}
    return cells(plain, {**plain, erased("attention"): 0.5 if true else 0.2})


def attention_beats_random(true):
    column = "comprehensiveness_sufficiency.comprehensiveness_{}".format
    both = {column("attention"): 0.3 if true else 0.1, column("random"): 0.2}
    return cells(both, both)


def attention_does_not_beat_the_gradient(true):
    column = "comprehensiveness_sufficiency.comprehensiveness_{}".format
    both = {column("attention"): 0.2, column("gradient_x_input"): 0.3 if true else 0.1}
    return cells(both, both)


def auprc_rewards_constant_scores(data, true):
    columns = {"plausibility.eraser_auprc_constant": 0.7 if true else 0.2, "plausibility.eraser_auprc_random": 0.4}
    return made_results(made_cell(data, "bilstm", "attention", columns=columns))


CLAIM_CASES = {
    "guided_attention_is_more_plausible": guided_attention_is_more_plausible,
    "more_plausible_is_not_more_faithful": more_plausible_is_not_more_faithful,
    "attention_beats_random": attention_beats_random,
    "attention_does_not_beat_the_gradient": attention_does_not_beat_the_gradient,
    "auprc_rewards_constant_scores_hatexplain": partial(auprc_rewards_constant_scores, "hatexplain"),
    "auprc_rewards_constant_scores_movies": partial(auprc_rewards_constant_scores, "eraser_movies"),
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_has_the_right_sign(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_a_model_that_was_audited_on_fewer_texts_has_no_part_in_what_no_model_has_a_part_in():
    name = "auprc_rewards_constant_scores_hatexplain"
    results = auprc_rewards_constant_scores("hatexplain", True)
    fewer = {column: values[:, :5] - 1 for column, values in results.cells[0].columns.items()}
    slow = made_cell("hatexplain", "minilm", "attention", columns=fewer)
    assert verdict_of(STUDY, name, made_results(*results.cells, slow)) == verdict_of(STUDY, name, results)
