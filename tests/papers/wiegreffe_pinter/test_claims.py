"""Each claim of Wiegreffe and Pinter on rows in which its sentence is plainly true, and plainly false."""

from heedful.papers import STUDIES
from support.synthetic_results import judged_claims, made_cell, made_results, share, word_on

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
    columns = {"seeds.max_js": most, "seeds.max_tvd": 0.05}
    for number, (js, tvd) in enumerate(((0.3, 0.04), (0.2, 0.01), (0.69, 0.2)), start=1):
        columns |= {f"adversarial_models.js_{number}": js, f"adversarial_models.tvd_{number}": tvd}
    return made_results(made_cell("sst2", "bilstm", "own", role="other seeds", columns=columns))


CLAIM_CASES = {
    "attention_hardly_needed": lambda true: uniform_bilstm("ag_news", true),
    "seeds_differ_less_than_adversary": lambda true: seeds_differ(0.1 if true else 0.5),
    "imposed_attention_beats_uniform": lambda true: imposed_mlp("uniform", true),
    "imposed_attention_beats_own": lambda true: imposed_mlp("own", true),
    "adversary_guides_worse": lambda true: imposed_mlp("adversary", true),
}


def test_an_adversary_that_moves_the_prediction_farther_than_seeds_do_does_not_count():
    (each,) = judged_claims(STUDY, seeds_differ(0.1))["seeds_differ_less_than_adversary"].sets
    assert round(each.effect.value, 2) == 0.2  # .3 - .1, not .69 - .1


def test_only_both_models_on_a_set_of_which_the_paper_says_so_are_evidence():
    only_uniform = made_results(accuracy("bilstm", "uniform", 0.9, "ag_news"))
    other_set = made_results(accuracy("bilstm", "own", 0.9), accuracy("bilstm", "uniform", 0.6))
    for results in (only_uniform, other_set):
        assert word_on(STUDY, "attention_hardly_needed", results) == "not tested"
