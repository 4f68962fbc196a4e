"""Each claim on rationales on rows in which its sentence is plainly true, and plainly false."""

from support.synthetic_results import made_cell, made_results

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


PRECISION, FRACTION = "plausibility.average_precision_attention", "erase_until_flip.fraction_{}".format
COMPREHENSIVENESS = "comprehensiveness_sufficiency.comprehensiveness_{}".format
ERASED = {FRACTION("random"): 0.8, FRACTION("attention"): 0.5}


def top_words(**means):
    """Guided or not, the top words of these rankings are that necessary."""
    both = {COMPREHENSIVENESS(ranking): mean for ranking, mean in means.items()}
    return cells(both, both)


CLAIM_CASES = {
    "guided_is_more_plausible_hatexplain": lambda true: cells({PRECISION: 0.5}, {PRECISION: 0.8 if true else 0.2}),
    "guided_is_not_more_faithful_hatexplain": lambda true: cells(
        ERASED, {**ERASED, FRACTION("attention"): 0.5 if true else 0.2}
    ),
    "attention_beats_random_words": lambda true: top_words(attention=0.3 if true else 0.1, random=0.2),
    "attention_does_not_beat_the_gradient": lambda true: top_words(
        attention=0.2, gradient_x_input=0.3 if true else 0.1
    ),
}
