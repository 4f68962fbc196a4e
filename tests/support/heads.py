"""Heads that are linear after attention, and heads that are not: some only a little, only at some weights or texts."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import layer_norm, softplus

from heedful.measures import entropy
from heedful.types import Batch, Encoded, Trace
from support.strategies import JUNK, masks


@dataclass(frozen=True)
class Head:
    """A model that is all head: its hidden states and its attention are given.

    Args:
        bend: what is added to the linear logits; sees the head, the attention and the context.
        strength: how much of it is added.
        is_fitted: whether `item_logits` is what `decode` gives with all weight on each item, bend and all.
        place: a text and two of its items, for what concerns these alone.
    """

    hidden: Tensor
    items: Tensor
    weight: Tensor
    bias: Tensor
    bend: "Callable[[Head, Tensor, Tensor], Tensor]"
    strength: float = 1.0
    is_fitted: bool = False
    place: tuple[int, int, int] = (0, 0, 0)

    def embed(self, batch):
        return self.hidden

    def encode(self, embedded, batch):
        return Encoded(self.hidden, self.items)

    def attend(self, encoded, batch):
        return self.hidden[..., 0], self.hidden[..., 0].masked_fill(~self.items, -torch.inf).softmax(-1)

    def decode(self, encoded, attention):
        """Also of several attentions at once, one before the other."""
        context = torch.einsum("...bi,bih->...bh", attention, encoded.hidden)
        bent = self.bend(self, attention, context)
        return self.linear(context) + (self.strength * bent).to(self.hidden)

    def linear(self, context):
        return context @ self.weight + self.bias

    def item_logits(self, encoded):
        if not self.is_fitted:
            return self.linear(encoded.hidden)
        alone = torch.eye(self.items.shape[1]).to(self.hidden)[:, None].expand(-1, *self.items.shape)
        return self.decode(encoded, alone).transpose(0, 1)

    def empty_logits(self, encoded):
        return self.decode(encoded, torch.zeros_like(self.hidden[..., 0]))

    def of_place(self, attention):
        """The weights of the two items, as [batch, 1], 0 in all texts but one."""
        text, first, second = self.place
        only = torch.arange(len(self.items)) == text
        return [(attention[..., item] * only)[..., None] for item in (first, second)]


def thresholded(head, attention, context):
    kept = attention.where(attention >= 0.3, 0.0)
    return torch.einsum("...bi,bih->...bh", kept - attention, head.hidden) @ head.weight


def sharpened(head, attention, context):
    sharp = attention**2 / (attention**2).sum(-1, keepdim=True).clamp_min(1e-9)
    return torch.einsum("...bi,bih->...bh", sharp - attention, head.hidden) @ head.weight


def of_context(function):
    return lambda head, attention, context: (function(context) - context) @ head.weight


BENDS = {
    "relu": of_context(torch.relu),
    "tanh": of_context(torch.tanh),
    "softplus": of_context(softplus),
    "layer norm": of_context(lambda context: layer_norm(context, context.shape[-1:])),
    "relu of logits": lambda head, attention, context: head.linear(context).relu() - head.linear(context),
    "temperature": lambda head, attention, context: head.linear(context),
    "another bias": lambda head, attention, context: head.bias.expand(*context.shape[:-1], -1),
    "entropy": lambda head, attention, context: entropy(attention)[..., None] * head.weight[0],
    "largest weight": lambda head, attention, context: attention.amax(-1, keepdim=True) * head.weight[0],
    "sharpened": sharpened,
    "thresholded": thresholded,
    "only one-hot": lambda head, attention, context: (attention.amax(-1, keepdim=True) > 0.999) * head.weight[0],
    "only mixed": lambda head, attention, context: (attention.amax(-1, keepdim=True) < 0.7) * head.weight[0],
    "one item": lambda head, attention, context: head.of_place(attention)[0] * head.weight[0],
    "one item's kink": lambda head, attention, context: (head.of_place(attention)[0] - 0.5).relu() * head.weight[0],
    "two items": lambda head, attention, context: torch.stack(head.of_place(attention)).prod(0) * head.weight[0],
    "those two alone": lambda head, attention, context: (
        (torch.stack(head.of_place(attention)).prod(0) - 0.1).relu() * head.weight[0]
    ),
    "any two alone": lambda head, attention, context: (
        (attention.topk(min(2, attention.shape[-1])).values.prod(-1, keepdim=True) > 0.15) * head.weight[0]
    ),
    "one item undefined": lambda head, attention, context: (
        head.weight[0] / (head.of_place(attention)[0] <= 0.9) - head.weight[0]
    ),
}
"""What makes a head other than linear, or other than its item logits say."""


def straight(head, attention, context):
    return torch.zeros_like(context @ head.weight)


def without_bias(head, attention, context):
    """The bias times the sum of weights, as if it were part of every item; nothing is left of it without weight."""
    return (attention.sum(-1, keepdim=True) - 1) * head.bias


def renormalised(head, attention, context):
    """Undefined without weight."""
    return head.linear(context / attention.sum(-1, keepdim=True)) - head.linear(context)


STRAIGHT = {"straight": straight, "bias with the weights": without_bias, "renormalised": renormalised}
"""What leaves a head linear wherever attention sums to 1."""


@st.composite
def heads(draw: st.DrawFn, bends: dict) -> Head:
    """A head with one of these bends, mild or strong, on a ragged batch; its logits are below 4."""
    items = draw(masks())
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    size, classes = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    hidden = torch.randn(*items.shape, size, generator=generator, dtype=torch.float64)
    weight, bias = (torch.randn(*shape, generator=generator).double() for shape in ((size, classes), (classes,)))
    largest = (hidden @ weight + bias).abs().max().clamp_min(1e-3) / draw(st.floats(0.1, 4.0))
    weight, bias = weight / largest, bias / largest
    text = draw(st.integers(0, len(items) - 1))
    places = items[text].nonzero()[:, 0].tolist()
    place = (text, draw(st.sampled_from(places)), draw(st.sampled_from(places)))
    bend, strength = draw(st.sampled_from(list(bends.values()))), draw(st.floats(-3.0, 0.3).map(lambda x: 10**x))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    numbers = (hidden.masked_fill(~items[..., None], JUNK), weight, bias)
    hidden, weight, bias = (number.to(dtype) for number in numbers)
    return Head(hidden, items, weight, bias, bend, strength, draw(st.booleans()), place)


def seen_by(head: Head) -> Trace:
    """The head's trace of its one batch."""
    texts, tokens = torch.arange(len(head.items)), torch.ones_like(head.items, dtype=torch.long)
    batch = Batch(texts, tokens, head.items, head.items, texts % 2)
    encoded = head.encode(head.hidden, batch)
    scores, attention = head.attend(encoded, batch)
    return Trace(batch, head.hidden, encoded, scores, attention, head.decode(encoded, attention))


def largest_error(head: Head) -> float:
    """How far the sum of attention x item logits is from the logits: over all attentions on one item or on two.

    On two: with 1/4, 1/2 and 3/4 on the first. Infinite where either is undefined.
    """
    width, encoded = head.items.shape[1], head.encode(head.hidden, None)
    alone = torch.eye(width).to(head.hidden)
    first, second = torch.triu_indices(width, width, 1)
    tried = [alone, *(share * alone[first] + (1 - share) * alone[second] for share in (0.25, 0.5, 0.75))]
    weights = torch.cat(tried)[:, None].expand(-1, *head.items.shape)
    over_items = (weights * ~head.items).sum(-1) == 0
    item_logits = head.item_logits(encoded).masked_fill(~head.items[..., None], 0.0)
    error = head.decode(encoded, weights) - torch.einsum("nbi,bic->nbc", weights, item_logits)
    return error[over_items].abs().nan_to_num(nan=torch.inf).max().item()
