"""Intersection over union (IOU) of chosen and marked items, as ERASER and HateXplain each define it.

ERASER and HateXplain match spans and print F1 of the mean precision and the mean recall (`f1_of_means`): both are given
here text by text, NaN if nothing is chosen (precision) or marked (recall). A span is a longest run of marked items;
items are neighbors if no real item is between them.
"""

import torch
from jaxtyping import Bool, Float, Int, Real
from scipy.special import roots_legendre
from torch import Tensor

THRESHOLD = 0.5
"""The smallest IOU at which a span counts as matched."""
NEGLIGIBLE = 1e-15
"""A span that is less likely than this to be drawn adds nothing to an expectation."""
FEWER_RUNS = 1e-6
"""The price of a run that decides between draws with as many matched spans."""
CLOSE = 1e-9
"""Shares closer than this are equal."""

Pair = tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]
"""Precision and recall of each text, as `eraser_iou` gives them."""


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
    floor. Mathew et al. (2021, HateXplain), who take the top 5 tokens of posts that are labeled toxic against the
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


# What spans of chosen items can reach by `eraser_iou`: at random, exactly in expectation, and at best.


def expected_eraser_iou(
    marks: Bool[Tensor, "batch item"],
    mask: Bool[Tensor, "batch item"] | None,
    k: int | Real[Tensor, " batch"],
    threshold: float = THRESHOLD,
) -> Pair:
    """The expected precision and recall by `eraser_iou` of k items drawn at random: the floor, exact up to rounding.

    The sum over all spans that would be matched of the chance that the span is drawn as a run; for precision, each
    divided by the number of runs, whose generating function is integrated: E[1 / R] = integral of E[x^(R - 1)] over x
    from 0 to 1, a polynomial, so that Gauss's rule is exact.

    >>> expected_eraser_iou(torch.tensor([[True, False, False]]), None, 1)  # the first item, in a third of all draws
    (tensor([0.3333], dtype=torch.float64), tensor([0.3333], dtype=torch.float64))
    """
    parts = []
    for marked, size in _texts(marks, mask, k):
        parts.append(_expected(marked, size, threshold))
    return _pair(parts, marks)


def best_eraser_iou(
    marks: Bool[Tensor, "batch item"],
    mask: Bool[Tensor, "batch item"] | None,
    k: int | Real[Tensor, " batch"],
    threshold: float = THRESHOLD,
) -> Pair:
    """The largest precision and the largest recall by `eraser_iou` of any k items, each by itself.

    Some k items reach the one, and perhaps others the other: F1 of their means is never passed, but may be out of reach
    where k is not the number of marked items. Where it is, the marks themselves reach both.

    >>> best_eraser_iou(torch.tensor([[True, True, False, True, False, False]]), None, 5)  # 0 and 2 to 5; or 0 to 4
    (tensor([0.5000], dtype=torch.float64), tensor([0.5000], dtype=torch.float64))
    """
    parts = []
    for marked, size in _texts(marks, mask, k):
        match = _matches(marked, threshold)
        matched, runs = _largest(match, size, FEWER_RUNS)
        precision = _largest_share(match, size, matched / runs) if size else torch.nan
        parts.append((precision, matched / _spans(marked)))
    return _pair(parts, marks)


def _texts(
    marks: Bool[Tensor, "batch item"], mask: Bool[Tensor, "batch item"] | None, k: int | Real[Tensor, " batch"]
) -> list[tuple[Bool[Tensor, " _"], int]]:
    """The marks of each text alone, and how many items are chosen of it."""
    mask = torch.ones_like(marks) if mask is None else mask
    sizes = torch.as_tensor(k).expand(len(marks)).tolist()
    texts = [own[real].cpu() for own, real in zip(marks, mask, strict=True)]
    return [(own, min(int(size), len(own))) for own, size in zip(texts, sizes, strict=True)]


def _pair(parts: list[tuple[float, float]], like: Tensor) -> Pair:
    precision, recall = torch.tensor(parts, dtype=torch.float64, device=like.device).reshape(-1, 2).unbind(1)
    return precision, recall


def _spans(marked: Bool[Tensor, " item"]) -> float:
    """How many marked spans there are; NaN for none."""
    return float(run_numbers(marked[None]).max()) if marked.any() else torch.nan


def _matches(marked: Bool[Tensor, " item"], threshold: float) -> Bool[Tensor, "start end"]:
    """Whether the span from each start to each end (exclusive, one position on) would be matched."""
    n = len(marked)
    start, end = torch.arange(n)[:, None], torch.arange(1, n + 1)[None]
    match = torch.zeros(n, n, dtype=torch.bool)
    numbers = run_numbers(marked[None])[0]
    for number in range(1, int(numbers.max()) + 1 if n else 1):
        places = (numbers == number).nonzero()[:, 0]
        first, last = int(places[0]), int(places[-1]) + 1
        both = (end.clamp_max(last) - start.clamp_min(first)).clamp_min(0)
        match |= (both >= threshold * (end - start + last - first - both)) & (both > 0)
    return match


def _expected(marked: Bool[Tensor, " item"], k: int, threshold: float) -> tuple[float, float]:
    n = len(marked)
    if not k:
        return torch.nan, 0.0 * _spans(marked)
    begin, end = _matches(marked, threshold).nonzero(as_tuple=True)
    length = end - begin + 1
    share = k / n
    likely = (length <= k) & (share ** length.double() > NEGLIGIBLE)
    begin, end, length = begin[likely], end[likely], length[likely]
    # The items beyond the two neighbors of the span, which are not chosen; none beyond an end of the text.
    left, right = (begin - 1).clamp_min(0), (n - end - 2).clamp_min(0)
    gaps = (begin > 0).double() + (end < n - 1).double()
    nodes, weights = _gauss(k)
    # At the last node, 1, runs are not counted: it gives the chance itself.
    runs = _run_functions(n, k, share, torch.cat([nodes, torch.ones(1, dtype=torch.float64)]))
    own = share ** length.double() * (1 - share) ** gaps
    chances = own * _both_sides(runs, left, right, k - length) / runs[n, -1, k]
    recall = chances[-1].sum() / _spans(marked)
    return float((weights[:, None] * chances[:-1]).sum()), float(recall)


def _gauss(k: int) -> tuple[Float[Tensor, " node"], Float[Tensor, " node"]]:
    """Nodes and weights on [0, 1] that integrate polynomials of degree k - 1 exactly."""
    nodes, weights = roots_legendre(k // 2 + 1)
    return (torch.as_tensor(nodes) + 1) / 2, torch.as_tensor(weights) / 2


def _run_functions(n: int, k: int, share: float, nodes: Float[Tensor, " node"]) -> Float[Tensor, "length node chosen"]:
    """For each length, and each number of chosen items in it: the sum over all draws of chance x node^runs.

    Each item is chosen with chance `share`, independently; that there are k in all is conditioned on later.
    """
    ends_without = torch.zeros(len(nodes), k + 1, dtype=torch.float64)
    ends_without[:, 0] = 1
    ends_with = torch.zeros_like(ends_without)
    lengths = [ends_without]
    for _ in range(n):
        grown = nodes[:, None] * ends_without + ends_with
        ends_without = (1 - share) * (ends_without + ends_with)
        ends_with = share * torch.cat([torch.zeros_like(grown[:, :1]), grown[:, :-1]], 1)
        lengths.append(ends_without + ends_with)
    return torch.stack(lengths)


def _both_sides(
    runs: Float[Tensor, "length node chosen"],
    left: Int[Tensor, " span"],
    right: Int[Tensor, " span"],
    others: Int[Tensor, " span"],
) -> Float[Tensor, "node span"]:
    """The sum of chance x node^runs over all draws of other items, to the left and the right of each span."""
    sums = runs.new_zeros(runs.shape[1], len(left))
    for count in others.unique().tolist():
        some = (others == count).nonzero()[:, 0]
        here, there = runs[left[some], :, : count + 1], runs[right[some], :, : count + 1].flip(2)
        sums[:, some] = (here * there).sum(2).T
    return sums


def _largest(match: Bool[Tensor, "start end"], k: int, price: float) -> tuple[float, float]:
    """Matched spans and runs of the k items for which matched - price x runs is largest.

    From left to right, for every number of items chosen so far: the best of all draws that end with an item that is not
    chosen (`closed`, by position) or inside of a run that need not match (`open_run`). A run that matches is one step.
    """
    n = len(match)
    nothing = torch.full((2, k + 1), -torch.inf, dtype=torch.float64)
    closed = [nothing.clone() for _ in range(n + 2)]
    closed[0][:, 0] = 0
    open_run = nothing
    for place in range(n + 1):
        before = closed[place]
        closed[place + 1] = _better(closed[place + 1], _better(before, open_run, price), price)
        for last in match[place].nonzero()[:, 0].tolist() if place < n else ():
            grown = _shifted(before, last - place + 1, matched=1.0, runs=1.0)
            closed[last + 2] = _better(closed[last + 2], grown, price)
        begun = _shifted(before, 1, matched=0.0, runs=1.0)
        open_run = _better(_shifted(open_run, 1, matched=0.0, runs=0.0), begun, price)
    matched, runs = closed[n + 1][:, k].tolist()
    return matched, runs


def _shifted(counts: Float[Tensor, "2 size"], by: int, *, matched: float, runs: float) -> Float[Tensor, "2 size"]:
    """The counts of matched spans and runs after `by` more items were chosen."""
    shifted = torch.full_like(counts, -torch.inf)
    if by < counts.shape[1]:
        shifted[:, by:] = counts[:, :-by] + torch.tensor([[matched], [runs]], dtype=counts.dtype)
    return shifted


def _better(counts: Float[Tensor, "2 size"], other: Float[Tensor, "2 size"], price: float) -> Float[Tensor, "2 size"]:
    """Whichever counts have the larger matched - price x runs; -inf matched spans are no draw at all."""
    gain, other_gain = (part[0] - price * part[1].clamp_min(0) for part in (counts, other))
    return torch.where(other_gain > gain, other, counts)


def _largest_share(match: Bool[Tensor, "start end"], k: int, share: float) -> float:
    """The largest matched / runs of any k items, from a share that some reach, by Dinkelbach's method.

    The share is the price of a run; while some items gain by that price, theirs is larger.
    """
    while share < 1:
        matched, runs = _largest(match, k, share)
        if matched / runs <= share + CLOSE:
            break
        share = matched / runs
    return share
