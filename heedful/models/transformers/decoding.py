"""What a transformer answers under other attention: by its last block alone, or by running the whole model again."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.transformers.changes import Change, Imposing, Places
from heedful.models.transformers.network import Inputs, Network
from heedful.models.transformers.one_row import OneRow, RowState
from heedful.models.transformers.recording import Reading, Shown

ROWS = 2**11
"""Rows sent through the last block at once."""
TOKENS = 2**13
"""Tokens sent through the whole model at once."""
WEIGHTS = 2**21
"""Weights that a head of all of these may have: long texts have the square of their length."""


@dataclass(frozen=True)
class EncodedPart:
    """Texts of a batch that were run together.

    Args:
        texts: which rows of the batch they are.
        state: what the one-row decoder needs; None where the whole model is run for each other attention.
    """

    texts: Int[Tensor, " some"]
    inputs: Inputs
    reading: Reading
    shown: Shown
    logits: Float[Tensor, "some classes"]
    state: RowState | None

    def text(self, number: int, count: int) -> "EncodedPart":
        """The text of that number in the batch, of which it has so many words."""
        place = (self.texts == number).nonzero()[:, 0]
        inputs, reading = self.inputs.select(place), self.reading
        time = inputs.tokens.shape[1]
        state = None if self.state is None else replace(self.state.select(place), count=count)
        return EncodedPart(
            texts=torch.zeros_like(place),
            inputs=inputs,
            reading=Reading(
                inputs.mask,
                None if reading.rows is None else reading.rows[place],
                reading.owner[place, :time],
                reading.items[place, :count],
            ),
            shown=Shown(self.shown.words[place, :, :count], self.shown.special[place]),
            logits=self.logits[place],
            state=state,
        )


@dataclass(frozen=True)
class Decoder:
    """How one part of a batch is answered for.

    Args:
        places: where weights are changed.
        is_held: whether the weights count as constants, of which no derivative is taken.
    """

    network: Network
    one_row: OneRow | None
    part: EncodedPart
    places: Places
    is_held: bool = True

    def logits(self, change: Change) -> Float[Tensor, "variant classes"]:
        """Logits under a change of each text, or several of each: those of the first text come first."""
        batch = len(self.part.texts)
        several = len(change.factor) // batch
        by_row = self.one_row is not None and self.part.state is not None
        time = self.part.inputs.tokens.shape[1]
        most = ROWS if by_row else max(1, min(TOKENS // time, WEIGHTS // time**2))
        answers = []
        for texts in torch.arange(batch, device=change.factor.device).split(max(1, most // several)):
            variants = torch.arange(several, device=texts.device).split(most)
            answer = [self._some(texts, change.select(_rows(texts, some, several))) for some in variants]
            answers.append(torch.cat([part.unflatten(0, (len(texts), -1)) for part in answer], 1).flatten(0, 1))
        return torch.cat(answers)

    def _some(self, texts: Int[Tensor, " some"], change: Change) -> Float[Tensor, "variant classes"]:
        if self.one_row is not None and self.part.state is not None:
            state = self.part.state.held if self.is_held else self.part.state
            state = state if len(texts) == len(self.part.texts) else state.select(texts)
            return self.one_row.logits(state, change)
        each = texts.repeat_interleave(len(change.factor) // len(texts))
        places, owner = self.places.select(each), self.part.reading.owner[each]
        listener = Imposing(change, places, owner, self.network.dtype, self.is_held)
        inputs = self.part.inputs
        embedded = None if inputs.embedded is None else inputs.embedded[each]
        return self.network.logits(Inputs(inputs.tokens[each], inputs.mask[each], embedded), listener).double()


def _rows(texts: Int[Tensor, " some"], variants: Int[Tensor, " several"], count: int) -> Int[Tensor, " rows"]:
    """Where these variants of these texts stand among all, of which each text has `count`."""
    return (texts[:, None] * count + variants).flatten()
