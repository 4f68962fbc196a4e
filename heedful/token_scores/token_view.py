"""Every token of the vocabulary as a model without context sees it, and how its scores hang on the parameters."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.models.attention import Additive, Dot
from heedful.models.attention_model import AttentionModel
from heedful.models.encoders.tokenwise import TokenWise
from heedful.token_scores.directions import affine_matrix, linear_head


@dataclass(frozen=True)
class Reading:
    """What attention makes of each state.

    Args:
        scores: a_e.
        slopes: G_e = d a_e / d h_e; a single row where it is the same for all tokens.
        moves: from a pull on each token's score, what it does to all scores by moving attention's own parameters:
            sum over tokens u of pull(u) (d a_e / d theta . d a_u / d theta).
    """

    scores: Float[Tensor, " token"]
    slopes: Float[Tensor, "slope hidden"]
    moves: Callable[[Float[Tensor, " token"]], Float[Tensor, " token"]]


@dataclass(frozen=True)
class Sight:
    """All token types, in float64.

    Args:
        matrix: M, the map before attention; None where states are the embeddings themselves.
        head: W.
        bias: the head's, zeros if it has none.
        polarity: s_e = W h_e.
    """

    embedded: Float[Tensor, "token embed"]
    matrix: Float[Tensor, "hidden embed"] | None
    hidden: Float[Tensor, "token hidden"]
    head: Float[Tensor, "rows hidden"]
    bias: Float[Tensor, " rows"]
    polarity: Float[Tensor, "token rows"]
    reading: Reading


def sight_of(model: AttentionModel) -> Sight:
    """What the model makes of each token; refused unless all that training does to a token is known term by term."""
    encoder, matrix = model.encoder, affine_matrix(model)
    if matrix is None and not (isinstance(encoder, TokenWise) and isinstance(encoder.layers, nn.Identity)):
        raise SettingError(
            "the flow is known term by term for the encoders 'identity' and 'affine'; this model has another "
            f"({type(encoder).__name__}). Look at the scores themselves, or train one of the two."
        )
    if not model.embedding.weight.requires_grad:
        raise SettingError(
            "the flow is of embeddings that are trained; this model was made with trains_embedding=False."
        )
    head = linear_head(model)
    embedded, rows = _fixed(model.embedding.weight), _fixed(head.weight)
    hidden = embedded if matrix is None else embedded @ _fixed(matrix).T
    return Sight(
        embedded=embedded,
        matrix=None if matrix is None else _fixed(matrix),
        hidden=hidden,
        head=rows,
        bias=rows.new_zeros(len(rows)) if head.bias is None else _fixed(head.bias),
        polarity=hidden @ rows.T,
        reading=_reading(model.attention, hidden),
    )


def _fixed(weight: Tensor) -> Tensor:
    return weight.detach().double()


def _reading(attention: nn.Module, hidden: Float[Tensor, "token hidden"]) -> Reading:
    if isinstance(attention, Dot) and attention.query is not None:
        return _dot(_fixed(attention.query.weight[0]), attention.scale, hidden)
    if isinstance(attention, Additive) and attention.query is None:
        inner = attention.hidden
        return _additive(_fixed(inner.weight), _fixed(inner.bias), _fixed(attention.score.weight[0]), hidden)
    raise SettingError(
        f"attention must be 'dot' or 'additive' for its flow to be known; it was {type(attention).__name__}."
    )


def _dot(query: Float[Tensor, " hidden"], scale: float, hidden: Float[Tensor, "token hidden"]) -> Reading:
    """Attention a = h . V / lambda: its gradient is h / lambda to V and V / lambda to h."""
    slope = query / scale
    return Reading(hidden @ slope, slope[None], lambda pull: hidden @ (pull @ hidden) / scale**2)


def _additive(
    inner: Float[Tensor, "size hidden"],
    constant: Float[Tensor, " size"],
    outer: Float[Tensor, " size"],
    hidden: Float[Tensor, "token hidden"],
) -> Reading:
    """Attention a = v . tanh(A h + c).

    Its gradient is tanh to v, and with u = v (1 - tanh^2) it is u to c, u h' to A and A' u to h.
    """
    bent = (hidden @ inner.T + constant).tanh()
    slopes = outer * (1 - bent**2)

    def moves(pull: Float[Tensor, " token"]) -> Float[Tensor, " token"]:
        pulled = pull[:, None] * slopes
        inner_moves = hidden @ (hidden.T @ pulled) + pulled.sum(0)
        return bent @ (pull @ bent) + (slopes * inner_moves).sum(-1)

    return Reading(bent @ outer, slopes @ inner, moves)
