"""Each claim of Amini and Kosseim on rows in which its sentence is plainly true, and plainly false."""

from dataclasses import replace
from math import log

import pytest
import torch

from heedful.papers import STUDIES
from heedful.papers.attefa.claims import (
    attefa_by_adversary,
    best_attefa,
    distance_between_clusters,
    divergence_by_adversary,
)
from heedful.settings import ComparisonModels
from support.synthetic_results import judged_claims, made_cell, made_results, near, verdict_of

STUDY = STUDIES["attefa"]

WON, FAILED = (0.02, 0.6), (0.6, 0.5)
"""How far an adversary's predictions (TVD) and attention (JSD) moved: AtteFa near 0, so unfaithful; and near 1."""
MODEST, MIXED = ((0.3, 0.6),) * 5, (WON, *((0.9, 0.1),) * 4)
"""Two families: the best adversary of the second wins where that of the first fails; the mean says the opposite."""


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


def encoders(mlp, bilstm):
    """Both encoders with these families of adversaries."""
    return made_results(attacked("sst2", "mlp", *mlp), attacked("sst2", "bilstm", *bilstm))


def mocks(**moved):
    """The MLP on mock sets, with three adversaries each that moved so far."""
    return made_results(*(attacked(data.replace("_", "-"), "mlp", *[way] * 3) for data, way in moved.items()))


def clusters(data, true):
    return made_results(attacked(data, "mlp", *((WON, FAILED) * 5 if true else (WON,) * 10)))


def by_lambda(own, with_lambda):
    """How far attention moves by AtteFa's adversaries, and by those that need a lambda."""
    base = attacked("sst2", "mlp", *[(0.1, own)] * 5)
    return made_results(base, attacked("sst2", "mlp", (0.1, with_lambda), role="by lambda"))


CLAIM_CASES = {
    "context_less_faithful": lambda true: encoders(*([FAILED] * 5, [WON] * 5)[:: 1 if true else -1]),
    "context_less_faithful_by_best": lambda true: encoders(*(MODEST, MIXED)[:: 1 if true else -1]),
    "falls_with_informative_words": lambda true: (
        mocks(mock_1=FAILED, mock_2=FAILED, mock_1q=WON, mock_2q=WON)
        if true
        else mocks(mock_1=WON, mock_2=WON, mock_1q=FAILED, mock_2q=FAILED)
    ),
    "two_clusters_of_seeds_mock_1q": lambda true: clusters("mock-1q", true),
    "two_clusters_of_seeds_mock_2q": lambda true: clusters("mock-2q", true),
    "moves_attention_as_far_as_lambda": lambda true: by_lambda(0.6, 0.2) if true else by_lambda(0.2, 0.6),
}


def test_the_best_adversary_and_the_mean_can_disagree():
    assert verdict_of(STUDY, "context_less_faithful", encoders(MODEST, MIXED)) == "contradicted"


def test_the_paper_s_exception_does_not_count_and_few_adversaries_leave_a_claim_untested():
    results = mocks(mock_1=FAILED, mock_2=FAILED, mock_5=WON, mock_10=FAILED, mock_1q=WON, mock_2q=WON)
    claim = judged_claims(STUDY, results)["falls_with_informative_words"]
    assert claim.verdict == "confirmed"
    assert list(claim.parts) == ["mock-1 - mock-1q", "mock-2 - mock-2q", "mock-5 - mock-10"]
    assert claim.parts["mock-5 - mock-10"].high < 0
    assert claim.trainings == 6 and claim.exceptions == ()
    few = made_results(attacked("mock-1q", "mlp", WON, FAILED))
    assert verdict_of(STUDY, "two_clusters_of_seeds_mock_1q", few) == "not tested"
    future = made_results(*(attacked("mock-5", encoder, FAILED, role="future work") for encoder in ("mlp", "bilstm")))
    assert verdict_of(STUDY, "context_less_faithful", future) == "not tested"


def test_the_page_tells_adversaries_that_gave_up_from_those_that_are_no_better_than_a_constant_answer():
    won, mixed = attacked("mock-1", "bilstm", WON, WON), attacked("mock-1", "mlp", FAILED, WON, FAILED)
    # the first adversary predicts the same for every text, the third does not; the loss of neither beats that
    lost = replace(mixed, columns={**mixed.columns, "adversarial_models.apart_1": near(0.0) * 0})
    gave_up, no_better, better = STUDY.remarks(made_results(won, lost))
    assert gave_up.startswith("They gave up") and gave_up.endswith(": mock-1, mlp (1 of 3).")
    assert no_better.startswith("They did not give up") and no_better.endswith(": mock-1, mlp (1 of 3).")
    assert better.endswith(": mock-1, bilstm (2 of 2); mock-1, mlp (1 of 3).")
    files = ComparisonModels(adversaries=lost.runs[:3])
    table = STUDY.tables(made_results(replace(lost, comparison_models=files)))[2]
    assert dict((about[:2], about[2]) for about, _ in table.rows)["mock-1", "mlp"] == (
        "1 of 3 gave up, 1 of 3 no better than a constant answer"
    )


def test_the_page_says_what_other_temperatures_did():
    base, cooler = attacked("mock-1", "mlp", WON, WON), attacked("mock-1", "mlp", FAILED, role="future work")
    cooler = replace(cooler, model="mlp, temperature 0.3", method="temperature 0.3")
    *_, said = STUDY.remarks(made_results(base, cooler))
    assert said.endswith("AtteFa: mock-1, mlp, temperature 0.3: 0.832 instead of 0.023.")


def test_numbers_of_two_texts_and_two_adversaries_by_hand():
    parts = {"attefa.cap": (0.6, 0.6), "attefa.constant_tvd": (0.5, 0.5), "attefa.rescaled_tvd": (0.1, 0.1)}
    # AtteFa .2 ln 2 / .5, and .1 ln 2 / .1
    for number, tvd, js in ((1, (0.1, 0.3), (0.4, 0.6)), (2, (0.0, 0.2), (0.1, 0.1))):
        names = {"tvd": tvd, "js": js, "apart": (0.4, 0.4)}
        parts |= {f"adversarial_models.{name}_{number}": texts for name, texts in names.items()}
    columns = {name: torch.tensor([texts], dtype=torch.float64) for name, texts in parts.items()}
    cell = made_cell("sst2", "mlp", columns=columns)
    assert best_attefa(cell).tolist() == [pytest.approx([0.2 * log(2), 0.6 * log(2)])]
    assert attefa_by_adversary(cell).mean(1).tolist() == pytest.approx([0.4 * log(2), 1.0 * log(2)])
    assert distance_between_clusters(cell).mean() == pytest.approx(0.6 * log(2))
    assert divergence_by_adversary(cell).tolist() == [pytest.approx([0.4, 0.6]), pytest.approx([0.1, 0.1])]
