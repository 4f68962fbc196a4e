"""Each claim of Jain and Wallace on rows in which its sentence is plainly true, and plainly false."""

import torch

from heedful.papers import STUDIES
from support.synthetic_results import SEEDS, TEXTS, made_cell, made_results, outcomes_of, word_on

STUDY = STUDIES["jain-wallace"]


def agreement(data, encoder, *, gradient=0.3, leave_one_out=0.3, each_other=0.3):
    """Kendall's tau: of attention with the gradient, with leave-one-out, and of these two with each other."""
    columns = {
        "gradient_agreement.tau": gradient,
        "leave_one_out_agreement.tau": leave_one_out,
        "leave_one_out_agreement.tau_gradient": each_other,
    }
    return made_cell(data, encoder, "additive", columns=columns)


def counterfactual(*, largest=0.3, change=0.3, divergence=0.3, possible=0.6):
    """The largest weight; how far permuting moves the prediction; how different attention with the same one can be."""
    columns = {
        "prediction.max_attention": largest,
        "permutation.median_tvd": change,
        "adversarial_attention.js": divergence,
        "adversarial_attention.cap": possible,
    }
    return made_cell("sst2", "bilstm", "additive", columns=columns)


def both_encoders(**average):
    """The average encoder with that agreement, and the BiLSTM with an agreement of .5."""
    bilstm = agreement("sst2", "bilstm", **dict.fromkeys(average, 0.5))
    return made_results(agreement("sst2", "average", **average), bilstm)


def bilstm(**taus):
    return made_results(agreement("sst2", "bilstm", **taus))


def trend(rising):
    """The larger the largest weight, the smaller (or larger) the divergence."""
    largest = torch.linspace(0, 1, TEXTS, dtype=torch.float64).repeat(SEEDS, 1)
    columns = {"prediction.max_attention": largest, "adversarial_attention.js": largest if rising else 1 - largest}
    return made_results(made_cell("sst2", "bilstm", "additive", columns=columns))


CLAIM_CASES = {
    "average_agrees_more_with_gradient": lambda true: both_encoders(gradient=0.8 if true else 0.2),
    "average_agrees_more_with_leave_one_out": lambda true: both_encoders(leave_one_out=0.8 if true else 0.2),
    "gradient_agreement_is_modest": lambda true: bilstm(gradient=0.2 if true else 0.9),
    "leave_one_out_agreement_is_modest": lambda true: bilstm(leave_one_out=0.2 if true else 0.9),
    "leave_one_out_agrees_more_with_gradient": lambda true: (
        bilstm(each_other=0.7, leave_one_out=0.2) if true else bilstm(each_other=0.2, leave_one_out=0.7)
    ),
    "gradient_agrees_more_with_leave_one_out": lambda true: (
        bilstm(each_other=0.7, gradient=0.2) if true else bilstm(each_other=0.2, gradient=0.7)
    ),
    "permuting_changes_little": lambda true: made_results(counterfactual(largest=0.9, change=0.01 if true else 0.6)),
    "different_attention_same_prediction": lambda true: made_results(
        counterfactual(divergence=0.65 if true else 0.1, possible=0.66)
    ),
    "different_attention_at_high_weight": lambda true: made_results(
        counterfactual(largest=0.9, divergence=0.65 if true else 0.1, possible=0.66)
    ),
    "peaked_attention_is_harder_to_replace": lambda true: trend(not true),
    "peaked_attention_is_only_weakly_harder": lambda true: trend(true),
}


def test_texts_without_high_weights_and_other_attention_do_not_count():
    for claim in ("permuting_changes_little", "different_attention_at_high_weight"):
        assert word_on(STUDY, claim, made_results(counterfactual(largest=0.2))) == "not tested"
    dot = made_cell("sst2", "bilstm", "dot", columns=counterfactual().columns)
    assert word_on(STUDY, "permuting_changes_little", made_results(dot)) == "not tested"


def test_a_share_below_half_can_be_many():
    few = [counterfactual(largest=0.9, change=0.01), counterfactual(largest=0.9, change=0.6)]
    columns = {name: torch.cat([each.columns[name] for each in (few[0], *[few[1]] * 2)], 1) for name in few[0].columns}
    results = made_results(made_cell("sst2", "bilstm", "additive", columns=columns))
    assert outcomes_of(STUDY, "permuting_changes_little", results) == {"sst2": "holds"}
