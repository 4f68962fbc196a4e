"""Each claim of Amini and Kosseim on rows in which its sentence is plainly true, and plainly false."""

from dataclasses import replace
from math import log

import pytest
import torch

from heedful.papers import STUDIES
from heedful.papers.attefa.claims import (
    MOCKS,
    SPARSE,
    attefa_by_adversary,
    divergence_by_adversary,
    farthest_divergence,
)
from heedful.settings import ComparisonModels
from support.synthetic_results import made_cell, made_results, near, word_on

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


def encoders(mlp, bilstm):
    """Both encoders with these families of adversaries."""
    return made_results(attacked("sst2", "mlp", *mlp), attacked("sst2", "bilstm", *bilstm))


def family(size):
    """Five adversaries whose AtteFa is about this, and grows a little from one to the next."""
    return [(0.6 * size / (2 * log(2)) + 0.001 * place, 0.6) for place in range(5)]


def mocks(encoder, true):
    """AtteFa falls with the number of informative words; or rises."""
    sizes = [0.9 - 0.1 * place for place in range(8)]
    return made_results(
        *(attacked(data, encoder, *family(size)) for data, size in zip(MOCKS, _turned(sizes, true), strict=True))
    )


def _turned(sizes, true):
    return sizes if true else sizes[::-1]


def compared(encoder, others, own, theirs, data="sst2"):
    """One dataset with such an AtteFa, and others with another."""
    return made_results(
        attacked(data, encoder, *family(own)), *(attacked(other, encoder, *family(theirs)) for other in others)
    )


def by_lambda(own, with_lambda):
    """How far attention moves by AtteFa's adversaries, and by those that need a lambda."""
    base = attacked("sst2", "bilstm", *[(0.1, own)] * 5)
    return made_results(base, attacked("sst2", "bilstm", (0.1, with_lambda), role="by lambda"))


CLAIM_CASES = {
    "context_less_faithful": lambda true: encoders(*_turned([[FAILED] * 5, [WON] * 5], true)),
    "falls_with_informative_words_mlp": lambda true: mocks("mlp", true),
    "falls_with_informative_words_bilstm": lambda true: mocks("bilstm", true),
    "real_sets_below_sparse_mocks": lambda true: compared("mlp", SPARSE, *_turned([0.2, 0.6], true)),
    "newsgroups_above_shorter_sets": lambda true: compared("mlp", ["newsgroups_sports"], *_turned([0.2, 0.6], true)),
    "real_sets_as_high_as_mocks": lambda true: compared("bilstm", MOCKS, *_turned([0.6, 0.2], true)),
    "moves_attention_as_far_as_lambda": lambda true: by_lambda(*_turned([0.6, 0.2], true)),
    "divergence_close_to_its_maximum": lambda true: made_results(
        attacked("sst2", "bilstm", *[(0.1, 0.68 if true else 0.3)] * 5)
    ),
}


def test_future_work_is_no_evidence_and_a_trend_needs_all_sets():
    future = made_results(*(attacked("mock-5", encoder, FAILED, role="future work") for encoder in ("mlp", "bilstm")))
    assert word_on(STUDY, "context_less_faithful", future) == "not tested"
    results = mocks("mlp", True)
    assert word_on(STUDY, "falls_with_informative_words_mlp", made_results(*results.cells[1:])) == "not tested"


def test_adversaries_are_compared_with_the_lambda_that_moves_attention_the_most_on_average():
    cell = attacked("sst2", "bilstm", (0.1, 0.2), (0.1, 0.5), (0.1, 0.3))
    assert farthest_divergence(cell).mean() == pytest.approx(0.5, abs=1e-3)


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
    assert attefa_by_adversary(cell).mean(1).tolist() == pytest.approx([0.4 * log(2), 1.0 * log(2)])
    assert divergence_by_adversary(cell).tolist() == [pytest.approx([0.4, 0.6]), pytest.approx([0.1, 0.1])]
