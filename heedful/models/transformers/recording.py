"""What a site shows of a forward pass: the weight of each word and of the special tokens, head by head."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.models.transformers.calls import CallContext, CallValues, CallWeights
from heedful.models.transformers.changes import split_words
from heedful.models.transformers.sites import Site


@dataclass(frozen=True)
class Shown:
    """The attention that a site shows: the words of a text and its special tokens add up to 1 in every head.

    What falls on no token at all (the sinks of some models) counts as special. A rollout and a value norm have a
    single head.
    """

    words: Float[Tensor, "batch head item"]
    special: Float[Tensor, "batch head"]

    @property
    def attention(self) -> Float[Tensor, "batch item"]:
        """The mean over heads, of the words alone: they add up to 1."""
        return among_words(self.words.sum(1))


def among_words(weights: Float[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """Weights divided by their sum; where all are 0 they stay 0.

    >>> among_words(torch.tensor([[0.25, 0.25, 0.0]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    total = weights.sum(-1, keepdim=True)
    return weights / total.where(total > 0, 1.0)


@dataclass(frozen=True)
class Reading:
    """The texts of a batch as attention sees them.

    Args:
        rows: the one row that the classifier reads; None: several, over all of which attention is averaged.
        owner: the number of the word that each token belongs to; -1 for special tokens and padding.
    """

    mask: Bool[Tensor, "batch time"]
    rows: Int[Tensor, " batch"] | None
    owner: Int[Tensor, "batch time"]
    items: Bool[Tensor, "batch item"]

    def of_rows(self, weights: CallWeights) -> Float[Tensor, "batch head time"]:
        """What the rows that are read give to each token, on average."""
        if self.rows is None:
            real = self.mask.to(weights.dtype)
            return torch.einsum("bhrt,br->bht", weights, real / real.sum(1, keepdim=True)).double()
        index = self.rows[:, None, None, None].expand(-1, weights.shape[1], 1, weights.shape[3])
        return weights.gather(2, index)[:, :, 0].double()

    def by_word(self, weights: Float[Tensor, "batch head time"]) -> Float[Tensor, "batch head item"]:
        """The weights of tokens summed by word."""
        return split_words(weights[:, :, None], self.owner, self.items.shape[1])[0][:, :, 0]


class Recorder:
    """A listener that keeps what a site shows.

    Args:
        layers: how many there are.
        projection: what the last layer applies to the heads' mixtures of values; for `value-norm` only.
    """

    def __init__(self, site: Site, layers: int, reading: Reading, projection: nn.Module | None = None):
        self.site, self.layers, self.reading, self.projection = site, layers, reading, projection
        self.parts: list[Float[Tensor, "batch head time"]] = []
        self.rolled: Float[Tensor, "batch row time"] | None = None

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        """The same weights, after what the site shows of them is kept."""
        is_last = call == self.layers - 1
        if self.site.kind == "rollout":
            self.rolled = _rolled(weights, self.rolled)
            if is_last:
                self.parts.append(self.reading.of_rows(self.rolled[:, None]))
        elif self.site.kind == "all" or call == self.site.layer or (is_last and self.site.kind == "last"):
            part = self.reading.of_rows(weights)
            self.parts.append(part if self.site.head is None else part[:, self.site.head, None])
        return weights

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        """Nothing; the values are what `value-norm` needs."""
        if self.site.kind == "value-norm" and call == self.layers - 1:
            self.parts.append(self._norms(self.reading.of_rows(weights), values))
        return None

    @property
    def shown(self) -> Shown:
        """What the site shows."""
        if self.site.kind == "value-norm":
            (words,) = self.parts
            return Shown(words[:, :, :-1], words[:, :, -1])
        words = self.reading.by_word(torch.cat(self.parts, 1)).masked_fill(~self.reading.items[:, None], 0.0)
        return Shown(words, 1 - words.sum(-1))

    def _norms(self, weights: Float[Tensor, "batch head time"], values: CallValues) -> Float[Tensor, "batch 1 places"]:
        """The length of what each word adds, and after the last word the sum of what special tokens do; of all."""
        assert self.projection is not None
        mixed = (weights.to(values.dtype)[..., None] * values).transpose(1, 2).flatten(2)
        added = (self.projection(mixed) - self.projection(torch.zeros_like(mixed[:, :1]))).double()
        owner, count = self.reading.owner, self.reading.items.shape[1]
        index = owner.where(owner >= 0, count)[..., None].expand_as(added)
        words = added.new_zeros(len(added), count + 1, added.shape[2]).scatter_add(1, index, added)[:, :-1]
        alone = (owner < 0) & self.reading.mask
        norms = [words.norm(dim=-1), (added.norm(dim=-1) * alone).sum(1, keepdim=True)]
        lengths = torch.cat(norms, 1)
        return (lengths / lengths.sum(1, keepdim=True))[:, None]


def _rolled(weights: CallWeights, before: Float[Tensor, "batch row time"] | None) -> Float[Tensor, "batch row time"]:
    """The rollout with one more layer: half of what each row holds stays, half is mixed by the mean over heads."""
    mean = weights.mean(1).double()
    halved = (mean + torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)) / 2
    return halved if before is None else halved @ before
