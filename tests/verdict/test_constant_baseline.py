"""Whether a model has learnt anything that could be explained."""

import pytest
import torch

from heedful.verdict.constant_baseline import beats_constant_prediction


def columns(label: torch.Tensor, *predicted: torch.Tensor) -> dict[str, torch.Tensor]:
    """The columns of one model for each seed's predictions."""
    return {
        "prediction.correct": torch.stack([(each == label).double() for each in predicted]),
        "prediction.label": label.double().expand(len(predicted), -1),
    }


def labels(*counts: int) -> torch.Tensor:
    return torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("counts", [(10, 10), (90, 10), (10, 10, 10)])
def test_a_perfect_model_has_learnt_and_a_constant_one_has_not(counts, seeds):
    label = labels(*counts)
    assert beats_constant_prediction(columns(label, *[label] * seeds))
    assert not beats_constant_prediction(columns(label, *[torch.zeros_like(label)] * seeds))


def test_balanced_accuracy_counts_where_accuracy_cannot():
    label = labels(95, 5)
    predicted = label.clone()
    predicted[:10] = 1
    assert (predicted == label).double().mean() < 0.95
    assert beats_constant_prediction(columns(label, predicted))


def test_accuracy_must_be_surely_above_the_most_common_label():
    label = labels(60, 40)
    predicted = torch.zeros_like(label)
    # 57 of 60 and 7 of 40: 64 % is more than 60 %, but may be 54 %.
    predicted[57:67] = 1
    assert not beats_constant_prediction(columns(label, predicted))
    predicted[67:90] = 1
    assert beats_constant_prediction(columns(label, predicted))


def test_a_rare_label_that_is_correct_by_luck_is_no_learning():
    label = labels(99, 1)
    assert not beats_constant_prediction(columns(label, label))


@pytest.mark.parametrize("count", [0, 1, 30])
def test_with_a_single_label_nothing_can_be_learnt(count):
    label = labels(count)
    assert not beats_constant_prediction(columns(label, label))


@pytest.mark.parametrize("counts", [(50, 50), (90, 10), (40, 30, 30)])
def test_guessing_seldom_passes(counts):
    label, generator = labels(*counts), torch.Generator().manual_seed(0)
    chances = torch.tensor(counts, dtype=torch.float64)
    passed = 0
    for _ in range(300):
        passed += beats_constant_prediction(
            columns(label, chances.multinomial(len(label), replacement=True, generator=generator))
        )
    # Two one-sided tests at 2.5 % make 5 % at most, here 15 of 300; 25 is 2.6 standard errors more.
    assert passed <= 25
