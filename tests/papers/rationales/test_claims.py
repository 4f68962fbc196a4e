"""Each claim on rationales on rows in which its sentence is plainly true, and plainly false."""

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


def auprc_rewards_constant_scores(data, true):
    columns = {"plausibility.eraser_auprc_constant": 0.7 if true else 0.2, "plausibility.eraser_auprc_random": 0.4}
    return made_results(made_cell(data, "bilstm", "attention", columns=columns))


PRECISION, FRACTION = "plausibility.average_precision_attention", "erase_until_flip.fraction_{}".format
COMPREHENSIVENESS = "comprehensiveness_sufficiency.comprehensiveness_{}".format
ERASED = {FRACTION("random"): 0.8, FRACTION("attention"): 0.5}


def top_words(**means):
    """Guided or not, the top words of these rankings are that necessary."""
    both = {COMPREHENSIVENESS(ranking): mean for ranking, mean in means.items()}
    return cells(both, both)


CLAIM_CASES = {
    "guided_attention_is_more_plausible": lambda true: cells({PRECISION: 0.5}, {PRECISION: 0.8 if true else 0.2}),
    "more_plausible_is_not_more_faithful": lambda true: cells(
        ERASED, {**ERASED, FRACTION("attention"): 0.5 if true else 0.2}
    ),
    "attention_beats_random": lambda true: top_words(attention=0.3 if true else 0.1, random=0.2),
    "attention_does_not_beat_the_gradient": lambda true: top_words(
        attention=0.2, gradient_x_input=0.3 if true else 0.1
    ),
    "auprc_rewards_constant_scores_hatexplain": lambda true: auprc_rewards_constant_scores("hatexplain", true),
    "auprc_rewards_constant_scores_movies": lambda true: auprc_rewards_constant_scores("eraser_movies", true),
}


def test_a_model_that_was_audited_on_fewer_texts_has_no_part_in_what_no_model_has_a_part_in():
    name = "auprc_rewards_constant_scores_hatexplain"
    results = auprc_rewards_constant_scores("hatexplain", True)
    fewer = {column: values[:, :5] - 1 for column, values in results.cells[0].columns.items()}
    slow = made_cell("hatexplain", "minilm", "attention", columns=fewer)
    assert verdict_of(STUDY, name, made_results(*results.cells, slow)) == verdict_of(STUDY, name, results)
