"""Each claim of Wiegreffe and Pinter on rows in which its sentence is plainly true, and plainly false."""

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, share, word_on

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
    columns = {"seeds.max_js": most, "adversarial_models.js_1": 0.3, "adversarial_models.js_2": 0.2}
    return made_results(made_cell("sst2", "bilstm", "own", role="other seeds", columns=columns))


CLAIM_CASES = {
    "attention_hardly_needed": lambda true: uniform_bilstm("ag_news", true),
    "seeds_differ_less_than_adversary": lambda true: seeds_differ(0.1 if true else 0.5),
    "imposed_attention_beats_uniform": lambda true: imposed_mlp("uniform", true),
    "imposed_attention_beats_own": lambda true: imposed_mlp("own", true),
    "adversary_guides_worse": lambda true: imposed_mlp("adversary", true),
}


def test_only_both_models_on_a_set_of_which_the_paper_says_so_are_evidence():
    only_uniform = made_results(accuracy("bilstm", "uniform", 0.9, "ag_news"))
    other_set = made_results(accuracy("bilstm", "own", 0.9), accuracy("bilstm", "uniform", 0.6))
    for results in (only_uniform, other_set):
        assert word_on(STUDY, "attention_hardly_needed", results) == "not tested"


def test_claims_about_a_single_set_have_enough_seeds_at_medium_scale():
    seeds = {}
    for each in STUDY.runs_at("medium"):
        seeds.setdefault((each.data, each.model), []).append(each.run.run.seed)
    for data in ("ag_news", "newsgroups_sports"):
        assert seeds[data, "bilstm"] == seeds[data, "bilstm, uniform"] == [0, 1, 2, 3, 4]
        assert seeds[data, "mlp"] == [0, 1]
    assert seeds["imdb", "bilstm"] == [0, 1]
