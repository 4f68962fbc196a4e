"""Whole texts as one direction of a recurrent network has read them: what their variants begin from and return to."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.linear_parts import Readout, mapped
from heedful.attribution.recurrent_step import RecurrentStep


@dataclass(frozen=True)
class Reading:
    """One direction over all tokens of some texts in reading order, text after text.

    Args:
        state, memory: of the whole text after each token; a last row more is that before any.
        before: for each token, the row of the state and memory with which it is read.
        end: the row after the last token of its text.
        scores, values: of the whole texts.
        score_weight, value_weight: from this direction's states to the linear part of the score, and to the value.
        known_score, known_value: what all else adds to these.
        imposed: a score to add to this direction's own (0, or -inf if there is no item), then the log weights imposed.
        is_lstm: whether the network is one.
    """

    step: RecurrentStep
    state: Float[Tensor, "rows units"]
    memory: Float[Tensor, "rows memory"]
    text: Int[Tensor, " token"]
    before: Int[Tensor, " token"]
    end: Int[Tensor, " token"]
    scores: Float[Tensor, "token way"]
    values: Float[Tensor, "token values"]
    score_weight: Float[Tensor, "size units"] | Float[Tensor, "batch size units"]
    value_weight: Float[Tensor, "values units"] | Float[Tensor, "batch values units"]
    known_score: Float[Tensor, "token size"]
    known_value: Float[Tensor, "token values"]
    imposed: Float[Tensor, "token way"]
    readout: Readout
    is_lstm: bool = False

    def scores_and_values(
        self, states: Float[Tensor, "row units"], tokens: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row way"], Float[Tensor, "row values"]]:
        """Of these states at these tokens: a score for each way to weigh them (-inf if no item), and the value."""
        text = self.text.index_select(0, tokens)
        projected = mapped(self.score_weight, states, text, self.known_score.index_select(0, tokens))
        scores = self.imposed.index_select(0, tokens)
        scores[:, 0] += self.readout(projected)
        return scores, mapped(self.value_weight, states, text, self.known_value.index_select(0, tokens))
