"""Intersection over union (IOU) of chosen and marked items, as ERASER, HateXplain and ferret each define it.

ERASER and HateXplain match spans and print F1 of the mean precision and the mean recall (`f1_of_means`): both are given
here text by text, NaN where nothing is chosen (precision) or marked (recall). A span is a longest run of marked items;
items stand beside each other if no real item is between them.
"""

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

THRESHOLD = 0.5
"""The smallest IOU at which a span counts as matched."""


def eraser_iou(
    chosen: Bool[Tensor, "batch item"],
    marks: Bool[Tensor, "batch item"],
    mask: Bool[Tensor, "batch item"] | None = None,
    threshold: float = THRESHOLD,
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Precision and recall of the spans of chosen items against the spans of marked ones, in float64.

    A chosen span is matched if its IOU, |both| / |either|, with some marked span reaches the threshold. Precision is
    matched / chosen spans, recall matched / marked spans. At a threshold of 1/2 or more no marked span is matched
    twice. DeYoung et al. (2020, ERASER, section 4.1), `partial_match_score` of their metrics.py.

    >>> chosen = torch.tensor([[True, True, False, True, False]])
    >>> eraser_iou(chosen, torch.tensor([[True, False, False, False, True]]))  # 01 against 0: 1/2
    (tensor([0.5000], dtype=torch.float64), tensor([0.5000], dtype=torch.float64))
    """
    mask = torch.ones_like(marks) if mask is None else mask
    chosen, marks, _ = _closed_up(chosen, marks, mask)
    own, other = run_numbers(chosen), run_numbers(marks)
    numbers = int(own.max()) + 1, int(other.max()) + 1
    # An entry for each pair of a chosen and a marked span; number 0 is what is in no span.
    pairs = torch.zeros(len(marks), numbers[0] * numbers[1], dtype=torch.float64, device=marks.device)
    both = pairs.scatter_add(1, own * numbers[1] + other, torch.ones_like(own, dtype=torch.float64))
    both = both.unflatten(1, numbers)
    sizes, marked_sizes = both.sum(2)[:, 1:, None], both.sum(1)[:, None, 1:]
    both = both[:, 1:, 1:]
    matched = ((both >= threshold * (sizes + marked_sizes - both)) & (both > 0)).any(2).sum(1).double()
    return _shares(matched, own.amax(1), other.amax(1))


def hatexplain_iou(
    chosen: Real[Tensor, "batch item"] | Bool[Tensor, "batch item"],
    marks: Bool[Tensor, "batch item"],
    mask: Bool[Tensor, "batch item"] | None = None,
    threshold: float = THRESHOLD,
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """As `eraser_iou` where each chosen item is a span of its own, in float64.

    So a marked span of more than 1 / threshold items is never matched, and one of two items can be matched twice:
    recall may be above 1. Of `top_k_probabilities` it is the exact expectation; those of constant scores give the
    floor. Mathew et al. (2021, HateXplain), who take the top 5 tokens of posts that are labelled toxic against the
    union of the annotators' marks.

    >>> marks = torch.tensor([[True, True, False, True, True, True]])
    >>> hatexplain_iou(torch.tensor([[True, True, False, True, False, False]]), marks)
    (tensor([0.6667], dtype=torch.float64), tensor([1.], dtype=torch.float64))
    """
    mask = torch.ones_like(marks) if mask is None else mask
    chosen = chosen.double().where(mask, 0.0)
    matched = chosen.where(_matchable(marks, mask, threshold), 0.0).sum(1)
    return _shares(matched, chosen.sum(1), _number_of_spans(marks, mask))


def best_hatexplain_iou(
    marks: Bool[Tensor, "batch item"],
    mask: Bool[Tensor, "batch item"] | None,
    k: int | Real[Tensor, " batch"],
    threshold: float = THRESHOLD,
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """The largest precision and recall by `hatexplain_iou` of any k items: the items of short spans come first.

    >>> best_hatexplain_iou(torch.tensor([[True, True, False, True, True, True]]), None, 4)
    (tensor([0.5000], dtype=torch.float64), tensor([1.], dtype=torch.float64))
    """
    mask = torch.ones_like(marks) if mask is None else mask
    size = torch.as_tensor(k, device=mask.device).double().expand(len(mask)).minimum(mask.sum(1).double())
    matched = _matchable(marks, mask, threshold).sum(1).double().minimum(size)
    return _shares(matched, size, _number_of_spans(marks, mask))


def f1_of_means(precision: Float[Tensor, "*text"], recall: Float[Tensor, "*text"]) -> float:
    """The harmonic mean of the mean precision and the mean recall over all texts that have them; 0 where either is 0.

    As ERASER's code and HateXplain print IOU F1; never the mean of each text's own F1.

    >>> f1_of_means(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.0]))
    0.3333...
    """
    p, r = precision.nanmean().item(), recall.nanmean().item()
    return 2 * p * r / (p + r) if p + r != 0 else 0.0


def run_numbers(chosen: Bool[Tensor, "batch item"]) -> Int[Tensor, "batch item"]:
    """The number of the run of chosen items that each is in, from 1; 0 for items that are not chosen.

    >>> run_numbers(torch.tensor([[True, True, False, True]]))
    tensor([[1, 1, 0, 2]])
    """
    before = torch.cat([torch.zeros_like(chosen[:, :1]), chosen[:, :-1]], 1)
    return (chosen & ~before).long().cumsum(1).where(chosen, 0)


def _closed_up(
    chosen: Bool[Tensor, "batch item"], marks: Bool[Tensor, "batch item"], mask: Bool[Tensor, "batch item"]
) -> tuple[Bool[Tensor, "batch item"], Bool[Tensor, "batch item"], Int[Tensor, "batch item"]]:
    """The same with the real items moved together to the left, and where each came from."""
    order = mask.byte().argsort(dim=1, descending=True, stable=True)
    return (chosen & mask).gather(1, order), (marks & mask).gather(1, order), order


def _matchable(
    marks: Bool[Tensor, "batch item"], mask: Bool[Tensor, "batch item"], threshold: float
) -> Bool[Tensor, "batch item"]:
    """The marked items whose span is so short that a single item of it reaches the threshold."""
    _, together, order = _closed_up(marks, marks, mask)
    numbers = run_numbers(together)
    counts = torch.zeros(len(marks), marks.shape[1] + 1, dtype=torch.long, device=marks.device)
    sizes = counts.scatter_add(1, numbers, together.long()).gather(1, numbers)
    short = together & (threshold * sizes <= 1)
    return torch.zeros_like(short).scatter(1, order, short)


def _number_of_spans(marks: Bool[Tensor, "batch item"], mask: Bool[Tensor, "batch item"]) -> Int[Tensor, " batch"]:
    return run_numbers(_closed_up(marks, marks, mask)[1]).amax(1)


def _shares(matched: Float[Tensor, " batch"], chosen: Tensor, marked: Tensor) -> tuple[Tensor, Tensor]:
    return matched / chosen, (matched / marked).where(marked > 0, torch.nan)
