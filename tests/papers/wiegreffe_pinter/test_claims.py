"""Each claim of Wiegreffe and Pinter on rows in which its sentence is plainly true, and plainly false."""

from heedful.papers import STUDIES
from support.synthetic_results import judged_claims, made_cell, made_results, results_of, share, verdict_of

STUDY = STUDIES["wiegreffe-pinter"]


def accuracy(encoder, attention, correct, data="sst2"):
    return made_cell(data, encoder, attention, columns={"prediction.correct": share(correct)})


def uniform_bilstm(data, true):
    uniform = accuracy("bilstm", "uniform", 0.9 if true else 0.6, data)
    return made_results(accuracy("bilstm", "own", 0.9, data), uniform)


def imposed_mlp(other, true):
    imposed, compared = (0.9, 0.6) if true else (0.6, 0.9)
    return made_results(accuracy("mlp", "imposed", imposed), accuracy("mlp", other, compared))


def seeds_differ(most):
    columns = {"seeds.max_js": most, "adversarial_attention.js": 0.6}
    return made_results(made_cell("sst2", "bilstm", "own", role="other seeds", columns=columns))


CLAIM_CASES = {
    "attention_hardly_needed_ag_news": lambda true: uniform_bilstm("ag_news", true),
    "attention_hardly_needed_newsgroups_sports": lambda true: uniform_bilstm("newsgroups_sports", true),
    # That seeds differ less is not enough: any model with the same prediction does.
    "seeds_differ_much_less_than_adversary": lambda true: seeds_differ(0.1 if true else 0.5),
    "imposed_attention_beats_uniform": lambda true: imposed_mlp("uniform", true),
    "imposed_attention_beats_own": lambda true: imposed_mlp("own", true),
}


def test_only_both_models_on_a_set_of_which_the_paper_says_so_are_evidence():
    only_uniform = made_results(accuracy("bilstm", "uniform", 0.9, "ag_news"))
    other_set = made_results(accuracy("bilstm", "own", 0.9), accuracy("bilstm", "uniform", 0.6))
    for results in (only_uniform, other_set):
        assert verdict_of(STUDY, "attention_hardly_needed_ag_news", results) == "not tested"


def test_the_models_of_other_seeds_are_behind_a_claim_about_seeds():
    claims = judged_claims(STUDY, results_of(STUDY))
    assert claims["seeds_differ_much_less_than_adversary"].trainings == 3 * (1 + 3)
