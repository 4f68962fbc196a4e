"""What an encoder read and what attention made of it: all that leaving one item out needs."""

from dataclasses import dataclass, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution.reuse.scoring import Scoring
from heedful.models.encoders.recurrent import reorder


@dataclass(frozen=True)
class EncoderInputs:
    """A batch of texts as the encoder reads them: token embeddings, or a hierarchical model's sentence vectors.

    Args:
        vectors: what the encoder reads, one vector per token or sentence.
        mask: True on all but padding.
        items: what attention weighs, and what is left out in turn.
        scores: of which attention is the softmax, temperature included.
        imposed: log weights to impose instead of attention, each a way of its own; what remains is renormalized.
    """

    vectors: Float[Tensor, "batch item embed"]
    mask: Bool[Tensor, "batch item"]
    items: Bool[Tensor, "batch item"]
    hidden: Float[Tensor, "batch item hidden"]
    scores: Float[Tensor, "batch item"]
    scoring: Scoring
    imposed: tuple[Float[Tensor, "batch item"], ...] = ()

    def select(self, index: Int[Tensor, " some"]) -> "EncoderInputs":
        """The chosen texts, with no more padding than they need."""
        longest = int(self.mask[index].sum(1).max())

        def cut(values: Tensor) -> Tensor:
            return values[index, :longest]

        weight = self.scoring.weight if self.scoring.weight.dim() == 2 else self.scoring.weight[index]
        return EncoderInputs(
            vectors=cut(self.vectors),
            mask=cut(self.mask),
            items=cut(self.items),
            hidden=cut(self.hidden),
            scores=cut(self.scores),
            scoring=replace(self.scoring, weight=weight, constant=cut(self.scoring.constant)),
            imposed=tuple(map(cut, self.imposed)),
        )

    def reordered(self, order: Int[Tensor, "batch item"]) -> "EncoderInputs":
        """The same texts, each in another order."""
        return EncoderInputs(
            vectors=reorder(self.vectors, order),
            mask=self.mask.gather(1, order),
            items=self.items.gather(1, order),
            hidden=reorder(self.hidden, order),
            scores=self.scores.gather(1, order),
            scoring=replace(self.scoring, constant=reorder(self.scoring.constant, order)),
            imposed=tuple(weights.gather(1, order) for weights in self.imposed),
        )
