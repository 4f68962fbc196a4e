"""Each claim of Amini and Kosseim on rows in which its sentence is plainly true, and plainly false."""

import pytest

from heedful.studies import STUDIES
from support.synthetic_results import made_cell, made_results, verdict_of

STUDY = STUDIES["attefa"]

WON, FAILED = (0.02, 0.6), (0.6, 0.5)
"""How far an adversary's predictions (TVD) and attention (JSD) moved: AtteFa near 0, so unfaithful; and near 1."""


def attacked(data, encoder, *adversaries, role=""):
    """A base model whose adversaries moved predictions and attention so far."""
    columns = {"attefa.cap": 0.65, "attefa.constant_tvd": 0.5, "attefa.rescaled_tvd": 0.1}
    for number, (tvd, js) in enumerate(adversaries, start=1):
        columns |= {
            f"adversarial_models.tvd_{number}": tvd,
            f"adversarial_models.js_{number}": js,
            f"adversarial_models.apart_{number}": 0.4,
        }
    return made_cell(data, encoder, role=role, columns=columns)


def context_less_faithful(true):
    mlp, bilstm = (FAILED, WON) if true else (WON, FAILED)
    return made_results(attacked("sst2", "mlp", mlp, mlp), attacked("sst2", "bilstm", bilstm, bilstm))


def context_less_faithful_by_best(true):
    """The best adversary of one model fails where that of the other wins, while the mean says the opposite."""
    modest, hopeless = (0.3, 0.6), (0.9, 0.1)
    mlp, bilstm = ((modest, modest), (WON, hopeless)) if true else ((WON, hopeless), (modest, modest))
    return made_results(attacked("sst2", "mlp", *mlp), attacked("sst2", "bilstm", *bilstm))


def falls_with_informative_words(true):
    faithful_first = {"mock-1": (0.6, 0.5), "mock-5": (0.3, 0.5), "mock-4q": (0.05, 0.5)}
    moved = faithful_first.values() if true else reversed(faithful_first.values())
    return made_results(*(attacked(data, "mlp", way) for data, way in zip(faithful_first, moved, strict=True)))


def two_clusters_of_seeds(true):
    adversaries = (WON, FAILED) if true else (WON, WON)
    return made_results(*(attacked(data, "mlp", *adversaries) for data in ("mock-1q", "mock-2q")))


def moves_attention_as_far_as_lambda(true):
    own, by_lambda = (0.6, 0.2) if true else (0.2, 0.6)
    return made_results(
        attacked("sst2", "mlp", (0.1, own)), attacked("sst2", "mlp", (0.1, by_lambda), role="by lambda")
    )


CLAIM_CASES = {
    "context_less_faithful": context_less_faithful,
    "context_less_faithful_by_best": context_less_faithful_by_best,
    "falls_with_informative_words": falls_with_informative_words,
    "two_clusters_of_seeds": two_clusters_of_seeds,
    "moves_attention_as_far_as_lambda": moves_attention_as_far_as_lambda,
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_the_best_adversary_and_the_mean_can_disagree():
    results = context_less_faithful_by_best(True)
    assert verdict_of(STUDY, "context_less_faithful", results) == "contradicted"


def test_variants_that_the_paper_leaves_as_future_work_are_no_evidence_for_its_claims():
    cells = (attacked("mock-5", encoder, FAILED, role="future work") for encoder in ("mlp", "bilstm"))
    assert verdict_of(STUDY, "context_less_faithful", made_results(*cells)) == "not tested"
