import torch
from hypothesis import given
from sklearn.metrics import roc_auc_score
from torch.testing import assert_close

from heedful.measures import shares_below
from support.strategies import score_pairs


def reference_shares_below(values: list[float], others: list[bool]) -> list[float]:
    """The share of the others below each value, pair by pair."""
    group = [value for value, is_other in zip(values, others, strict=True) if is_other]
    return [sum((other < value) + (other == value) / 2 for other in group) / len(group) for value in values]


@given(score_pairs())
def test_shares_are_those_of_all_pairs(pair):
    values, _, others = pair
    result = shares_below(values, others)
    for row, is_other, shares in zip(values.tolist(), others.tolist(), result, strict=True):
        assert_close(shares, torch.tensor(reference_shares_below(row, is_other), dtype=torch.float64))


def test_the_mean_over_a_group_is_the_area_under_the_roc_curve():
    draw = torch.Generator().manual_seed(0)
    values, others = torch.randint(0, 7, (50,), generator=draw).double(), torch.rand(50, generator=draw) < 0.3
    wanted = roc_auc_score((~others).numpy(), values.numpy())
    assert_close(shares_below(values, others)[~others].mean().item(), wanted)


@given(score_pairs())
def test_only_the_order_counts(pair):
    values, _, others = pair
    assert_close(shares_below(values, others), shares_below(2 * values, others))
    assert_close(shares_below(values, others) + shares_below(-values, others), torch.ones_like(values))


def test_without_others_or_a_value_there_is_no_share():
    values = torch.tensor([[1.0, torch.nan, 2.0], [1.0, 2.0, 3.0]])
    others = torch.tensor([[True, True, False], [False, False, False]])
    result = shares_below(values, others)
    assert result[0].isnan().tolist() == [False, True, False] and result[0, 2] == 1
    assert result[1].isnan().all()


def test_infinite_values_have_their_place():
    values = torch.tensor([-torch.inf, 0.0, torch.inf, torch.inf])
    assert shares_below(values, torch.tensor([True, True, True, False])).tolist() == [1 / 6, 0.5, 5 / 6, 5 / 6]
