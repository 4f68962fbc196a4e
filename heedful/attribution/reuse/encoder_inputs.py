"""What an encoder read and what attention made of it: all that leaving one item out needs."""

from dataclasses import dataclass, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution.linear_parts import Scoring


@dataclass(frozen=True)
class EncoderInputs:
    """A batch of texts as the encoder reads them: token embeddings, or a hierarchical model's sentence vectors.

    Args:
        vectors: what the encoder reads, one vector per token or sentence.
        mask: True on all but padding.
        items: what attention weighs.
        scores: of which attention is the softmax, temperature included.
        imposed: log weights to impose instead of attention, each a way of its own; what remains is renormalized.
        value_weight: the linear map of states whose weighted sums are wanted, where these are not of the states
            themselves: one for all texts, or one per text.
        left_out: which items are left out in turn; None: all.
    """

    vectors: Float[Tensor, "batch item embed"]
    mask: Bool[Tensor, "batch item"]
    items: Bool[Tensor, "batch item"]
    hidden: Float[Tensor, "batch item hidden"]
    scores: Float[Tensor, "batch item"]
    scoring: Scoring
    imposed: tuple[Float[Tensor, "batch item"], ...] = ()
    value_weight: Float[Tensor, "values hidden"] | Float[Tensor, "batch values hidden"] | None = None
    left_out: Bool[Tensor, "batch item"] | None = None

    def select(self, index: Int[Tensor, " some"]) -> "EncoderInputs":
        """The chosen texts, with no more padding than they need."""
        longest = int(self.mask[index].sum(1).max())

        def cut(values: Tensor) -> Tensor:
            return values[index, :longest]

        def of_texts(weight: Tensor) -> Tensor:
            return weight if weight.dim() == 2 else weight[index]

        return EncoderInputs(
            vectors=cut(self.vectors),
            mask=cut(self.mask),
            items=cut(self.items),
            hidden=cut(self.hidden),
            scores=cut(self.scores),
            scoring=replace(self.scoring, weight=of_texts(self.scoring.weight), constant=cut(self.scoring.constant)),
            imposed=tuple(map(cut, self.imposed)),
            value_weight=None if self.value_weight is None else of_texts(self.value_weight),
            left_out=None if self.left_out is None else cut(self.left_out),
        )
