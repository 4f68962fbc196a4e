"""Each claim of Wiegreffe and Pinter on rows in which its sentence is plainly true, and plainly false."""

import pytest

from heedful.studies import STUDIES
from support.synthetic_results import made_cell, made_results, share, verdict_of

STUDY = STUDIES["wiegreffe-pinter"]


def accuracy(encoder, attention, correct):
    return made_cell("sst2", encoder, attention, columns={"prediction.correct": share(correct)})


def attention_hardly_needed(true):
    return made_results(accuracy("bilstm", "own", 0.9), accuracy("bilstm", "uniform", 0.9 if true else 0.6))


def seeds_differ_less_than_adversary(true):
    to_seed, to_adversary = (0.1, 0.6) if true else (0.6, 0.1)
    columns = {"seeds.max_js": to_seed, "adversarial_attention.js": to_adversary}
    return made_results(made_cell("sst2", "bilstm", "own", role="other seeds", columns=columns))


def imposed_attention_beats_uniform(true):
    imposed, uniform = (0.9, 0.6) if true else (0.6, 0.9)
    return made_results(accuracy("mlp", "imposed", imposed), accuracy("mlp", "uniform", uniform))


def imposed_attention_beats_own(true):
    imposed, own = (0.9, 0.6) if true else (0.6, 0.9)
    return made_results(accuracy("mlp", "imposed", imposed), accuracy("mlp", "own", own))


CLAIM_CASES = {
    "attention_hardly_needed": attention_hardly_needed,
    "seeds_differ_less_than_adversary": seeds_differ_less_than_adversary,
    "imposed_attention_beats_uniform": imposed_attention_beats_uniform,
    "imposed_attention_beats_own": imposed_attention_beats_own,
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_a_model_that_was_not_measured_leaves_the_claim_untested():
    only_uniform = made_results(accuracy("bilstm", "uniform", 0.9))
    assert verdict_of(STUDY, "attention_hardly_needed", only_uniform) == "not tested"
