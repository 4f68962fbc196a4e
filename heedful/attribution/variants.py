"""Variants of texts through a recurrent network: words deleted, or others in their places, at the cost of what changes.

The words of all texts, and those that take the places of others, are projected once. In each direction variants that
begin alike are read together; up to its first change a variant has the states of the whole text, and after a change it
is read until its state is that of the whole text again.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.attribution.deletion import Parts
from heedful.attribution.items import of_similar_length
from heedful.attribution.linear_parts import Decoding, Scoring, decoding_of, has_own_parts, mapped, scoring_of
from heedful.attribution.prefix_tree import NOTHING, Direction, States, read_tree
from heedful.attribution.recurrent_step import recurrent_step
from heedful.models.encoders.recurrent import Recurrent
from heedful.types import Model, Trace

CELLS = 2**20
"""Places of variants that are read at a time, of states with few values; all variants of a text are read together."""
SCORED = 2**12
"""Places of variants that are scored at a time, so that what they need stays in the cache."""


@dataclass(frozen=True)
class VariantReader:
    """Some texts, ready for variants of them to be read. Their tokens are numbered through, text after text.

    Args:
        first: index of each text's first token.
        text: the text of each token; after those of the texts come tokens that may replace others.
        items: whether attention weighs it.
        constant: what the linear part of its score, and then its value, have in addition to the state's.
        width: how many places for items the texts have.
        dtype: precision of the logits; states and weights can have a lower one.
    """

    directions: tuple[Direction, ...]
    scoring: Scoring
    decoding: Decoding
    first: Int[ndarray, " batch"]
    text: Int[Tensor, " token"]
    items: Bool[ndarray, " token"]
    constant: Float[Tensor, "token size_and_values"]
    width: int
    dtype: torch.dtype

    @torch.no_grad()
    def logits(
        self, sequences: Int[ndarray, "batch part place"], imposed: Float[Tensor, " token"] | None = None
    ) -> Float[Tensor, "batch part classes"]:
        """Logits of variants, each given by its tokens; NaN if nothing is left to weigh.

        Args:
            sequences: numbers of tokens, in the order of the text; `NOTHING` behind the end of a variant.
            imposed: log weights of tokens to weigh by, instead of attention.
        """
        return self._read(sequences, imposed)[1]

    @torch.no_grad()
    def attention_and_logits(
        self, vectors: Float[Tensor, "changed embed"], changed: Bool[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch classes"]]:
        """What becomes of the texts where the changed tokens have these vectors."""
        reader, _, sequences = self._replaced(vectors, changed)
        attention, logits = reader._read(sequences[:, None])
        return attention[:, 0], logits[:, 0]

    @torch.no_grad()
    def logits_of_replaced(
        self, vectors: Float[Tensor, "changed embed"], changed: Bool[Tensor, "batch time"], keep: Parts
    ) -> Float[Tensor, "batch part classes"]:
        """Logits of texts in which the changed tokens have these vectors, except for those that a part keeps.

        Args:
            changed: True on the tokens that have a vector; texts without any are not read.
        """
        reader, own, new = self._replaced(vectors, changed)
        own[~changed.any(1).cpu().numpy()] = new[~changed.any(1).cpu().numpy()] = NOTHING
        return reader.logits(numpy.where(keep.cpu().numpy(), own[:, None], new[:, None]))

    def _replaced(
        self, vectors: Float[Tensor, "changed embed"], changed: Bool[Tensor, "batch time"]
    ) -> tuple["VariantReader", Int[ndarray, "batch place"], Int[ndarray, "batch place"]]:
        """A reader that knows further tokens, the whole texts, and the texts with these in the changed places."""
        text, place = (index.cpu().numpy() for index in changed.nonzero(as_tuple=True))
        replaced, places = self.first[text] + place, numpy.arange(self.width)
        old, lengths = self._index(replaced), numpy.diff(self.first, append=self.count)
        reader = replace(
            self,
            directions=tuple(direction.with_tokens(vectors) for direction in self.directions),
            text=torch.cat([self.text, self.text[old]]),
            items=numpy.concatenate([self.items, self.items[replaced]]),
            constant=torch.cat([self.constant, self.constant[old]]),
        )
        own = numpy.where(places < lengths[:, None], self.first[:, None] + places, NOTHING)
        new = own.copy()
        new[text, place] = self.count + numpy.arange(len(text))
        return reader, own, new

    @property
    def count(self) -> int:
        """How many tokens the texts have."""
        return self.directions[0].count

    def _read(
        self, sequences: Int[ndarray, "batch part place"], imposed: Float[Tensor, " token"] | None = None
    ) -> tuple[Float[Tensor, "batch part place"], Float[Tensor, "batch part classes"]]:
        """Weights and logits, texts of similar length at a time, and not all variants of a long one."""
        lengths, size = (sequences != NOTHING).sum(2), self._weight.shape[-2] - self.scoring.weight.shape[-2]
        weights = self.constant.new_zeros(sequences.shape)
        sums = self.constant.new_full((*sequences.shape[:2], size), torch.nan)
        most = 16 * CELLS // (15 + size)
        for texts in of_similar_length(torch.from_numpy(lengths.sum(1)), most):
            longest = int(lengths[texts.numpy()].max(initial=1))
            for parts in torch.arange(sequences.shape[1]).split(max(1, most // (len(texts) * longest))):
                chosen = sequences[texts.numpy()[:, None], parts.numpy(), :longest]
                scores, values = self._scores_and_values(chosen.reshape(-1, longest), imposed)
                own, at = scores.softmax(-1), (texts[:, None].to(sums.device), parts.to(sums.device))
                weights[(*at, slice(longest))] = own.unflatten(0, chosen.shape[:2])
                sums[at] = (own[:, None] @ values)[:, 0].unflatten(0, chosen.shape[:2])
        return weights, self.decoding.finish(sums.to(self.dtype))

    def _scores_and_values(
        self, sequences: Int[ndarray, "variant place"], imposed: Float[Tensor, " token"] | None
    ) -> tuple[Float[Tensor, "variant place"], Float[Tensor, "variant place values"]]:
        """Of what attention weighs in variants of texts; the score is -inf outside items."""
        tokens, size = sequences.ravel(), self.scoring.weight.shape[-2]
        read = [read_tree(direction, sequences) for direction in self.directions]
        parts = [self._mapped(*both) for both in zip(self.directions, read, strict=True)]
        # Where no direction has a state of its own, all is as in the whole text; behind its end there is nothing.
        whole = nn.functional.pad(reduce(Tensor.add, (part[: self.count] for part in parts)), (0, 0, 0, 1))
        scores, values = self.scoring.readout(whole[:, :size].clone()), whole[:, size:]
        scores[-1], scores[self._index((~self.items[: self.count]).nonzero()[0])] = -torch.inf, -torch.inf
        known = self._index(numpy.where(tokens < self.count, tokens, NOTHING) % (self.count + 1))
        scores, values = scores.index_select(0, known), values.index_select(0, known)
        rows = [states.rows.ravel() for states in read]
        is_apart = reduce(numpy.logical_or, (own >= self.count for own in rows))
        cells = (is_apart & self.items[tokens]).nonzero()[0]
        for start in range(0, len(cells), SCORED):
            some = cells[start : start + SCORED]
            chosen = (part.index_select(0, self._index(own[some])) for part, own in zip(parts, rows, strict=True))
            both, at = reduce(Tensor.add_, chosen), self._index(some)
            scores[at], values[at] = self.scoring.readout(both[:, :size]), both[:, size:]
        if imposed is not None:
            own = imposed.index_select(0, self._index(tokens.clip(0))).to(scores)
            scores = own.where(scores > -torch.inf, -torch.inf)
        return scores.view(sequences.shape), values.view(*sequences.shape, -1)

    @cached_property
    def _weight(self) -> Float[Tensor, "*batch size_and_values hidden"]:
        """From a state to the linear part of its score, and then to its value."""
        score, value = self.scoring.weight, self.decoding.weight
        value = torch.eye(score.shape[-1], dtype=score.dtype, device=score.device) if value is None else value.to(score)
        texts = score.shape[:-2] or value.shape[:-2]  # torch.broadcast_shapes imports sympy, which takes half a second
        return torch.cat([weight.expand(*texts, -1, -1) for weight in (score, value)], -2)

    def _mapped(self, direction: Direction, read: States) -> Float[Tensor, "state size_and_values"]:
        """What each state adds to the linear part of a score and to a value; the constant is with the first's."""
        at, known = self._index(read.tokens), None
        if direction is self.directions[0]:
            known = self.constant[at]
        return mapped(self._weight[..., direction.own], read.states, self.text[at], known)

    def _index(self, numbers: Int[ndarray, " some"]) -> Int[Tensor, " some"]:
        return torch.from_numpy(numbers).to(self.text.device)


@torch.no_grad()
def variant_reader(model: Model, trace: Trace, dtype: torch.dtype | None = None) -> VariantReader | None:
    """A reader of variants of these texts; None if the model is not made of Heedful's own recurrent parts.

    Args:
        dtype: precision in which variants are read; None: the precision of the trace. A step in float32 takes less than
            half the time of one in float64, and probabilities are off by less than 1e-6.
    """
    if not has_own_parts(model) or not isinstance(model.embedding, nn.Embedding):
        return None
    if type(model.encoder) is not Recurrent:
        return None
    encoder, batch = model.encoder, trace.batch
    mask, device = batch.mask, batch.mask.device
    lengths = mask.sum(1)
    text = torch.arange(len(mask), device=device).repeat_interleave(lengths)
    first = (lengths.cumsum(0) - lengths).cpu().numpy()
    # A word is projected once, however often it occurs.
    words, kind = batch.tokens[mask].unique(return_inverse=True)
    dtype = dtype or trace.logits.dtype
    vectors, hidden = model.embedding(words).to(dtype), trace.encoded.hidden[mask].to(dtype)
    middle, end = encoder.ahead.hidden_size, encoder.output_size
    ahead = _direction(encoder.ahead, vectors, kind, hidden, slice(0, middle if encoder.back else end), mask)
    directions = (ahead,)
    if encoder.back is not None:
        directions = (ahead, _direction(encoder.back, vectors, kind, hidden, slice(middle, end), mask, backward=True))
    scoring = scoring_of(model.attention, model.temperature, trace.encoded, trace.scores.to(dtype))
    decoding = decoding_of(model.head, trace.encoded)
    value_size = encoder.output_size if decoding.weight is None else decoding.weight.shape[-2]
    return VariantReader(
        directions=directions,
        scoring=scoring,
        decoding=decoding,
        first=first,
        text=text,
        items=trace.encoded.items[mask].cpu().numpy(),
        constant=nn.functional.pad(scoring.constant[mask], (0, value_size)),
        width=trace.encoded.items.shape[1],
        dtype=trace.logits.dtype,
    )


def _direction(
    network: nn.RNNBase,
    vectors: Float[Tensor, "word embed"],
    kind: Int[Tensor, " token"],
    hidden: Float[Tensor, "token hidden"],
    own: slice,
    mask: Bool[Tensor, "batch time"],
    *,
    backward: bool = False,
) -> Direction:
    step, state = recurrent_step(network, vectors), hidden[:, own]
    count, place = len(kind), torch.arange(len(kind), device=kind.device)
    lengths = mask.sum(1)
    ends = lengths.cumsum(0)
    text = torch.arange(len(mask), device=mask.device).repeat_interleave(lengths)
    mirror = (ends - lengths)[text] + ends[text] - 1 - place if backward else place
    memory = replace(step, input_gates=step.input_gates[kind[mirror]]).memory(state[mirror], mask)[mirror]
    before = place + 1 if backward else place - 1
    is_first = place == (ends - 1 if backward else ends - lengths)[text]
    return Direction(
        step=step,
        network=network,
        kind=kind,
        own=own,
        before=before.masked_fill(is_first, count).cpu().numpy(),
        state=nn.functional.pad(state, (0, 0, 0, 1)),
        memory=nn.functional.pad(memory, (0, 0, 0, 1)),
        backward=backward,
    )
