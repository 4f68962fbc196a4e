"""Leave-one-out through recurrent networks: nothing changes before the gap, and little for long after it.

In the forward direction the text without item t is the text itself up to t; from there on it is a variant that reads
the same inputs, until its state is that of the whole text again. The backward direction mirrors this, so one half of a
bidirectional state is always that of the whole text. All tokens of all texts stand in one row, text after text.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.attribution.linear_parts import Scoring, mapped
from heedful.attribution.recurrent_step import recurrent_step
from heedful.attribution.reuse.encoder_inputs import EncoderInputs
from heedful.attribution.reuse.reading import read_variants
from heedful.attribution.reuse.sums import joined, onward
from heedful.attribution.reuse.whole_texts import Reading
from heedful.models.encoders.recurrent import Recurrent

VARIANTS = 512
"""Shortened texts run side by side: enough for fast matrix products, few enough to stay in cache."""

TOKENS = 2**13
"""Tokens, over all texts, whose projections are kept at a time."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of all texts in reading order, text after text.

    Args:
        text: the number of each token's text.
        end: the row after the last token of its text.
        items: whether attention weighs it.
        constant: what the score's linear part has beside the state's.
        scores: of the whole texts, by attention and by each imposed weighting; -inf where there is no item.
        value_weight: from a state to its value, of which there are weighted sums.
        values: of the whole texts.
    """

    mask: Bool[Tensor, "batch time"]
    text: Int[Tensor, " token"]
    end: Int[Tensor, " token"]
    vectors: Float[Tensor, "token embed"]
    hidden: Float[Tensor, "token hidden"]
    items: Bool[Tensor, " token"]
    scoring: Scoring
    constant: Float[Tensor, "token size"]
    scores: Float[Tensor, "token way"]
    value_weight: Float[Tensor, "values hidden"] | Float[Tensor, "batch values hidden"]
    values: Float[Tensor, "token values"]

    def mirror(self) -> Int[Tensor, " token"]:
        """The row of each token when every text is read backward: its own inverse."""
        begin = self.end - self.mask.sum(1)[self.text]
        return begin + self.end - 1 - torch.arange(len(self.end), device=self.end.device)

    def backward(self) -> "Tokens":
        """Every text read backward."""
        mirror = self.mirror()
        return replace(
            self,
            vectors=self.vectors[mirror],
            hidden=self.hidden[mirror],
            items=self.items[mirror],
            constant=self.constant[mirror],
            scores=self.scores[mirror],
            values=self.values[mirror],
        )


def contexts(encoder: Recurrent, inputs: EncoderInputs, most: int = VARIANTS) -> Float[Tensor, "way batch item values"]:
    """The weighted sum of values without each item in turn (NaN if nothing is left): by attention, by imposed weights.

    Args:
        most: how many shortened texts are run side by side.
    """
    tokens = _tokens(inputs)
    back, mirror = tokens.backward(), tokens.mirror()
    middle, end = encoder.ahead.hidden_size, encoder.output_size
    left_out = inputs.items if inputs.left_out is None else inputs.left_out & inputs.items
    gaps = left_out[inputs.mask].nonzero()[:, 0]
    if encoder.back is None:
        after = read_variants(_reading(encoder.ahead, tokens, slice(0, end), slice(0, 0)), gaps, most)
        later = torch.arange(len(mirror), device=mirror.device) + 1
        before = onward(back.scores, back.values, back.end).select(later.where(later < back.end, len(mirror)))
    else:
        ahead, behind = slice(0, middle), slice(middle, end)
        after = read_variants(_reading(encoder.ahead, tokens, ahead, behind), gaps, most)
        before = read_variants(_reading(encoder.back, back, behind, ahead), mirror[gaps], most)
    sums = joined(after.select(gaps), before.select(mirror[gaps]))
    padded = sums.value.new_full((*inputs.mask.shape, *sums.value.shape[1:]), torch.nan)
    padded[left_out] = sums.value / sums.total[..., None]
    return padded.permute(2, 0, 1, 3)


def _tokens(inputs: EncoderInputs) -> Tokens:
    mask, hidden = inputs.mask, inputs.hidden[inputs.mask]
    text = torch.arange(len(mask), device=mask.device)[:, None].expand_as(mask)[mask]
    scores = torch.stack([inputs.scores.masked_fill(~inputs.items, -torch.inf), *inputs.imposed], -1)
    weight = inputs.value_weight
    if weight is None:
        weight = torch.eye(hidden.shape[-1], dtype=hidden.dtype, device=hidden.device)
    return Tokens(
        mask=mask,
        text=text,
        end=mask.sum(1).cumsum(0)[text],
        vectors=inputs.vectors[mask],
        hidden=hidden,
        items=inputs.items[mask],
        scoring=inputs.scoring,
        constant=inputs.scoring.constant[mask],
        scores=scores[mask],
        value_weight=weight,
        values=mapped(weight, hidden, text),
    )


def _reading(network: nn.RNNBase, tokens: Tokens, own: slice, rest: slice) -> Reading:
    """One direction, whose states are the columns `own`; the other's, if there is one, are the columns `rest`."""
    step, state = recurrent_step(network, tokens.vectors), tokens.hidden[:, own].contiguous()
    memory, others, text = step.memory(state, tokens.mask), tokens.hidden[:, rest], tokens.text
    score_weight, value_weight = tokens.scoring.weight, tokens.value_weight
    is_first = nn.functional.pad(text[1:] != text[:-1], (1, 0), value=True)
    place = torch.arange(text.shape[0], device=text.device)
    barred = torch.zeros_like(tokens.scores[:, 0]).masked_fill_(~tokens.items, -torch.inf)
    return Reading(
        step=step,
        state=nn.functional.pad(state, (0, 0, 0, 1)),
        memory=nn.functional.pad(memory, (0, 0, 0, 1)),
        text=text,
        before=(place - 1).masked_fill_(is_first, text.shape[0]),
        end=tokens.end,
        scores=tokens.scores,
        values=tokens.values,
        score_weight=score_weight[..., own],
        value_weight=value_weight[..., own],
        known_score=mapped(score_weight[..., rest], others, text) + tokens.constant,
        known_value=mapped(value_weight[..., rest], others, text),
        imposed=torch.cat([barred[:, None], tokens.scores[:, 1:]], 1),
        readout=tokens.scoring.readout,
        is_lstm=type(network) is nn.LSTM,
    )
