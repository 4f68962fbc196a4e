"""Variants of texts through a recurrent network: words deleted, or others in their places, at the cost of what changes.

The words of all texts, and those that take the places of others, are projected once. In each direction variants that
begin alike are read together; up to its first change a variant has the states of the whole text, and after a change it
is read until its state is that of the whole text again.
"""

from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeGuard

import numpy
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.attribution.deletion import Parts
from heedful.attribution.items import of_similar_length
from heedful.attribution.linear_parts import SCORINGS, Decoding, Scoring, decoding_of, mapped, scoring_of
from heedful.attribution.prefix_tree import NOTHING, Direction, States, read_tree
from heedful.attribution.recurrent_step import recurrent_step
from heedful.models.attention_model import AttentionModel, is_own
from heedful.models.encoders.recurrent import Recurrent
from heedful.types import Model, Trace

CELLS = 2**16
"""Places of variants that are read at a time; all variants of a text are read together."""
SCORED = 2**12
"""Places of variants that are scored at a time, so that what they need stays in the cache."""


@dataclass(frozen=True)
class Weighed:
    """What attention weighs in variants of texts.

    Args:
        scores: of which attention is the softmax; -inf where there is no item.
        values: of which the weighted sum is decoded.
    """

    scores: Float[Tensor, "variant place"]
    values: Float[Tensor, "variant place size"]


@dataclass(frozen=True)
class VariantReader:
    """Some texts, ready for variants of them to be read. Their tokens are numbered through, text after text.

    Args:
        first: the number of each text's first token.
        text: the text of each token; after those of the texts stand tokens that may take the places of others.
        items: whether attention weighs it.
        constant: what the linear part of its score has beside the state's.
        width: how many places for items the texts have.
    """

    directions: tuple[Direction, ...]
    scoring: Scoring
    decoding: Decoding
    first: Int[ndarray, " batch"]
    text: Int[Tensor, " token"]
    items: Bool[ndarray, " token"]
    constant: Float[Tensor, "token size"]
    width: int

    @torch.no_grad()
    def logits(self, sequences: Int[ndarray, "batch part place"]) -> Float[Tensor, "batch part classes"]:
        """Logits of variants, each given by its tokens; NaN where nothing is left to weigh.

        Args:
            sequences: numbers of tokens, in the order of the text; `NOTHING` behind the end of a variant.
        """
        return self._read(sequences)[1]

    @torch.no_grad()
    def attention_and_logits(
        self, vectors: Float[Tensor, "changed embed"], changed: Bool[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch classes"]]:
        """What becomes of the texts where the changed tokens have these vectors."""
        text, place = (index.cpu().numpy() for index in changed.nonzero(as_tuple=True))
        replaced = self.first[text] + place
        lengths = numpy.diff(self.first, append=self.count)
        places = numpy.arange(self.width)
        sequences = numpy.where(places < lengths[:, None], self.first[:, None] + places, NOTHING)
        sequences[text, place] = self.count + numpy.arange(len(text))
        attention, logits = self._with_tokens(vectors, replaced)._read(sequences[:, None])
        return attention[:, 0], logits[:, 0]

    @torch.no_grad()
    def logits_of_replaced(
        self, vectors: Float[Tensor, "changed embed"], changed: Bool[Tensor, "batch time"], keep: Parts
    ) -> Float[Tensor, "batch part classes"]:
        """Logits of texts in which the changed tokens have these vectors, but for those that a part keeps.

        Args:
            changed: True on the tokens that have a vector; texts without any are not read.
        """
        text, place = (index.cpu().numpy() for index in changed.nonzero(as_tuple=True))
        replaced = self.first[text] + place
        lengths = numpy.diff(self.first, append=self.count)
        places = numpy.arange(self.width)
        own = numpy.where(places < lengths[:, None], self.first[:, None] + places, NOTHING)
        own[~changed.any(1).cpu().numpy()] = NOTHING
        new = own.copy()
        new[text, place] = self.count + numpy.arange(len(text))
        sequences = numpy.where(keep.cpu().numpy(), own[:, None], new[:, None])
        return self._with_tokens(vectors, replaced).logits(sequences)

    def _with_tokens(self, vectors: Float[Tensor, "new embed"], replaced: Int[ndarray, " new"]) -> "VariantReader":
        """The same with further tokens, which may take the places of the given ones."""
        old = torch.from_numpy(replaced).to(self.text.device)
        return replace(
            self,
            directions=tuple(direction.with_tokens(vectors) for direction in self.directions),
            text=torch.cat([self.text, self.text[old]]),
            items=numpy.concatenate([self.items, self.items[replaced]]),
            constant=torch.cat([self.constant, self.constant[old]]),
        )

    @property
    def count(self) -> int:
        """How many tokens the texts have."""
        return len(self.directions[0].state) - 1

    def _read(
        self, sequences: Int[ndarray, "batch part place"]
    ) -> tuple[Float[Tensor, "batch part place"], Float[Tensor, "batch part classes"]]:
        """Weights and logits, texts of similar length at a time."""
        lengths = (sequences != NOTHING).sum(2)
        weights = self.constant.new_zeros(sequences.shape)
        sums = self.constant.new_full((*sequences.shape[:2], self._value_size()), torch.nan)
        for some in of_similar_length(torch.from_numpy(lengths.sum(1)), CELLS):
            chosen = sequences[some.numpy(), :, : max(1, lengths[some.numpy()].max(initial=0))]
            weighed = self._weighed(chosen)
            own = weighed.scores.unflatten(0, chosen.shape[:2]).softmax(-1)
            some = some.to(own.device)
            weights[some, :, : own.shape[2]] = own
            sums[some] = (own.flatten(0, 1)[:, None] @ weighed.values)[:, 0].unflatten(0, chosen.shape[:2])
        return weights, self.decoding.finish(sums[None])[0]

    def _weighed(self, sequences: Int[ndarray, "batch part place"]) -> Weighed:
        rows = sequences.reshape(-1, sequences.shape[2])
        read = [read_tree(direction, rows) for direction in self.directions]
        parts = [self._mapped(direction, states) for direction, states in zip(self.directions, read, strict=True)]
        cells = ((rows != NOTHING) & self.items[rows.clip(0)]).ravel().nonzero()[0]
        scores = self.constant.new_full((rows.size,), -torch.inf)
        values = parts[0][1].new_zeros(rows.size, parts[0][1].shape[1])
        for start in range(0, len(cells), SCORED):
            some = cells[start : start + SCORED]
            at = torch.from_numpy(some).to(self.text.device)
            chosen = [torch.from_numpy(states.rows.ravel()[some]).to(self.text.device) for states in read]
            projected, value = (
                reduce(Tensor.add_, (part[kind].index_select(0, row) for part, row in zip(parts, chosen, strict=True)))
                for kind in range(2)
            )
            scores[at], values[at] = self.scoring.readout(projected), value
        return Weighed(scores.view(rows.shape), values.view(*rows.shape, -1))

    def _mapped(
        self, direction: Direction, read: States
    ) -> tuple[Float[Tensor, "rows size"], Float[Tensor, "rows values"]]:
        """What each state adds to the linear part of a score, and to a value; the constant is with the first's."""
        tokens = torch.from_numpy(read.tokens).to(self.text.device)
        text, known = self.text[tokens], self.constant[tokens] if direction is self.directions[0] else None
        score = mapped(self.scoring.weight[..., direction.own], read.states, text, known)
        if self.decoding.weight is not None:
            return score, mapped(self.decoding.weight[..., direction.own], read.states, text)
        return score, nn.functional.pad(read.states, (direction.own.start, self._value_size() - direction.own.stop))

    def _value_size(self) -> int:
        weight = self.decoding.weight
        return self.directions[-1].own.stop if weight is None else weight.shape[-2]


def has_variant_reader(model: Model) -> TypeGuard[AttentionModel]:
    """Whether the model is made of Heedful's own recurrent parts, so that variants of texts can be read."""
    if not is_own(model) or not isinstance(model.embedding, nn.Embedding):
        return False
    return type(model.encoder) is Recurrent and type(model.attention) in SCORINGS


@torch.no_grad()
def variant_reader(model: Model, trace: Trace) -> VariantReader | None:
    """A reader of variants of these texts; None where the model is not made of Heedful's own recurrent parts."""
    if not has_variant_reader(model):
        return None
    assert isinstance(model.encoder, Recurrent)
    encoder, batch = model.encoder, trace.batch
    mask, device = batch.mask, batch.mask.device
    lengths = mask.sum(1)
    text = torch.arange(len(mask), device=device).repeat_interleave(lengths)
    first = (lengths.cumsum(0) - lengths).cpu().numpy()
    # A word is projected once, however often it occurs.
    words, kind = batch.tokens[mask].unique(return_inverse=True)
    vectors, hidden = model.embedding(words), trace.encoded.hidden[mask]
    middle, end = encoder.ahead.hidden_size, encoder.output_size
    ahead = _direction(encoder.ahead, vectors, kind, hidden, slice(0, middle if encoder.back else end), mask)
    directions = (ahead,)
    if encoder.back is not None:
        directions = (ahead, _direction(encoder.back, vectors, kind, hidden, slice(middle, end), mask, backward=True))
    scoring = scoring_of(model.attention, model.temperature, trace.encoded, trace.scores)
    return VariantReader(
        directions=directions,
        scoring=scoring,
        decoding=decoding_of(model.head, trace.encoded),
        first=first,
        text=text,
        items=trace.encoded.items[mask].cpu().numpy(),
        constant=scoring.constant[mask],
        width=trace.encoded.items.shape[1],
    )


def in_precision(reader: VariantReader, model: AttentionModel, trace: Trace, precision: torch.dtype) -> VariantReader:
    """The same reader in another precision; its logits stay in the model's own."""
    scoring = scoring_of(model.attention, model.temperature, trace.encoded, trace.scores.to(precision))
    return replace(
        reader,
        directions=tuple(direction.to(precision) for direction in reader.directions),
        scoring=scoring,
        decoding=reader.decoding.of_sums_in(precision, trace.logits.dtype),
        constant=scoring.constant[trace.batch.mask],
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
