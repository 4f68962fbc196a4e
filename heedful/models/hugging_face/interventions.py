"""What a site shows of a forward pass: the weight of each word and of the special tokens, head by head."""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.models.attention import summing_to_one
from heedful.models.hugging_face.attention_hooks import AttentionHook, CallContext, CallValues, CallWeights
from heedful.models.hugging_face.sites import Site

# Other weights for the words of a text, in any heads, rows and layers of a transformer at once.

WordWeights = Float[Tensor, "batch head row item"]
"""What each row gives to each word: the sum over its pieces."""


@dataclass(frozen=True)
class Intervention:
    """How the weights of a text's words are changed, in the same way in every head and row that is changed.

    In this order: the words exchange their weights, or get new ones; then each is multiplied. A row's words keep
    the weight that they have together, and special tokens theirs; what a row cannot see (the future, in a decoder)
    gets none. Where no word is left with any weight, it goes to the special tokens, in proportion.

    Args:
        factor: what each word's weight is multiplied by.
        added: the weight, as a share, of words that have none to be multiplied.
        permutation: the word whose weight each word gets, head by head.
        imposed: the weight, as a share, that each word gets in every head alike.
        heads: which heads are changed; None: all.
    """

    factor: Float[Tensor, "batch item"]
    added: Float[Tensor, "batch item"] | None = None
    permutation: Int[Tensor, "batch item"] | None = None
    imposed: Float[Tensor, "batch item"] | None = None
    heads: Bool[Tensor, "batch head"] | None = None

    def select(self, rows: Int[Tensor, " some"]) -> "Intervention":
        """The change of these texts."""
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        return replace(self, **{name: part[rows] for name, part in parts.items() if part is not None})

    def first_words(self, count: int) -> "Intervention":
        """The change of the first `count` words: all that a text has."""
        names = ("factor", "added", "permutation", "imposed")
        parts: dict[str, Any] = {name: getattr(self, name) for name in names}
        return replace(self, **{name: part[:, :count] for name, part in parts.items() if part is not None})

    def moved_to(self, attention: Float[Tensor, "batch item"], shown: Float[Tensor, "batch item"]) -> "Intervention":
        """This change, and after it the multiplication that takes the shown attention to the given one.

        Args:
            shown: the attention after this change. Words to which it gives nothing get the given weight in every head,
                and are left as they are elsewhere if that is nothing, too; unless no word is given any.
        """
        has_weight, is_blind = shown > 0, (attention == 0).all(-1, keepdim=True)
        kept = torch.where(is_blind, 0.0, 1.0).to(attention)
        factor = torch.where(has_weight, attention / shown.where(has_weight, 1.0), kept)
        return replace(self, factor=self.factor * factor, added=attention.where(~has_weight, 0.0))

    def apply(self, words: WordWeights) -> tuple[WordWeights, Bool[Tensor, "batch head row 1"]]:
        """The changed weights, and whether any word is left with some.

        >>> words = torch.tensor([[[[0.5, 0.25, 0.0]], [[0.25, 0.25, 0.25]]]])  # the first head cannot see the last
        >>> Intervention(torch.tensor([[0.0, 1.0, 1.0]])).apply(words)[0]  # without the first word
        tensor([[[[0.0000, 0.7500, 0.0000]],
                 [[0.0000, 0.3750, 0.3750]]]])
        >>> even = torch.ones(1, 3)
        >>> Intervention(even, imposed=even / 3).apply(words)[0]
        tensor([[[[0.3750, 0.3750, 0.0000]],
                 [[0.2500, 0.2500, 0.2500]]]])
        """
        mass, is_visible = words.sum(-1, keepdim=True), words > 0
        base = words
        if self.permutation is not None:
            base = words.gather(-1, _for_rows(self.permutation).expand_as(words)).where(is_visible, 0.0)
        if self.imposed is not None:
            base = (mass * _for_rows(self.imposed)).where(is_visible, 0.0)
        changed = base * _for_rows(self.factor)
        if self.added is not None:
            changed = changed + (mass * _for_rows(self.added)).where(is_visible, 0.0)
        total = changed.sum(-1, keepdim=True)
        is_left = total > 0
        # Held fixed, so that a weight's derivative is that of a free variable, as Serrano and Smith (2019) take it.
        scale = (mass / total.where(is_left, 1.0)).detach()
        if self.heads is None:
            return changed * scale, is_left
        is_changed = self.heads[..., None, None]
        return (changed * scale).where(is_changed, words), is_left | ~is_changed


def unchanged(items: Bool[Tensor, "batch item"]) -> Intervention:
    """The change that leaves everything as it is."""
    return Intervention(torch.ones_like(items, dtype=torch.float64))


@dataclass(frozen=True)
class InterventionSites:
    """Where weights are changed.

    Args:
        rows: the one row of each text; None: all rows.
    """

    calls: frozenset[int]
    rows: Int[Tensor, " batch"] | None

    def select(self, texts: Int[Tensor, " some"]) -> "InterventionSites":
        """The places in these texts."""
        return InterventionSites(self.calls, None if self.rows is None else self.rows[texts])


@dataclass(frozen=True)
class InterventionHook(AttentionHook):
    """A listener that changes weights where the model computes them.

    Args:
        owner: index of the word that each token belongs to; -1 for special tokens and padding.
        dtype: what the model computes in.
        is_held: whether the weights count as constants, of which no derivative is taken.
    """

    change: Intervention
    places: InterventionSites
    word_ids: Int[Tensor, "batch time"]
    dtype: torch.dtype
    is_held: bool = True

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        """The changed weights."""
        if call not in self.places.calls:
            return weights
        weights = weights.to(self.dtype)
        part, index = weights, None
        if self.places.rows is not None:
            index = self.places.rows[:, None, None, None].expand(-1, weights.shape[1], 1, weights.shape[3])
            part = weights.gather(2, index)
        changed = changed_tokens(part.detach() if self.is_held else part, self.word_ids, self.change).to(self.dtype)
        return changed if index is None else weights.scatter(2, index, changed)


def changed_tokens(weights: CallWeights, word_ids: Int[Tensor, "batch time"], change: Intervention) -> CallWeights:
    """The weights of tokens under a change of the weights of words; the pieces of a word keep their shares of it."""
    weights = weights.double()
    words, special = split_words(weights, word_ids, change.factor.shape[1])
    changed, is_left = change.apply(words)
    ratio = (changed / words.where(words > 0, 1.0)).where(words > 0, 0.0)
    place = _for_rows(word_ids.clamp_min(0)).expand_as(weights)
    freed = words.sum(-1, keepdim=True)
    kept = torch.where(is_left, 1.0, (1 + freed / special.where(special > 0, 1.0)))
    return weights * ratio.gather(-1, place).where(_for_rows(word_ids >= 0), kept)


def split_words(
    weights: CallWeights, word_ids: Int[Tensor, "batch time"], items: int
) -> tuple[WordWeights, Float[Tensor, "batch head row 1"]]:
    """What each row gives to each word, and to the special tokens together.

    >>> weights, owner = torch.tensor([[[[0.5, 0.25, 0.125, 0.125]]]]), torch.tensor([[-1, 0, 0, 1]])
    >>> split_words(weights, owner, 2)
    (tensor([[[[0.3750, 0.1250]]]]), tensor([[[[0.5000]]]]))
    """
    # An extra last column collects what belongs to no word.
    index = _for_rows(word_ids.where(word_ids >= 0, items)).expand_as(weights)
    sums = weights.new_zeros(*weights.shape[:3], items + 1).scatter_add(-1, index, weights)
    return sums[..., :-1], sums[..., -1:]


def _for_rows(values: Tensor) -> Tensor:
    """Values of a text's words or tokens, for all heads and rows."""
    return values[:, None, None]


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
        return summing_to_one(self.words.sum(1))


@dataclass(frozen=True)
class Reading:
    """The texts of a batch as attention sees them.

    Args:
        rows: the one row that the classifier reads; None: several, over all of which attention is averaged.
        owner: index of the word that each token belongs to; -1 for special tokens and padding.
    """

    mask: Bool[Tensor, "batch time"]
    rows: Int[Tensor, " batch"] | None
    word_ids: Int[Tensor, "batch time"]
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
        return split_words(weights[:, :, None], self.word_ids, self.items.shape[1])[0][:, :, 0]


class Recorder(AttentionHook):
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
        word_ids, count = self.reading.word_ids, self.reading.items.shape[1]
        index = word_ids.where(word_ids >= 0, count)[..., None].expand_as(added)
        words = added.new_zeros(len(added), count + 1, added.shape[2]).scatter_add(1, index, added)[:, :-1]
        alone = (word_ids < 0) & self.reading.mask
        norms = [words.norm(dim=-1), (added.norm(dim=-1) * alone).sum(1, keepdim=True)]
        lengths = torch.cat(norms, 1)
        return (lengths / lengths.sum(1, keepdim=True))[:, None]


def _rolled(weights: CallWeights, before: Float[Tensor, "batch row time"] | None) -> Float[Tensor, "batch row time"]:
    """The rollout with one more layer: half of what each row holds stays, half is mixed by the mean over heads."""
    mean = weights.mean(1).double()
    halved = (mean + torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)) / 2
    return halved if before is None else halved @ before
