"""Attention mechanisms: from hidden states to scores to weights."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.settings import NetworkSettings
from heedful.types import Batch, Encoded


def masked_softmax(
    scores: Float[Tensor, "*batch item"], items: Bool[Tensor, "*batch item"]
) -> Float[Tensor, "*batch item"]:
    """Softmax over the real items; exactly 0 elsewhere.

    >>> masked_softmax(torch.tensor([[0.0, math.log(3), 5.0]]), torch.tensor([[True, True, False]]))
    tensor([[0.2500, 0.7500, 0.0000]])
    """
    return scores.masked_fill(~items, -torch.inf).softmax(-1)


def summing_to_one(weights: Float[Tensor, "*batch item"]) -> Float[Tensor, "*batch item"]:
    """The weights of each row divided by their sum; where all are 0 they stay 0.

    >>> summing_to_one(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    total = weights.sum(-1, keepdim=True)
    return weights / total.where(total > 0, 1.0)


class Additive(nn.Module):
    """score = v . tanh(A h + c), and with a query v . tanh(A h + c + B q); Jain and Wallace (2019), section 2.

    The papers call it tanh attention; A projects to half the width unless `attention_size` is set.
    """

    def __init__(self, width: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        size = settings.attention_size or max(1, width // 2)
        self.hidden = nn.Linear(width, size)
        self.query = nn.Linear(width, size, bias=False) if has_query else None
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, encoded: Encoded, batch: Batch) -> Float[Tensor, "batch item"]:
        """One score per item."""
        return self.of(encoded.hidden, encoded.query)

    def of(
        self, hidden: Float[Tensor, "batch item hidden"], query: Float[Tensor, "batch hidden"] | None = None
    ) -> Float[Tensor, "batch item"]:
        """One score for each hidden state."""
        projected = self.hidden(hidden)
        if self.query is not None and query is not None:
            projected = projected + self.query(query)[:, None]
        return self.score(projected.tanh())[..., 0]


class Dot(nn.Module):
    """score = h . V / lambda with a learned query V, or h . q / lambda with the encoded query.

    lambda is `scale`: the square root of the width in Jain and Wallace; what Sun and Lu (2020, section 3) study.
    """

    def __init__(self, width: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        self.scale = settings.scale or math.sqrt(width)
        self.query = None if has_query else nn.Linear(width, 1, bias=False)

    def forward(self, encoded: Encoded, batch: Batch) -> Float[Tensor, "batch item"]:
        """One score per item."""
        if self.query is not None:
            return self.query(encoded.hidden)[..., 0] / self.scale
        assert encoded.query is not None
        return (encoded.hidden @ encoded.query[..., None])[..., 0] / self.scale


class Uniform(nn.Module):
    """The same score for every item: is attention needed at all? Wiegreffe and Pinter (2019), section 3.2."""

    def __init__(self, width: int, settings: NetworkSettings, has_query: bool):
        super().__init__()

    def forward(self, encoded: Encoded, batch: Batch) -> Float[Tensor, "batch item"]:
        """Zeros, whose softmax is uniform."""
        return encoded.hidden.new_zeros(encoded.items.shape)


class Frozen(nn.Module):
    """Attention imposed from outside, untouched by training; its logarithm is the score.

    Wiegreffe and Pinter (2019, section 3.4) impose a contextual model's attention on a token-wise one.
    """

    def __init__(self, width: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        if settings.temperature != 1:
            raise SettingError(
                f"temperature must be 1 for frozen attention, which is used as given; it was {settings.temperature}."
            )

    def forward(self, encoded: Encoded, batch: Batch) -> Float[Tensor, "batch item"]:
        """The logarithm of the imposed attention."""
        if batch.imposed_attention is None:
            raise SettingError(
                "attention 'frozen' needs the attention to impose: name a reference run, or set "
                "`Batch.imposed_attention`."
            )
        return batch.imposed_attention.to(encoded.hidden).log()


ATTENTIONS: dict[str, Callable[[int, NetworkSettings, bool], nn.Module]] = {
    "additive": Additive,
    "dot": Dot,
    "uniform": Uniform,
    "frozen": Frozen,
}
