"""Each claim of the study on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

from heedful.papers.faithful_training.claims import RECIPES
from support.synthetic_results import made_cell, made_results, share

SETS = ("sst2", "rotten_tomatoes", "ag_news")
RECIPE = next(iter(RECIPES))
USUAL = {
    "prediction.correct": 0.8,
    "seeds.mean_js": 0.1,
    "seeds.shuffled_js": 0.4,
    **{f"seeds.{name}": 0.1 for name in ("flips", "max_js", "max_tvd", "mean_tvd", "overlap")},
    "shape.sharpness": 4.0,
    "shape.evenness": 0.5,
}


def results(column, before, after):
    """Sets in which a column is that much under vanilla training, and that much under diversity and the recipe."""
    cells = []
    for place, data in enumerate(SETS):
        shift = 0.003 * place
        for method, value in (("vanilla", before), ("diversity", after), (RECIPE, after)):
            cells.append(made_cell(data, "bilstm", method, columns={**_usual(), column: value + shift}))
        cells.append(made_cell(data, "bilstm", "vanilla", columns=_usual(), role="dev"))
        cells.append(made_cell(data, "bilstm", RECIPE, columns={**_usual(), "seeds.mean_js": 0.05}, role="dev"))
    return made_results(*cells)


def _usual():
    return {**USUAL, "prediction.correct": share(0.8)}


COLUMNS = {
    "conicity_falls": ("shape.conicity", 0.7, 0.4, 0.9),
    "permutation_matters_more": ("permutation.median_tvd", 0.1, 0.3, 0.02),
    "fewer_erasures": ("erase_until_flip.fraction_attention", 0.6, 0.3, 0.8),
    "better_agreement_with_gradients": ("gradient_agreement.tau", 0.2, 0.6, 0.0),
    "less_attention_on_punctuation": ("shape.punctuation", 0.2, 0.05, 0.3),
    "the_recipe_costs_no_accuracy": ("prediction.correct", 0.8, 0.82, 0.7),
    "the_recipe_is_more_relevant": ("erase_until_flip.fraction_attention", 0.6, 0.3, 0.8),
    "the_recipe_agrees_with_deletions": ("leave_one_out_agreement.tau", 0.2, 0.6, 0.0),
    "the_recipe_halves_the_share_of_the_seed": ("seeds.mean_js", 0.2, 0.05, 0.18),
    "the_recipe_resists_attack": ("embedding_attack.js_attention", 0.3, 0.1, 0.28),
    "the_recipe_stays_sharp": ("shape.sharpness", 4.0, 3.5, 1.2),
}


def case(claim, true):
    column, before, good, bad = COLUMNS[claim]
    return results(column, before, good if true else bad)


CLAIM_CASES = {claim: partial(case, claim) for claim in COLUMNS}
