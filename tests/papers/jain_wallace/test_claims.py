"""Each claim of Jain and Wallace on rows in which its sentence is plainly true, and plainly false."""

import pytest
import torch

from heedful.papers import STUDIES
from support.synthetic_results import judged_claims, made_cell, made_results, share, verdict_of

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


CLAIM_CASES = {
    "average_agrees_more_with_gradient": lambda true: both_encoders(gradient=0.8 if true else 0.2),
    "average_agrees_more_with_leave_one_out": lambda true: both_encoders(leave_one_out=0.8 if true else 0.2),
    "modest_agreement_with_gradient": lambda true: bilstm(gradient=0.2 if true else 0.9),
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
}


def test_excepted_sets_texts_without_high_weights_and_models_that_have_not_learnt_do_not_count():
    for claim in ("permuting_changes_little", "different_attention_at_high_weight"):
        assert verdict_of(STUDY, claim, made_results(counterfactual(largest=0.2))) == "not tested"
    dot = made_cell("sst2", "bilstm", "dot", columns=counterfactual().columns)
    assert verdict_of(STUDY, "permuting_changes_little", made_results(dot)) == "not tested"
    cells = [agreement(data, "bilstm", each_other=0.7, leave_one_out=0.2) for data in ("sst2", "imdb")]
    results = made_results(*cells, agreement("snli", "bilstm", each_other=0.2, leave_one_out=0.7))
    claim = judged_claims(STUDY, results)["leave_one_out_agrees_more_with_gradient"]
    assert list(claim.parts) == ["sst2", "imdb", "snli"]
    assert claim.pooled.value == pytest.approx(0.5, abs=0.01)
    assert claim.exceptions == () and claim.trainings == 10
    label = share(0.5)
    columns = {**counterfactual(divergence=0.1).columns, "prediction.label": label}
    cells = [
        made_cell(data, "bilstm", "additive", columns=columns | {"prediction.correct": correct})
        for data, correct in {"sst2": share(1.0), "babi_task3": label}.items()
    ]
    claim = judged_claims(STUDY, made_results(*cells))["different_attention_same_prediction"]
    assert (list(claim.parts), claim.left_out, claim.trainings) == (["sst2"], ("babi_task3",), 5)


def test_a_share_below_half_can_be_many():
    few = [counterfactual(largest=0.9, change=0.01), counterfactual(largest=0.9, change=0.6)]
    columns = {name: torch.cat([each.columns[name] for each in (few[0], *[few[1]] * 2)], 1) for name in few[0].columns}
    results = made_results(made_cell("sst2", "bilstm", "additive", columns=columns))
    assert verdict_of(STUDY, "permuting_changes_little", results) == "confirmed"
