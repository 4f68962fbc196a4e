"""What the tests look at: one batch through one model, and what several tests share, each computed at most once."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from heedful.attribution import input_gradients, weight_gradient
from heedful.attribution.gradient_x_input import gradient_x_input
from heedful.attribution.items import items_are_tokens
from heedful.attribution.mixed_precision import leave_one_out_to_rank, quick_reader
from heedful.attribution.reuse.variants import VariantReader, variant_reader
from heedful.attribution.subset_reader import Logits, SubsetReader
from heedful.battery.context import Context
from heedful.battery.places import dense_ranks, first_place, in_proportion, log_attention_of, log_weight_ranks
from heedful.exact import draw_permutations, expected_permuted_js, item_margins, random_orders, single_erasure_logits
from heedful.measures import rank_descending, total_variation
from heedful.types import Encoded, LinearModel, Model, MultiHeadModel, Solver, Trace

Weights = Float[Tensor, "batch item"]
ATTENDED, OWN, PERMUTED, REFERENCE = range(4)  # the ways of `deletion_logits`
ROUNDING = 1e-12
"""A probability that moves by less has not moved."""


class Evidence:
    """A trace and the questions that can be put to it, answered lazily.

    Make it from a trace in float64 and evaluation mode; nothing here changes the model or the trace. The model works
    where it is; its output is brought to the processor, where the exact forms work.

    Args:
        generator: draws what several tests share: a permutation of each text's weights, a random order of its items.
        given: scores of items by name, which are further rankings; NaN throughout a text that has none.
        single: keeps texts of a single word from batch to batch; None: nothing is kept.
    """

    def __init__(
        self,
        model: Model,
        trace: Trace,
        context: Context | None = None,
        generator: torch.Generator | None = None,
        given: Mapping[str, Weights] | None = None,
        single: dict[bytes, Logits] | None = None,
    ):
        self.model = model
        self.trace = trace
        self.context = context or Context()
        self.given: Mapping[str, Weights] = given or {}
        self.single = single
        self.attention: Weights = trace.attention.cpu()
        self.items: Bool[Tensor, "batch item"] = trace.encoded.items.cpu()
        self.labels: Int[Tensor, " batch"] = trace.batch.labels.cpu()
        generator = generator or torch.Generator().manual_seed(0)
        self.permutation = draw_permutations(self.items, generator, 1)[:, 0]
        self.random_order = random_orders(self.items, generator, 1)[:, 0]

    @cached_property
    def count(self) -> Float[Tensor, " batch"]:
        """How many items each text has."""
        return self.items.sum(1).double()

    @cached_property
    def probabilities(self) -> Float[Tensor, "batch classes"]:
        """What the model predicts."""
        return self.trace.logits.cpu().softmax(-1)

    @cached_property
    def predicted(self) -> Int[Tensor, " batch"]:
        """The class it decides for; the first on ties."""
        return self.trace.logits.cpu().argmax(-1)

    @cached_property
    def log_attention(self) -> Weights:
        """Log weights, -inf where there is no item or no weight: see `log_attention_of`."""
        temperatures = (float(getattr(self.model, "temperature", 1.0)), 1.0)
        return log_attention_of(self.trace.scores.cpu(), self.attention, self.items, temperatures)

    @cached_property
    def weighed(self) -> Float[Tensor, " batch"]:
        """How many items have weight: with fewer than two, nothing remains after the erasure of one."""
        return self.log_attention.isfinite().sum(1).double()

    @cached_property
    def permuted_log_attention(self) -> Weights:
        """The same weights permuted among the items, once at random: attention of the same shape that knows nothing."""
        return self.log_attention.gather(1, self.permutation)

    def under(self, log_weights: Weights, encoded: Encoded | None = None) -> "Evidence":
        """The same model on the same texts under other weights, which it predicts by.

        Args:
            encoded: what these are the weights of, where its heads have other weights too.
        """
        scores, encoded = log_weights.to(self.trace.attention), encoded or self.trace.encoded
        logits = self.model.decode(encoded, scores.exp())
        seen = replace(self.trace, encoded=encoded, attention=scores.exp(), scores=scores, logits=logits)
        evidence = Evidence(self.model, seen, self.context, given=self.given)
        evidence.random_order = self.random_order
        return evidence

    @cached_property
    def uninformed(self) -> "Evidence":
        """Under the permuted weights: what attention that knows nothing would show."""
        if not isinstance(self.model, MultiHeadModel):
            return self.under(self.permuted_log_attention)
        encoded = self.model.permuting(self.trace.encoded, self.permutation.to(self.trace.attention.device))
        return self.under(self.permuted_log_attention, encoded)

    @cached_property
    def reference(self) -> "Evidence":
        """Under the reference weights: what the best attention over the same encodings would show."""
        return self.under(self.reference_log_attention)

    @cached_property
    def reference_log_attention(self) -> Weights:
        """The log of weights in proportion to how much each item says for or against the decision.

        No other attention over the same encodings points more clearly at what the decision rests on: where even this
        one fails a question, the question cannot tell good attention from bad.
        """
        says = self.weight_gradient if self.item_logits is None else item_margins(self.item_logits, self.predicted)
        return in_proportion(says.abs(), self.items)

    @cached_property
    def item_logits(self) -> Float[Tensor, "batch item classes"] | None:
        """What it would predict with all weight on one item; None where the head is not linear."""
        return self.model.item_logits(self.trace.encoded).cpu() if isinstance(self.model, LinearModel) else None

    @cached_property
    def empty_logits(self) -> Float[Tensor, "batch classes"]:
        """What it predicts when nothing is left."""
        return self.decode(torch.zeros_like(self.attention))

    @cached_property
    def item_numbers(self) -> Int[Tensor, "batch item"] | None:
        """The number of each item's word in the vocabulary, -1 if it has none; None where items are not words."""
        if self.context.item_words is not None:
            return self.context.item_words.numbers(self.trace.batch).cpu()
        return self.trace.batch.tokens.cpu() if items_are_tokens(self.trace) else None

    @property
    def solver(self) -> Solver:
        """How what depends on the head is answered: exactly where it is linear, else by running it."""
        return "search" if self.item_logits is None else "exact"

    @cached_property
    def input_gradient(self) -> Weights:
        """|d p / d embedding . embedding| of each item, attention cut (Jain and Wallace)."""
        return self.input_gradients[0] if "input_gradients" in vars(self) else self._input_gradients_under([self])[0]

    @cached_property
    def input_gradients(self) -> list[Weights]:
        """The same under the own, the permuted and the reference weights: texts are encoded once for all three."""
        return self._input_gradients_under([self, self.uninformed, self.reference])

    def _input_gradients_under(self, several: "list[Evidence]") -> list[Weights]:
        weightings = [(each.trace.attention, each.predicted.to(each.trace.logits.device)) for each in several]
        return [each.cpu() for each in input_gradients(self.model, self.trace, weightings, self.variant_reader)]

    @cached_property
    def weight_gradient(self) -> Weights:
        """The signed derivative d p / d attention of each item (Serrano and Smith)."""
        return weight_gradient(self.model, self.trace).cpu()

    @cached_property
    def gradient_x_input(self) -> Weights:
        """The signed gradient x input of each item through the whole model, attention included."""
        return gradient_x_input(self.model, self.trace).cpu()

    @cached_property
    def deletion_logits(self) -> Float[Tensor, "way batch item classes"]:
        """Logits without each item in turn: attending anew; under the own, the permuted, the reference weights."""
        weightings = (self.log_attention, self.permuted_log_attention, self.reference_log_attention)
        imposed = [weights.to(self.trace.attention) for weights in weightings]
        several = (self, self, self.uninformed, self.reference)
        whole = torch.stack([each.probabilities for each in several]).to(self.trace.logits)
        return leave_one_out_to_rank(self.model, self.trace, imposed, whole).cpu()

    @cached_property
    def variant_reader(self) -> VariantReader | None:
        """Reads variants of the texts at the cost of what changes; None where the model is not made for it."""
        return variant_reader(self.model, self.trace)

    @cached_property
    def quick_reader(self) -> VariantReader | None:
        """The same for what no rank, tie or decision is made of: in single precision where that pays."""
        return quick_reader(self.model, self.trace, self.variant_reader)

    @cached_property
    def subsets(self) -> SubsetReader:
        """Predictions for sets of items, each read once; a text of one word depends on nothing but its tokens."""
        batch = self.trace.batch
        depends = batch.query_tokens is not None or batch.imposed_attention is not None or self._has_sentences
        return SubsetReader(self.model, self.trace, self.quick_reader, None if depends else self.single)

    @property
    def _has_sentences(self) -> bool:
        """Whether items are sentences, as far as tokens tell."""
        return self.trace.batch.sentence is not None and self.context.item_words is None

    @cached_property
    def leave_one_out(self) -> Weights:
        """How far the prediction moves when the item is deleted: total variation distance; 0 where there is no item."""
        return self._moved(self.deletion_logits[ATTENDED], self.probabilities)

    @cached_property
    def imposed_leave_one_out(self) -> Weights:
        """The same where the own weights stay, renormalised, instead of attending anew."""
        return self._moved(self.deletion_logits[OWN], self.probabilities)

    @cached_property
    def permuted_leave_one_out(self) -> Weights:
        """The same under the permuted weights."""
        return self._moved(self.deletion_logits[PERMUTED], self.uninformed.probabilities)

    @cached_property
    def reference_leave_one_out(self) -> Weights:
        """The same under the reference weights."""
        return self._moved(self.deletion_logits[REFERENCE], self.reference.probabilities)

    def _moved(self, logits: Float[Tensor, "batch item classes"], whole: Float[Tensor, "batch classes"]) -> Weights:
        without = logits.softmax(-1)
        moved = total_variation(without, whole[:, None].expand_as(without))
        return moved.masked_fill(~self.items | (moved < ROUNDING), 0.0)

    @cached_property
    def shuffled_js(self) -> Float[Tensor, " batch"]:
        """How far attention is from itself with its weights permuted at random, in exact expectation."""
        return expected_permuted_js(self.attention, self.items)

    @cached_property
    def erased_logits(self) -> Float[Tensor, "batch item classes"]:
        """The logits with the weight of one item gone and the others renormalised; NaN where none is left."""
        if self.item_logits is not None:
            return single_erasure_logits(self.log_attention, self.item_logits)
        keep = ~torch.eye(self.attention.shape[1], dtype=torch.bool)
        return self.decode_each_kept(keep.expand(len(self.items), -1, -1))

    def decode(self, weights: Weights) -> Float[Tensor, "batch classes"]:
        """The logits under any other weights."""
        return self.model.decode(self.trace.encoded, weights.to(self.trace.attention)).cpu()

    def decode_each(self, weights: Float[Tensor, "batch variant item"]) -> Float[Tensor, "batch variant classes"]:
        """The logits under several other weightings of each text."""
        weights = weights.to(self.trace.attention)
        if isinstance(self.model, MultiHeadModel):
            return self.model.decode_each(self.trace.encoded, weights).cpu()
        return torch.stack([self.model.decode(self.trace.encoded, each) for each in weights.unbind(1)], 1).cpu()

    def decode_kept(self, keep: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """The logits with weight on the kept items alone, renormalised; NaN where none of them has weight."""
        return self.decode_each_kept(keep[:, None])[:, 0]

    def decode_each_kept(self, keep: Bool[Tensor, "batch part item"]) -> Float[Tensor, "batch part classes"]:
        """The same for several choices of items of each text."""
        weights = self.log_attention[:, None].masked_fill(~keep, -torch.inf).softmax(-1)
        is_empty = weights.isnan().any(2, keepdim=True)
        return self.decode_each(weights.nan_to_num(0.0)).masked_fill(is_empty, torch.nan)

    def importance(self, name: str) -> Weights:
        """What a ranking of that name ranks items by: one of RANKINGS, or scores that were given."""
        return self.given[name] if name in self.given else RANKINGS[name](self)

    def lacks(self, name: str) -> Bool[Tensor, " batch"]:
        """The texts that have no scores of that name, because nobody gave any."""
        return (self.given.get(name, self.attention).isnan() & self.items).any(1)

    def ranking(self, name: str) -> Int[Tensor, "batch item"]:
        """An order in which items may be erased, the most important first, by `importance`; ties in random order."""
        return self.ranked(name, self.random_order)

    def ranked(self, name: str, order: Int[Tensor, "batch item"]) -> Int[Tensor, "batch item"]:
        """The ranking of that name, its ties in the given order."""
        return self.ranked_each(name, order[:, None], torch.arange(len(order)))[:, 0]

    def ranked_each(
        self, name: str, orders: Int[Tensor, "text n item"], texts: Int[Tensor, " text"]
    ) -> Int[Tensor, "text n item"]:
        """The ranking of that name of the chosen texts, its ties in each of the given orders."""
        ranks = dense_ranks(self.importance(name), self.items)
        ranks, items = (part[texts, None].expand_as(orders) for part in (ranks, self.items))
        return orders.gather(2, rank_descending(ranks.gather(2, orders), items.gather(2, orders)))

    def without_top(self, count: int) -> Bool[Tensor, "batch item"]:
        """The items but for so many of the most attended; ties in random order."""
        return self.items.scatter(1, self.ranking("attention")[:, :count], False)

    def tops(self, name: str) -> Bool[Tensor, "batch item"]:
        """The items that share the first place of a ranking."""
        return first_place(self.importance(name), self.items)

    @cached_property
    def attention_ranks(self) -> Weights:
        """Dense ranks of the weights, 1 the smallest: ties are those of log weights, however sharp attention is."""
        return log_weight_ranks(self.log_attention, self.items)


RANKINGS: dict[str, Callable[[Evidence], Weights]] = {
    "attention": lambda evidence: evidence.attention_ranks,
    "weight_gradient": lambda evidence: evidence.weight_gradient,
    "attention_x_gradient": lambda evidence: evidence.attention * evidence.weight_gradient,
    "gradient_x_input": lambda evidence: evidence.gradient_x_input,
    "leave_one_out": lambda evidence: evidence.leave_one_out,
}
"""Importances to rank items by; the first three are Serrano and Smith's."""


def undefined_where(
    undefined: Bool[Tensor, " batch"], values: Mapping[str, Shaped[Tensor, " batch"]]
) -> dict[str, Float[Tensor, " batch"]]:
    """The values in float64, NaN in the rows that have none."""
    return {name: value.double().masked_fill(undefined, torch.nan) for name, value in values.items()}
