"""Each claim of Wiegreffe and Pinter on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

import pytest

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, results_of, share, verdict_of

STUDY = STUDIES["wiegreffe-pinter"]


def accuracy(encoder, attention, correct, data="sst2"):
    return made_cell(data, encoder, attention, columns={"prediction.correct": share(correct)})


def attention_hardly_needed(data, true):
    uniform = accuracy("bilstm", "uniform", 0.9 if true else 0.6, data)
    return made_results(accuracy("bilstm", "own", 0.9, data), uniform)


def seeds_differ_much_less_than_adversary(true):
    """That they differ less is not enough: any model with the same prediction does."""
    columns = {"seeds.max_js": 0.1 if true else 0.5, "adversarial_attention.js": 0.6}
    return made_results(made_cell("sst2", "bilstm", "own", role="other seeds", columns=columns))


def imposed_attention_beats_uniform(true):
    imposed, uniform = (0.9, 0.6) if true else (0.6, 0.9)
    return made_results(accuracy("mlp", "imposed", imposed), accuracy("mlp", "uniform", uniform))


def imposed_attention_beats_own(true):
    imposed, own = (0.9, 0.6) if true else (0.6, 0.9)
    return made_results(accuracy("mlp", "imposed", imposed), accuracy("mlp", "own", own))


CLAIM_CASES = {
    "attention_hardly_needed_ag_news": partial(attention_hardly_needed, "ag_news"),
    "attention_hardly_needed_newsgroups_sports": partial(attention_hardly_needed, "newsgroups_sports"),
    "seeds_differ_much_less_than_adversary": seeds_differ_much_less_than_adversary,
    "imposed_attention_beats_uniform": imposed_attention_beats_uniform,
    "imposed_attention_beats_own": imposed_attention_beats_own,
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_a_model_that_was_not_measured_leaves_the_claim_untested():
    only_uniform = made_results(accuracy("bilstm", "uniform", 0.9, "ag_news"))
    assert verdict_of(STUDY, "attention_hardly_needed_ag_news", only_uniform) == "not tested"


def test_a_set_of_which_the_paper_does_not_say_so_is_no_evidence():
    results = made_results(accuracy("bilstm", "own", 0.9), accuracy("bilstm", "uniform", 0.6))
    assert verdict_of(STUDY, "attention_hardly_needed_ag_news", results) == "not tested"


def test_the_models_of_other_seeds_are_behind_a_claim_about_seeds():
    (claim,) = [claim for claim in STUDY.claims(results_of(STUDY)) if claim.id.startswith("seeds_")]
    assert claim.trainings == 3 * (1 + 3)


def test_claims_about_a_single_set_have_enough_seeds_at_medium_scale():
    seeds = {}
    for each in STUDY.runs_at("medium"):
        seeds.setdefault((each.data, each.model), []).append(each.run.run.seed)
    for data in ("ag_news", "newsgroups_sports"):
        assert seeds[data, "bilstm"] == seeds[data, "bilstm, uniform"] == [0, 1, 2, 3, 4]
        assert seeds[data, "mlp"] == [0, 1]
    assert seeds["imdb", "bilstm"] == [0, 1]
