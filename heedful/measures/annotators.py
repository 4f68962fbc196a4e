"""Agreement of annotators with each other: the reference for whatever is compared with their rationales.

Marks are [batch annotator item]: 1 where the annotator marked the item, 0 where not, NaN throughout a row if there
is no such annotator. Padding counts for nothing.
"""

from collections.abc import Callable
from itertools import combinations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.measures.average_precision import average_precision, token_f1

Marks = Float[Tensor, "batch annotator item"]


def union_of(marks: Marks) -> Bool[Tensor, "batch item"]:
    """The items that any annotator marked.

    >>> union_of(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]))
    tensor([[ True, False,  True]])
    """
    return (marks > 0).any(1)


def annotator_count(marks: Marks, mask: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """How many annotators each text has."""
    return _present(marks, mask).sum(1).double()


def annotator_f1(marks: Marks, mask: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean over pairs of annotators of the F1 of their marks, in float64.

    2 |both| / (|first| + |second|), which is the same either way. NaN with fewer than two annotators; pairs of whom
    neither marked anything count for nothing. DeYoung et al. (2020, ERASER, Table 2) report it.

    >>> marks = torch.tensor([[[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]])
    >>> annotator_f1(marks, torch.ones(1, 3, dtype=torch.bool))
    tensor([0.6667], dtype=torch.float64)
    """
    return _mean_over_pairs(marks, mask, _pair_f1)


def cohen_kappa(marks: Marks, mask: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean over pairs of annotators of Cohen's kappa of their marks within the text, in float64.

    (observed - expected agreement) / (1 - expected agreement), where the expected is that of independent annotators who
    each mark as many items as they did. 1 for equal marks, 0 for what chance gives. NaN with fewer than two annotators;
    pairs that both marked nothing, or both everything, count for nothing.

    >>> marks = torch.tensor([[[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]])
    >>> cohen_kappa(marks, torch.ones(1, 4, dtype=torch.bool))  # (3/4 - 1/2) / (1 - 1/2)
    tensor([0.5000], dtype=torch.float64)
    """
    return _mean_over_pairs(marks, mask, _pair_kappa)


def others_marks(marks: Marks) -> Bool[Tensor, "batch annotator item"]:
    """For each annotator, the items that any other one marked: what a fellow annotator is compared with.

    >>> others_marks(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]))
    tensor([[[False, False,  True], [ True, False, False]]])
    """
    marked = (marks > 0).long()
    return (marked.sum(1, keepdim=True) - marked) > 0


def against_others(
    scores: Float[Tensor, "batch item"] | None, marks: Marks, mask: Bool[Tensor, "batch item"]
) -> Float[Tensor, " batch"]:
    """Average precision against the union of all annotators but one, the mean over who is left out; in float64.

    Args:
        scores: whose; None: the marks of the annotator who is left out. The two are comparable: same marks to find.

    NaN if no annotator has others, or there is nothing or everything to find.

    >>> marks = torch.tensor([[[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]])
    >>> against_others(None, marks, torch.ones(1, 3, dtype=torch.bool))  # {0, 1} against {0}: 3/4; {0} against {0, 1}
    tensor([0.8333], dtype=torch.float64)
    """
    present = _present(marks, mask)
    asked = present & (present.sum(1, keepdim=True) > 1)
    ranked = marks if scores is None else scores[:, None].expand_as(marks)
    precision = average_precision(ranked.double(), others_marks(marks), mask[:, None].expand_as(marks))
    return precision.where(asked, torch.nan).nanmean(1)


def _present(marks: Marks, mask: Bool[Tensor, "batch item"]) -> Bool[Tensor, "batch annotator"]:
    return ~(marks.isnan() & mask[:, None]).any(2) & mask.any(1, keepdim=True)


def _mean_over_pairs(
    marks: Marks, mask: Bool[Tensor, "batch item"], agreement: Callable[[Tensor, Tensor, Tensor], Tensor]
) -> Float[Tensor, " batch"]:
    present, marked = _present(marks, mask), marks > 0
    pairs = [
        agreement(marked[:, i], marked[:, j], mask).where(present[:, i] & present[:, j], torch.nan)
        for i, j in combinations(range(marks.shape[1]), 2)
    ]
    nothing = torch.full((len(marks),), torch.nan, dtype=torch.float64, device=marks.device)
    return torch.stack([nothing, *pairs], 1).nanmean(1)


def _pair_f1(
    first: Bool[Tensor, "batch item"], second: Bool[Tensor, "batch item"], mask: Bool[Tensor, "batch item"]
) -> Float[Tensor, " batch"]:
    # Where only the first marked anything, F1 is 0 and not undefined.
    alone = (first & mask).any(1) & ~(second & mask).any(1)
    return token_f1(first, second, mask).where(~alone, 0.0)


def _pair_kappa(
    first: Bool[Tensor, "batch item"], second: Bool[Tensor, "batch item"], mask: Bool[Tensor, "batch item"]
) -> Float[Tensor, " batch"]:
    n = mask.sum(1).double()
    agree = ((first == second) & mask).sum(1) / n
    p, q = ((part & mask).sum(1) / n for part in (first, second))
    expected = p * q + (1 - p) * (1 - q)
    return ((agree - expected) / (1 - expected)).where(expected < 1, torch.nan)
