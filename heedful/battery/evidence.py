"""What the tests look at: one batch through one model, and what several tests share, each computed at most once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from heedful.attribution.gradient import Graph, encoded_graph, gradient_x_input, input_gradients, weight_gradient
from heedful.attribution.items import items_are_tokens
from heedful.attribution.leave_one_out import leave_one_out, leave_one_out_to_rank
from heedful.attribution.subset_reader import Logits, SubsetReader
from heedful.attribution.variants import VariantReader, variant_reader
from heedful.exact import draw_permutations, expected_permuted_js, log_weights, random_orders, single_erasure_logits
from heedful.measures import rank_descending, ties_within, total_variation_distance
from heedful.measures.ranking import dense_ranks, top_ties
from heedful.models.abilities import linear, own_parts, several_heads
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.types import Batch, LinearModel, Model, Solver, Trace

LOG_STEP = 1e-6
"""Log weights that differ by less than this are tied."""
NO_WEIGHT = -1e100
"""The log weight of 0 where a finite one is needed."""
ROUNDING = 1e-12
"""A probability that moves by less has not moved."""

# What a test may need to know about the audit, apart from the batch.

Known = TypeVar("Known")


@runtime_checkable
class ItemWords(Protocol):
    """The words that items are, where an item is made of several tokens."""

    def numbers(self, batch: Batch) -> Int[Tensor, "batch item"]:
        """The number in the context's vocabulary of each item's word; -1 where it has none, or there is no item."""
        ...

    def rewritten(self, batch: Batch, words: Sequence[Mapping[int, str]]) -> tuple[Batch, Bool[Tensor, " batch"]]:
        """The batch with some words replaced, by position; and the texts in which this was possible."""
        ...

    def tokens_of(self, number: int, words: Mapping[int, str]) -> list[tuple[int, ...]] | None:
        """The tokens of each word of a text with new words by position; None if it is then split into other words."""
        ...


@dataclass(frozen=True, eq=False)
class Context:
    """What a test may need to know about the audit, apart from the batch.

    Args:
        labels: what the classes are called.
        vocabulary: words by token ID; empty if unknown.
        token_counts: how often each token occurs under each label, in the training texts if these are available.
        item_words: the words of items that are made of several tokens; None if an item is a token, or not a word.
        vectors: the pretrained word vectors that the model began with: a file, or a name under HEEDFUL_DATA.
    """

    task: str = "classification"
    labels: tuple[str, ...] = ()
    vocabulary: Sequence[str] = ()
    token_counts: Callable[[], Int[Tensor, "token classes"]] = lambda: torch.zeros(0, 2, dtype=torch.long)
    vectors: str = ""
    item_words: ItemWords | None = None
    computed: dict[tuple[object, ...], object] = field(default_factory=dict, repr=False)

    def once(self, function: Callable[..., Known], *arguments: object) -> Known:
        """What the function makes of this context and these arguments, computed when any batch first asks for it."""
        key = (function, *arguments)
        if key not in self.computed:
            self.computed[key] = function(self, *arguments)
        return self.computed[key]  # pyright: ignore[reportReturnType]


Weights = Float[Tensor, "batch item"]


class Evidence:
    """A trace and what tests derive from it, computed lazily.

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
    def linear(self) -> LinearModel | None:
        """The model, if all after attention is linear."""
        return linear(self.model)

    @cached_property
    def heads(self) -> TransformerModel | None:
        """The model, if it is a transformer, whose heads each have weights of their own."""
        return several_heads(self.model)

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
        """Log weights, -inf where an item or its weight is missing.

        From the scores where attention is their softmax at the model's temperature, or at 1: however sharp attention
        is, what remains after an erasure then has its shape. Where attention is nearly one-hot, any would fit.
        """
        for temperature in (float(getattr(self.model, "temperature", 1.0)), 1.0):
            barred = (self.trace.scores.cpu() / temperature).masked_fill(~self.items, -torch.inf)
            if torch.allclose(barred.softmax(-1), self.attention, rtol=1e-6, atol=1e-12):
                return barred.log_softmax(-1)
        return log_weights(self.attention.masked_fill(~self.items, 0.0))

    @cached_property
    def num_weighted(self) -> Float[Tensor, " batch"]:
        """How many items have weight: with fewer than two, nothing remains after the erasure of one."""
        return self.log_attention.isfinite().sum(1).double()

    @cached_property
    def permuted_log_attention(self) -> Weights:
        """The same weights permuted among the items, once at random: an uninformed attention of the same shape."""
        return self.log_attention.gather(1, self.permutation)

    @cached_property
    def permuted(self) -> "Evidence":
        """The same model on the same texts under the permuted weights, which it predicts by."""
        scores, encoded = self.permuted_log_attention.to(self.trace.attention), self.trace.encoded
        if self.heads is not None:
            encoded = self.heads.permuting(encoded, self.permutation.to(scores.device))
        logits = self.model.decode(encoded, scores.exp())
        seen = replace(self.trace, encoded=encoded, attention=scores.exp(), scores=scores, logits=logits)
        return Evidence(self.model, seen, self.context)

    @cached_property
    def item_logits(self) -> Float[Tensor, "batch item classes"] | None:
        """What it would predict with all weight on one item; None if the head is not linear."""
        return None if self.linear is None else self.linear.item_logits(self.trace.encoded).cpu()

    @cached_property
    def empty_logits(self) -> Float[Tensor, "batch classes"]:
        """What it predicts when nothing is left."""
        return self.decode(torch.zeros_like(self.attention))

    @cached_property
    def item_numbers(self) -> Int[Tensor, "batch item"] | None:
        """The token ID of each item's word, -1 if it has none; None if items are not words."""
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
        """The same under the model's own and the permuted weights: texts are encoded once for both."""
        return self._input_gradients_under([self, self.permuted])

    def _input_gradients_under(self, several: "list[Evidence]") -> list[Weights]:
        weightings = [(each.trace.attention, each.predicted.to(each.trace.logits.device)) for each in several]
        return [each.abs().cpu() for each in input_gradients(self.model, self.trace, weightings, self._graph)]

    @cached_property
    def weight_gradient(self) -> Weights:
        """The signed derivative d p / d attention of each item (Serrano and Smith)."""
        return weight_gradient(self.model, self.trace).cpu()

    @cached_property
    def gradient_x_input(self) -> Weights:
        """The signed gradient x input of each item through the whole model, attention included."""
        return gradient_x_input(self.model, self.trace, self._graph).cpu()

    @cached_property
    def _graph(self) -> Graph | None:
        """The texts encoded once for all gradients; None for transformers, whose graph takes much memory."""
        own = own_parts(self.model)
        return None if own is None or own.pretrained_words is not None else encoded_graph(self.model, self.trace)

    @cached_property
    def deletion_logits(self) -> Float[Tensor, "batch item classes"]:
        """Logits without each item in turn, the rest encoded and attended to again."""
        return leave_one_out_to_rank(self.model, self.trace, self.variant_reader, self.quick_reader).cpu()

    @cached_property
    def quick_reader(self) -> VariantReader | None:
        """The same as `variant_reader` in float32, for what is decided by probabilities to within 1e-6."""
        if self.variant_reader is None or self.trace.logits.dtype != torch.float64:
            return self.variant_reader
        return variant_reader(self.model, self.trace, torch.float32)

    @cached_property
    def variant_reader(self) -> VariantReader | None:
        """Reads variants of the texts at the cost of what changes; None if the model does not support this."""
        return variant_reader(self.model, self.trace)

    @cached_property
    def subsets(self) -> SubsetReader:
        """Predictions for sets of items, each read once; a text of one word depends on nothing but its tokens."""
        batch = self.trace.batch
        depends = batch.query_tokens is not None or batch.imposed_attention is not None or self._has_sentences
        reader = SubsetReader(self.model, self.trace, self.quick_reader, None if depends else self.single)
        reader.remember_leave_one_out(self.deletion_logits)
        return reader

    @property
    def _has_sentences(self) -> bool:
        """Whether items are sentences, as far as tokens tell."""
        return self.trace.batch.sentence is not None and self.context.item_words is None

    @cached_property
    def leave_one_out(self) -> Weights:
        """How much less probable the prediction is without each item, signed; 0 outside items."""
        own = self.predicted[:, None, None].expand(-1, self.items.shape[1], 1)
        without = self.deletion_logits.softmax(-1).gather(-1, own)[..., 0]
        return self._rounded(self.probabilities.amax(-1)[:, None] - without)

    @cached_property
    def leave_one_out_tvd(self) -> Weights:
        """How far all probabilities move without each item: total variation distance (Jain and Wallace)."""
        return self._moved(self.deletion_logits, self.probabilities)

    @cached_property
    def permuted_leave_one_out_tvd(self) -> Weights:
        """The same under the permuted weights, which are imposed on every shortened text."""
        imposed = self.permuted_log_attention.to(self.trace.attention)
        without = leave_one_out(self.model, self.trace, imposed, reader=self.variant_reader).cpu()
        return self._moved(without, self.permuted.probabilities)

    def _moved(self, logits: Float[Tensor, "batch item classes"], whole: Float[Tensor, "batch classes"]) -> Weights:
        without = logits.softmax(-1)
        return self._rounded(total_variation_distance(without, whole[:, None].expand_as(without)))

    def _rounded(self, values: Weights) -> Weights:
        """The values, 0 outside items and wherever only rounding makes them differ from 0."""
        return values.masked_fill(~self.items | (values.abs() < ROUNDING), 0.0)

    @cached_property
    def shuffled_js(self) -> Float[Tensor, " batch"]:
        """How far attention is from itself with its weights permuted at random, in exact expectation."""
        return expected_permuted_js(self.attention, self.items)

    @cached_property
    def erased_logits(self) -> Float[Tensor, "batch item classes"]:
        """The logits with the weight of one item gone and the others renormalized; NaN if none is left."""
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
        if self.heads is not None:
            return self.heads.decode_each(self.trace.encoded, weights).cpu()
        return torch.stack([self.model.decode(self.trace.encoded, each) for each in weights.unbind(1)], 1).cpu()

    def decode_permuted(self, orders: Int[Tensor, "batch variant item"]) -> Float[Tensor, "batch variant classes"]:
        """The logits with the weights permuted in each of several ways, in every head if it has several."""
        if self.heads is not None:
            return self.heads.permute_each(self.trace.encoded, orders.to(self.trace.attention.device)).cpu()
        return self.decode_each(self.attention[:, None].expand_as(orders).gather(2, orders))

    def impose(self, weights: Weights) -> Float[Tensor, "batch classes"]:
        """The logits under any other weights, the same in every head."""
        if self.heads is not None:
            return self.heads.impose_each(self.trace.encoded, weights.to(self.trace.attention)[:, None])[:, 0].cpu()
        return self.decode(weights)

    def decode_kept(self, keep: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """The logits with weight on the kept items alone, renormalized; NaN if none of them has weight."""
        return self.decode_each_kept(keep[:, None])[:, 0]

    def decode_each_kept(self, keep: Bool[Tensor, "batch part item"]) -> Float[Tensor, "batch part classes"]:
        """The same for several choices of items of each text."""
        weights = self.log_attention[:, None].masked_fill(~keep, -torch.inf).softmax(-1)
        is_empty = weights.isnan().any(2, keepdim=True)
        return self.decode_each(weights.nan_to_num(0.0)).masked_fill(is_empty, torch.nan)

    def importance(self, name: str) -> Weights:
        """What a ranking of that name ranks items by: one of RANKINGS, or scores that were given."""
        return self.given[name] if name in self.given else RANKINGS[name](self)

    def missing_scores(self, name: str) -> Bool[Tensor, " batch"]:
        """The texts that have no scores of that name, because none were given."""
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
        """The items except for the `count` most attended; ties in random order."""
        return self.items.scatter(1, self.ranking("attention")[:, :count], False)

    def tops(self, name: str) -> Bool[Tensor, "batch item"]:
        """The items that share the first place of a ranking."""
        return top_ties(self.importance(name), self.items)

    @cached_property
    def attention_ranks(self) -> Weights:
        """Dense ranks of the weights, 1 the smallest: ties are those of log weights, however sharp attention is."""
        steps = (self.log_attention.nan_to_num(neginf=NO_WEIGHT) / LOG_STEP).round()
        return ties_within(steps, self.items, tolerance=0.0)


RANKINGS: dict[str, Callable[[Evidence], Weights]] = {
    "attention": lambda evidence: evidence.attention_ranks,
    "weight_gradient": lambda evidence: evidence.weight_gradient,
    "attention_x_gradient": lambda evidence: evidence.attention * evidence.weight_gradient,
    "gradient_x_input": lambda evidence: evidence.gradient_x_input,
    "leave_one_out": lambda evidence: evidence.leave_one_out,
}
"""Importances to rank items by. Serrano and Smith (2019) compare the first three."""


def undefined_where(
    undefined: Bool[Tensor, " batch"], values: Mapping[str, Shaped[Tensor, " batch"]]
) -> dict[str, Float[Tensor, " batch"]]:
    """The values in float64, NaN in the rows that have none."""
    return {name: value.double().masked_fill(undefined, torch.nan) for name, value in values.items()}


# How many random variants of a text a test can afford.


def affordable(evidence: Evidence, count: int) -> int:
    """`count` random variants of a text, or a tenth of them if the whole of a transformer is run for each."""
    is_whole = evidence.heads is not None and not evidence.heads.is_cheap
    return max(2, count // 10) if is_whole else count
