import torch

from heedful.battery.weight_ranks import dense_ranks, top_ties

ITEMS = torch.tensor([[True, True, True, False]])


def test_values_that_differ_by_rounding_share_a_place_and_undefined_ones_come_last():
    values = torch.tensor([[0.2, 0.2 + 1e-12, 0.5, 9.0], [torch.nan, 0.1, -3.0, 9.0]], dtype=torch.float64)
    ranks = dense_ranks(values, ITEMS.expand(2, 4))
    assert ranks[0, 0] == ranks[0, 1] < ranks[0, 2]
    assert ranks[1, 1] > ranks[1, 2] > ranks[1, 0]


def test_the_first_place_may_be_shared_and_is_never_padding():
    assert top_ties(torch.tensor([[0.5, 0.1, 0.5, 9.0]]), ITEMS).tolist() == [[True, False, True, False]]
