import torch

from heedful.attribution.reuse.sums import Sums, extended, joined, no_sums, onward

SCORES = torch.tensor([[0.0, -900.0], [1.5, -torch.inf], [-0.5, 900.0], [2.0, 0.0], [-torch.inf, -torch.inf]]).double()
VALUES = torch.tensor([[1.0, -2.0, 0.5], [3.0, 1.0, 0.0], [-1.0, 4.0, 2.0], [0.25, 0.5, 8.0], [9.0, 9.0, 9.0]]).double()
END = torch.tensor([3, 3, 3, 5, 5])


def weighted(sums: Sums):
    return sums.value / sums.total[..., None]


def wanted(rows):
    """The values of these rows weighed by the softmax of each column of scores."""
    return SCORES[rows].softmax(0).T @ VALUES[rows]


def test_from_each_token_to_the_end_of_its_text():
    sums = onward(SCORES, VALUES, END)
    for row, rows in enumerate(([0, 1, 2], [1, 2], [2], [3, 4])):
        torch.testing.assert_close(weighted(sums)[row], wanted(rows), atol=1e-14, rtol=0)
    assert (sums.total[4:] == 0).all() and (sums.value[4:] == 0).all()


def test_joining_is_summing_over_both_and_nothing_changes_nothing():
    sums = onward(SCORES, VALUES, END)
    both = joined(sums.select(torch.tensor([1])), sums.select(torch.tensor([3])))
    torch.testing.assert_close(weighted(both)[0], wanted([1, 2, 3]), atol=1e-14, rtol=0)
    alone = joined(no_sums(6, 2, VALUES), sums)
    for name in ("peak", "total", "value"):
        assert torch.equal(getattr(alone, name), getattr(sums, name))


def test_items_are_added_one_by_one_or_together():
    together = extended(no_sums(1, 2, VALUES), SCORES[:, None], VALUES[:, None])
    torch.testing.assert_close(weighted(together)[0], wanted([0, 1, 2, 3]), atol=1e-14, rtol=0)
    step_by_step = no_sums(1, 2, VALUES)
    for scores, values in zip(SCORES, VALUES, strict=True):
        step_by_step = extended(step_by_step, scores[None, None], values[None, None])
    torch.testing.assert_close(weighted(step_by_step), weighted(together), atol=1e-14, rtol=0)
