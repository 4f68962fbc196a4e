"""How well scores of items agree with the items of human rationales.

Every function takes a ragged batch at once: mask is True on real items, which may stand anywhere in the row. Equal
scores are ranked by expectation over all orders of them, never by position: constant scores get exactly what a random
order gets on average, which is the floor. A row with a NaN among its real scores has no ranking, and its answer is NaN.
ERASER's own variants, which reward ties, have its name and serve comparison with printed tables alone.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from heedful.measures.ranking import auroc_per_item, rank_descending


@dataclass(frozen=True)
class _Ties:
    """Items from the largest score to the smallest, each with the group of equal scores that it is in.

    Args:
        order: the position of each item in the row; positions without an item come last.
        real: whether there is an item.
        before, marked_before: how many items have a larger score, and how many of these are marked.
        size, marked: how many items have the same score, and how many of these are marked.
    """

    order: Int[Tensor, "*batch item"]
    real: Bool[Tensor, "*batch item"]
    before: Float[Tensor, "*batch item"]
    size: Float[Tensor, "*batch item"]
    marked_before: Float[Tensor, "*batch item"]
    marked: Float[Tensor, "*batch item"]


def average_precision(
    scores: Real[Tensor, "*batch item"],
    marks: Bool[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """The mean over marked items of the precision at their rank, in float64; of equal scores, its exact expectation.

    AP = (1 / marked) sum over marked items of (marked items up to its rank) / rank.

    1 where all marked items come first. Constant scores get the expectation over random orders, H_n / n +
    (1 - H_n / n) (marked - 1) / (n - 1) with H_n = 1 + 1/2 + ... + 1/n: the floor. NaN if nothing or everything is
    marked. Without ties equal to sklearn's average_precision_score. McSherry and Najork (2008, Computing information
    retrieval performance measures efficiently in the presence of tied scores).

    >>> marks = torch.tensor([[True, False, True]])
    >>> average_precision(torch.tensor([[3.0, 2.0, 1.0]]), marks)  # (1/1 + 2/3) / 2
    tensor([0.8333], dtype=torch.float64)
    >>> average_precision(torch.zeros(1, 3), marks)  # the mean over the orders: 1, 5/6 and 7/12
    tensor([0.8056], dtype=torch.float64)
    """
    mask = _whole(marks, mask)
    ties = _ties(scores, marks, mask)
    rank = torch.arange(1, scores.shape[-1] + 1, device=scores.device).double()
    # Given that the item at this rank is marked: the expected number of marked items among its equals before it.
    equals = (rank - ties.before - 1) * (ties.marked - 1) / (ties.size - 1).clamp_min(1)
    precision = (ties.marked_before + 1 + equals) / rank
    total = (ties.marked / ties.size * precision).where(ties.real, 0.0).sum(-1)
    return (total / _count(marks & mask)).where(_has_both(marks, mask) & _defined(scores, mask), torch.nan)


def auroc(
    scores: Real[Tensor, "*batch item"],
    marks: Bool[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """The chance that a marked item has a larger score than an unmarked one, equal ones counting half; in float64.

    1 where all marked items come first; 0.5, the floor, for constant scores. NaN if nothing or everything is marked.

    >>> auroc(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[True, False, True]]))
    tensor([0.5000], dtype=torch.float64)
    """
    mask = _whole(marks, mask)
    above = auroc_per_item(scores.double(), ~marks & mask).where(marks & mask, 0.0)
    share = above.sum(-1) / _count(marks & mask)
    return share.where(_has_both(marks, mask) & _defined(scores, mask), torch.nan)


def top_k_probabilities(
    scores: Real[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None,
    k: int | Real[Tensor, "*batch"],
) -> Float[Tensor, "*batch item"]:
    """The chance of each item to be among the k largest of its row if equal scores are ordered at random; in float64.

    0 or 1, except for items that share the score at which the list ends. They sum to k, or to the number of items where
    there are fewer. NaN throughout if a score is NaN.

    >>> top_k_probabilities(torch.tensor([[5.0, 1.0, 3.0, 3.0]]), None, 2)
    tensor([[1.0000, 0.0000, 0.5000, 0.5000]], dtype=torch.float64)
    """
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    ties = _ties(scores, mask, mask)
    chances = ((_sizes(k, scores) - ties.before) / ties.size.clamp_min(1)).clamp(0, 1).where(ties.real, 0.0)
    chances = torch.zeros_like(chances).scatter(-1, ties.order, chances)
    return chances.where(_defined(scores, mask)[..., None], torch.nan)


def token_f1(
    chosen: Real[Tensor, "*batch item"] | Bool[Tensor, "*batch item"],
    marks: Bool[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """F1 of the chosen items against the marked ones, in float64.

    F1 = 2 |chosen and marked| / (|chosen| + |marked|), the harmonic mean of precision and recall.

    1 where the two are the same; of `top_k_probabilities` it is the exact expectation, so that those of constant
    scores, k / n each, give the floor. NaN if nothing is marked. DeYoung et al. (2020, ERASER, section 4.1) report
    the mean over texts.

    >>> token_f1(torch.tensor([[True, True, False]]), torch.tensor([[True, False, True]]))
    tensor([0.5000], dtype=torch.float64)
    """
    mask = _whole(marks, mask)
    chosen, marked = chosen.double().where(mask, 0.0), marks & mask
    both = chosen.where(marked, 0.0).sum(-1)
    return (2 * both / (chosen.sum(-1) + _count(marked))).where(marked.any(-1), torch.nan)


def best_token_f1(
    marks: Bool[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None,
    k: int | Real[Tensor, "*batch"],
) -> Float[Tensor, "*batch"]:
    """The largest F1 of any k items: as many of them marked as can be, in float64.

    2 min(k, marked) / (k + marked), with k at most the number of items. The marks themselves, as scores, reach it.

    >>> best_token_f1(torch.tensor([[True, False, True, False]]), None, 3)  # 2 x 2 / (3 + 2)
    tensor([0.8000], dtype=torch.float64)
    """
    mask = _whole(marks, mask)
    marked, size = _count(marks & mask), _sizes(k, marks)[..., 0].minimum(_count(mask))
    return (2 * size.minimum(marked) / (size + marked)).where(marked > 0, torch.nan)


def eraser_auprc(
    scores: Real[Tensor, "*batch item"],
    marks: Bool[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """ERASER's area under the precision-recall curve: trapezoids between its points, from recall 0 at precision 1.

    A point for each different score; equal scores are one step, and the line to it is interpolated. So constant scores
    get (1 + share of marked items) / 2, far above the expectation over random orders (`expected_eraser_auprc`) and
    above many a published value: compare nothing by it but printed tables. 1 where everything is marked, 1/2 where
    nothing is, as scikit-learn has it. DeYoung et al. (2020), `_auprc` of their metrics.py.

    >>> marks = torch.tensor([[True, False, True]])
    >>> eraser_auprc(torch.tensor([[3.0, 2.0, 1.0]]), marks)  # (1 + 1) / 2 x 1/2 + (1/2 + 2/3) / 2 x 1/2
    tensor([0.7917], dtype=torch.float64)
    >>> eraser_auprc(torch.zeros(1, 3), marks)
    tensor([0.8333], dtype=torch.float64)
    """
    mask = _whole(marks, mask)
    ties = _ties(scores, marks, mask)
    earlier = (ties.marked_before / ties.before.clamp_min(1)).where(ties.before > 0, 1.0)
    area = _over_recall((_precision_at_end(ties) + earlier) / 2, ties, marks & mask)
    return area.where((marks & mask).any(-1), 0.5).where(_defined(scores, mask), torch.nan)


def expected_eraser_auprc(
    marks: Bool[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"] | None = None
) -> Float[Tensor, "*batch"]:
    """The exact expectation of `eraser_auprc` over random orders without ties: the value of uninformed scores.

    >>> expected_eraser_auprc(torch.tensor([[True, False, True]]))  # the mean of 1, 19/24 and 5/12
    tensor([0.7361], dtype=torch.float64)
    """
    mask = _whole(marks, mask)
    n, marked = _count(mask), _count(marks & mask)
    reciprocals = 1 / torch.arange(1, mask.shape[-1] + 1, device=mask.device).double()
    first = reciprocals.where(mask.sort(-1, descending=True).values, 0.0).sum(-1) / n
    # The mean number of marked items among the others; each rank is equally likely for the marked item.
    others = (marked - 1) / (n - 1).clamp_min(1)
    average = first + others * (1 - first)
    area = (average + 1 / n + (n - 1) / n * others) / 2
    return area.where(marked > 0, 0.5).where(n > 0, torch.nan)


def _ties(
    scores: Real[Tensor, "*batch item"], marks: Bool[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"]
) -> _Ties:
    order = rank_descending(scores, mask)
    real = mask.gather(-1, order)
    ranked = scores.gather(-1, order)
    place = torch.arange(scores.shape[-1], device=scores.device).expand(order.shape)
    first = torch.ones_like(real[..., :1])
    starts = torch.cat([first, (ranked[..., 1:] != ranked[..., :-1]) | (real[..., 1:] != real[..., :-1])], -1)
    begin = place.where(starts, 0).cummax(-1).values
    ends = torch.cat([starts[..., 1:], first], -1)
    last = place.where(ends, scores.shape[-1]).flip(-1).cummin(-1).values.flip(-1)
    marked = (marks & mask).gather(-1, order).long()
    up_to = marked.cumsum(-1)
    before = up_to.gather(-1, begin) - marked.gather(-1, begin)
    return _Ties(
        order=order,
        real=real,
        before=begin.double(),
        size=(last - begin + 1).double(),
        marked_before=before.double(),
        marked=(up_to.gather(-1, last) - before).double(),
    )


def _precision_at_end(ties: _Ties) -> Float[Tensor, "*batch item"]:
    """The precision when a whole group of equal scores is taken, at each of its items."""
    return (ties.marked_before + ties.marked) / (ties.before + ties.size)


def _over_recall(
    heights: Float[Tensor, "*batch item"], ties: _Ties, marked: Bool[Tensor, "*batch item"]
) -> Float[Tensor, "*batch"]:
    """The area under heights by recall, which each item of a group raises alike."""
    widths = ties.marked / ties.size / _count(marked)[..., None]
    return (heights * widths).where(ties.real, 0.0).sum(-1)


def _whole(marks: Bool[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"] | None) -> Bool[Tensor, "*batch item"]:
    return torch.ones_like(marks) if mask is None else mask


def _count(chosen: Bool[Tensor, "*batch item"]) -> Float[Tensor, "*batch"]:
    return chosen.sum(-1).double()


def _sizes(k: int | Real[Tensor, "*batch"], like: Tensor) -> Float[Tensor, "*batch 1"]:
    """How many items are taken of each row."""
    return torch.as_tensor(k, device=like.device).double().expand(like.shape[:-1])[..., None]


def _has_both(marks: Bool[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"]) -> Bool[Tensor, "*batch"]:
    return (marks & mask).any(-1) & (~marks & mask).any(-1)


def _defined(scores: Real[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"]) -> Bool[Tensor, "*batch"]:
    return ~(scores.isnan() & mask).any(-1)
