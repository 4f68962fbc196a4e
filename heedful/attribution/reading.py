"""What an encoder read and what attention saw of it: all that leaving one item out needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution.scoring import Scoring
from heedful.models.encoders.recurrent import reorder


@dataclass(frozen=True)
class Reading:
    """Texts, each a row of things read: tokens, or the sentence vectors of a hierarchical model.

    Args:
        inputs: the vectors that the encoder reads.
        mask: what it reads: all but padding.
        items: what attention weighs, and what is left out in turn.
        scores: of which attention is the softmax, temperature included.
    """

    inputs: Float[Tensor, "batch item embed"]
    mask: Bool[Tensor, "batch item"]
    items: Bool[Tensor, "batch item"]
    hidden: Float[Tensor, "batch item hidden"]
    scores: Float[Tensor, "batch item"]
    scoring: Scoring

    def some(self, index: Int[Tensor, " some"]) -> "Reading":
        """The chosen texts, with no more padding than they need."""
        longest = int(self.mask[index].sum(1).max())

        def cut(values: Tensor) -> Tensor:
            return values[index, :longest]

        weight = self.scoring.weight if self.scoring.weight.dim() == 2 else self.scoring.weight[index]
        scoring = replace(self.scoring, weight=weight, constant=cut(self.scoring.constant))
        return Reading(cut(self.inputs), cut(self.mask), cut(self.items), cut(self.hidden), cut(self.scores), scoring)

    def reordered(self, order: Int[Tensor, "batch item"]) -> "Reading":
        """The same with each row in another order."""
        return Reading(
            inputs=reorder(self.inputs, order),
            mask=self.mask.gather(1, order),
            items=self.items.gather(1, order),
            hidden=reorder(self.hidden, order),
            scores=self.scores.gather(1, order),
            scoring=replace(self.scoring, constant=reorder(self.scoring.constant, order)),
        )


def of_similar_length(lengths: Int[Tensor, " batch"], most: int) -> Iterator[Int[Tensor, " some"]]:
    """Every row once, longest first, in chunks of at most so many places (or one row), padding included.

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
