"""Chunks of texts of similar length, so that little of what is computed is padding."""

from collections.abc import Iterator

from jaxtyping import Int
from torch import Tensor


def of_similar_length(lengths: Int[Tensor, " batch"], most: int) -> Iterator[Int[Tensor, " some"]]:
    """The indices of all texts, longest first, in chunks of at most `most` tokens (or one text), padding included.

    >>> from torch import tensor
    >>> [chunk.tolist() for chunk in of_similar_length(tensor([3, 8, 4, 2]), 8)]
    [[1], [2, 0], [3]]
    """
    order = lengths.argsort(descending=True, stable=True)
    known = lengths[order].tolist()
    begin = 0
    while begin < len(known):
        end = begin + max(1, most // max(1, known[begin]))
        yield order[begin:end]
        begin = end
