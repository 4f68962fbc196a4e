"""What the tests look at: one batch through one model, and what several tests share, each computed at most once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from heedful.attribution import input_gradient, leave_one_out, weight_gradient
from heedful.attribution.deletion import summing_to_one
from heedful.exact import expected_permuted_js, single_erasure_logits
from heedful.measures import rank_descending, total_variation
from heedful.types import LinearModel, Model, Solver, Trace

Weights = Float[Tensor, "batch item"]
Known = TypeVar("Known")


@dataclass(frozen=True, eq=False)
class Context:
    """What a test may need to know of the audit, beyond the batch at hand.

    Args:
        labels: what the classes are called.
        vocabulary: words by number; empty where nobody has them.
        token_counts: how often each token occurs under each label, in the training texts where these are at hand.
    """

    task: str = "classification"
    labels: tuple[str, ...] = ()
    vocabulary: Sequence[str] = ()
    token_counts: Callable[[], Int[Tensor, "token classes"]] = lambda: torch.zeros(0, 2, dtype=torch.long)
    computed: dict[Callable[..., object], object] = field(default_factory=dict, repr=False)

    def once(self, function: "Callable[[Context], Known]") -> Known:
        """What the function makes of this context, computed the first time that any batch asks for it."""
        if function not in self.computed:
            self.computed[function] = function(self)
        return self.computed[function]  # pyright: ignore[reportReturnType]


class Evidence:
    """A trace and the questions that can be put to it, answered lazily.

    Make it from a trace in float64 and evaluation mode; nothing here changes the model or the trace. The model works
    where it is; what it says is brought to the processor, where the exact forms work.
    """

    def __init__(self, model: Model, trace: Trace, context: Context | None = None):
        self.model = model
        self.trace = trace
        self.context = context or Context()
        self.attention: Weights = trace.attention.cpu()
        self.items: Bool[Tensor, "batch item"] = trace.encoded.items.cpu()
        self.labels: Int[Tensor, " batch"] = trace.batch.labels.cpu()

    @cached_property
    def count(self) -> Float[Tensor, " batch"]:
        """How many items each text has."""
        return self.items.sum(1).double()

    @cached_property
    def probabilities(self) -> Float[Tensor, "batch classes"]:
        """What the model says."""
        return self.trace.logits.cpu().softmax(-1)

    @cached_property
    def predicted(self) -> Int[Tensor, " batch"]:
        """The class it decides for; the first on ties."""
        return self.trace.logits.cpu().argmax(-1)

    @cached_property
    def item_logits(self) -> Float[Tensor, "batch item classes"] | None:
        """What it would say with all weight on one item; None where the head is not linear."""
        return self.model.item_logits(self.trace.encoded).cpu() if isinstance(self.model, LinearModel) else None

    @cached_property
    def empty_logits(self) -> Float[Tensor, "batch classes"]:
        """What it says when nothing is left."""
        return self.decode(torch.zeros_like(self.attention))

    @property
    def solver(self) -> Solver:
        """How what depends on the head is answered: exactly where it is linear, else by running it."""
        return "search" if self.item_logits is None else "exact"

    @cached_property
    def input_gradient(self) -> Weights:
        """|d p / d embedding . embedding| of each item, attention cut (Jain and Wallace)."""
        return input_gradient(self.model, self.trace).cpu()

    @cached_property
    def weight_gradient(self) -> Weights:
        """The signed derivative d p / d attention of each item (Serrano and Smith)."""
        return weight_gradient(self.model, self.trace).cpu()

    @cached_property
    def leave_one_out(self) -> Weights:
        """How far the prediction moves when the item is deleted: total variation distance; 0 where there is none."""
        without = leave_one_out(self.model, self.trace).cpu().softmax(-1)
        moved = total_variation(without, self.probabilities[:, None].expand_as(without))
        return moved.masked_fill(~self.items, 0.0)

    @cached_property
    def shuffled_js(self) -> Float[Tensor, " batch"]:
        """How far attention is from itself with its weights permuted at random, in exact expectation."""
        return expected_permuted_js(self.attention, self.items)

    @cached_property
    def erased_logits(self) -> Float[Tensor, "batch item classes"]:
        """The logits with the weight of one item set to 0 and the others renormalised."""
        if self.item_logits is not None:
            return single_erasure_logits(self.attention, self.item_logits, self.empty_logits)
        keep = ~torch.eye(self.attention.shape[1], dtype=torch.bool)
        return torch.stack([self.decode(summing_to_one(self.attention * kept)) for kept in keep.unbind(0)], 1)

    def decode(self, weights: Weights) -> Float[Tensor, "batch classes"]:
        """The logits under any other weights."""
        return self.model.decode(self.trace.encoded, weights.to(self.trace.attention)).cpu()

    def ranking(self, name: str) -> Int[Tensor, "batch item"]:
        """An order in which items may be erased, the most important first: one of RANKINGS."""
        return rank_descending(RANKINGS[name](self), self.items)


RANKINGS: dict[str, Callable[[Evidence], Weights]] = {
    "attention": lambda evidence: evidence.attention,
    "gradient": lambda evidence: evidence.weight_gradient,
    "product": lambda evidence: evidence.attention * evidence.weight_gradient,
    "input_gradient": lambda evidence: evidence.input_gradient,
    "leave_one_out": lambda evidence: evidence.leave_one_out,
}
"""Importances to rank items by; the first three are Serrano and Smith's."""


def undefined_where(
    undefined: Bool[Tensor, " batch"], values: Mapping[str, Shaped[Tensor, " batch"]]
) -> dict[str, Float[Tensor, " batch"]]:
    """The values in float64, NaN in the rows that have none."""
    return {name: value.double().masked_fill(undefined, torch.nan) for name, value in values.items()}
