"""Each claim of Amini and Kosseim on rows in which its sentence is plainly true, and plainly false."""

from dataclasses import replace
from functools import partial

import pytest

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, near, verdict_of

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
    return made_results(attacked("sst2", "mlp", *[mlp] * 5), attacked("sst2", "bilstm", *[bilstm] * 5))


def context_less_faithful_by_best(true):
    """The best adversary of one model fails where that of the other wins, while the mean says the opposite."""
    modest, hopeless = (0.3, 0.6), (0.9, 0.1)
    modest, mixed = (modest,) * 5, (WON, *(hopeless,) * 4)
    mlp, bilstm = (modest, mixed) if true else (mixed, modest)
    return made_results(attacked("sst2", "mlp", *mlp), attacked("sst2", "bilstm", *bilstm))


def falls_with_informative_words(true):
    few, many = (FAILED, WON) if true else (WON, FAILED)
    moved = {"mock-1": few, "mock-2": few, "mock-1q": many, "mock-2q": many}
    return made_results(*(attacked(data, "mlp", *[way] * 3) for data, way in moved.items()))


def two_clusters_of_seeds(data, true):
    adversaries = (WON, FAILED) * 5 if true else (WON,) * 10
    return made_results(attacked(data, "mlp", *adversaries))


def moves_attention_as_far_as_lambda(true):
    own, by_lambda = (0.6, 0.2) if true else (0.2, 0.6)
    return made_results(
        attacked("sst2", "mlp", *[(0.1, own)] * 5), attacked("sst2", "mlp", (0.1, by_lambda), role="by lambda")
    )


CLAIM_CASES = {
    "context_less_faithful": context_less_faithful,
    "context_less_faithful_by_best": context_less_faithful_by_best,
    "falls_with_informative_words": falls_with_informative_words,
    "two_clusters_of_seeds_mock_1q": partial(two_clusters_of_seeds, "mock-1q"),
    "two_clusters_of_seeds_mock_2q": partial(two_clusters_of_seeds, "mock-2q"),
    "moves_attention_as_far_as_lambda": moves_attention_as_far_as_lambda,
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_the_best_adversary_and_the_mean_can_disagree():
    results = context_less_faithful_by_best(True)
    assert verdict_of(STUDY, "context_less_faithful", results) == "contradicted"


def test_the_rise_that_the_paper_names_is_shown_and_not_counted():
    ways = {"mock-1": FAILED, "mock-2": FAILED, "mock-5": WON, "mock-10": FAILED, "mock-1q": WON, "mock-2q": WON}
    results = made_results(*(attacked(data, "mlp", *[way] * 3) for data, way in ways.items()))
    claim = next(claim for claim in STUDY.claims(results) if claim.id == "falls_with_informative_words")
    assert claim.verdict == "confirmed"
    assert list(claim.parts) == ["mock-1 - mock-1q", "mock-2 - mock-2q", "mock-5 - mock-10"]
    assert claim.parts["mock-5 - mock-10"].high < 0
    assert claim.trainings == 6 and claim.exceptions == ()


def test_few_adversaries_leave_a_claim_untested():
    results = made_results(attacked("mock-1q", "mlp", WON, FAILED))
    assert verdict_of(STUDY, "two_clusters_of_seeds_mock_1q", results) == "not tested"


def test_the_page_says_which_adversaries_gave_up():
    constant = {"adversarial_models.apart_1": 0.0, "adversarial_models.apart_2": 0.0}
    won, lost = attacked("mock-1", "bilstm", WON, WON), attacked("mock-1", "mlp", FAILED, FAILED)
    columns = {**lost.columns, **{name: near(value) * 0 for name, value in constant.items()}}
    assert STUDY.remarks(made_results(won, replace(lost, columns=columns))) == [
        "All of the adversaries gave up: mock-1, mlp.",
        "None of the adversaries gave up: mock-1, bilstm.",
    ]


def test_variants_that_the_paper_leaves_as_future_work_are_no_evidence_for_its_claims():
    cells = (attacked("mock-5", encoder, FAILED, role="future work") for encoder in ("mlp", "bilstm"))
    assert verdict_of(STUDY, "context_less_faithful", made_results(*cells)) == "not tested"
