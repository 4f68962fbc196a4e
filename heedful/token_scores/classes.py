"""Which label a token indicates, from its counts in the training texts."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.data.batching import EncodedSplit
from heedful.data.tokenizer import SPECIAL
from heedful.errors import SettingError
from heedful.types import Batch

NEUTRAL, OTHER = -1, -2
"""Classes of a token that indicates no label: NEUTRAL if it occurs evenly under all of them, OTHER if undecided."""


def token_counts(split: EncodedSplit, vocabulary: int, classes: int) -> Int[Tensor, "token classes"]:
    """How often each token occurs in the texts of each label; 0 for special symbols, which are not words.

    Occurrences are counted, not texts. Queries are not counted.

    >>> split = EncodedSplit((torch.tensor([4, 5, 4]), torch.tensor([5])), (), (), torch.tensor([0, 1]), framed=False)
    >>> token_counts(split, 6, 2)[4:]
    tensor([[2, 0],
            [1, 1]])
    """
    labels = split.labels.repeat_interleave(torch.tensor(split.lengths))
    counts = _counts(torch.cat(split.texts), labels, vocabulary, classes)
    counts[: len(SPECIAL)] = 0
    return counts


def counts_of_batches(batches: Sequence[Batch], classes: int) -> Int[Tensor, "token classes"]:
    """As `token_counts`, for texts that are batched already: every token counts at the positions that are attendable.

    No number is special: what is no word, a user's own batches say by `attendable`.
    """
    tokens = torch.cat([batch.tokens[batch.attendable].cpu() for batch in batches])
    labels = torch.cat([batch.labels.repeat_interleave(batch.attendable.sum(1)).cpu() for batch in batches])
    return _counts(tokens, labels, 1 + max(int(batch.tokens.max()) for batch in batches), classes)


def _counts(
    tokens: Int[Tensor, " occurrence"], labels: Int[Tensor, " occurrence"], vocabulary: int, classes: int
) -> Int[Tensor, "token classes"]:
    is_labeled = labels >= 0
    pairs = tokens[is_labeled] * classes + labels[is_labeled]
    counts = pairs.bincount(minlength=vocabulary * classes).unflatten(0, (vocabulary, classes))
    # A text without a label counts under every one: its words indicate none.
    return counts + tokens[~is_labeled].bincount(minlength=vocabulary)[:, None]


def token_classes(
    counts: Int[Tensor, "token classes"],
    *,
    rule: Literal["code", "paper"] = "code",
    share: float = 0.75,
    least: int = 5,
) -> Int[Tensor, " token"]:
    """The label that each token indicates, or NEUTRAL, or OTHER.

    A token indicates label k if more than `share` of its f occurrences are under k, f_k > share x f, and f_k > least.
    It is neutral if each of its K shares is within .05 of uniform, |f_k / f - 1 / K| < .05, and its largest and
    smallest f_k differ by less than 5.

    For two labels and gamma = (f+ - f-) / f that is gamma > .5 and f+ > 5 (positive), gamma < -.5 and f- > 5
    (negative), |gamma| < .1 and |f+ - f-| < 5 (neutral): Sun and Lu (2020, section 5, equation 28), whose code
    counts 412, 265 and 1384 of them in SST. For more labels the paper gives no numbers (footnote 9); we apply the same
    rule.

    Args:
        rule: the paper writes open intervals, (.5, 1) and (-1, -.5), which exclude a token that occurs under one label
            only; its code has no such bound, and its counts agree with the code.
        share: below one half, a token could indicate two labels.

    >>> token_classes(torch.tensor([[1, 7], [0, 6], [3, 9], [10, 10], [4, 5]])).tolist()
    [1, 1, -2, -1, -2]
    >>> token_classes(torch.tensor([[1, 7], [0, 6]]), rule="paper").tolist()
    [1, -2]
    """
    if not 0.5 <= share < 1:
        raise SettingError(f"share must be at least 0.5 and below 1, so that no token has two labels; it was {share}.")
    labels = counts.shape[1]
    total = counts.sum(1)
    most, label = counts.max(1)
    indicates = (most > share * total.double()) & (most > least)
    if rule == "paper":
        indicates &= most < total
    # In integers, so that a share of exactly .55 compares the same from both sides.
    even = (20 * (labels * counts - total[:, None]).abs() < labels * total[:, None]).all(1)
    neutral = even & (most - counts.amin(1) < 5)
    return label.where(indicates, torch.where(neutral, NEUTRAL, OTHER))
