"""Each claim of the study on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

from support.synthetic_results import made_cell, made_results

COLUMNS = {
    "conicity_falls_diversity": ("shape.conicity", 0.7, 0.4, 0.9),
    "permutation_matters_more_diversity": ("permutation.median_tvd", 0.1, 0.3, 0.02),
    "fewer_erasures_orthogonal": ("erase_until_flip.fraction_attention", 0.6, 0.3, 0.8),
    "agrees_more_with_gradient_orthogonal": ("gradient_agreement.tau", 0.2, 0.6, 0.0),
    "less_attention_on_punctuation_diversity": ("shape.punctuation", 0.2, 0.05, 0.3),
    "predicts_as_well_diversity": ("prediction.correct", 0.8, 0.82, 0.7),
}


def case(claim, true):
    """A column under vanilla training, and under the method that the claim's name ends with."""
    column, before, good, bad = COLUMNS[claim]
    values = {"vanilla": before, claim.rpartition("_")[2]: good if true else bad}
    return made_results(*(made_cell("sst2", "bilstm", name, columns={column: value}) for name, value in values.items()))


CLAIM_CASES = {claim: partial(case, claim) for claim in COLUMNS}
