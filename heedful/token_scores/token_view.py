"""Every token of the vocabulary as a model without context sees it, and how its scores depend on the parameters."""

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
class AttentionView:
    """The attention score of every token, and its derivatives.

    Args:
        scores: a_e.
        slopes: G_e = d a_e / d h_e; a single row if it is the same for all tokens.
        kernel_product: maps x, one number per token, to K x, where K is the tangent kernel of attention's own
            parameters theta: K_eu = d a_e / d theta . d a_u / d theta. A step of theta along the gradient of
            sum over u of x_u a_u changes the scores by K x to first order.
    """

    scores: Float[Tensor, " token"]
    slopes: Float[Tensor, "slope hidden"]
    kernel_product: Callable[[Float[Tensor, " token"]], Float[Tensor, " token"]]


@dataclass(frozen=True)
class TokenView:
    """All token types, in float64.

    Args:
        matrix: M, the map before attention; None if the hidden states are the embeddings themselves.
        head: W.
        bias: the head's bias; zeros if it has none.
        polarity: s_e = W h_e.
    """

    embedded: Float[Tensor, "token embed"]
    matrix: Float[Tensor, "hidden embed"] | None
    hidden: Float[Tensor, "token hidden"]
    head: Float[Tensor, "rows hidden"]
    bias: Float[Tensor, " rows"]
    polarity: Float[Tensor, "token rows"]
    attention: AttentionView


def token_view(model: AttentionModel) -> TokenView:
    """Every token as the model sees it; raises unless the model's gradient flow is known term by term."""
    encoder, matrix = model.encoder, affine_matrix(model)
    if matrix is None and not (isinstance(encoder, TokenWise) and isinstance(encoder.layers, nn.Identity)):
        raise SettingError(
            "the flow is known term by term for the encoders 'identity' and 'affine'; this model has another "
            f"({type(encoder).__name__}). Look at the scores themselves, or train one of the two."
        )
    if not model.word_vectors.requires_grad:
        raise SettingError(
            "the flow is of embeddings that are trained; this model was made with trains_embedding=False."
        )
    head = linear_head(model)
    embedded, rows = _detached(model.word_vectors), _detached(head.weight)
    hidden = embedded if matrix is None else embedded @ _detached(matrix).T
    return TokenView(
        embedded=embedded,
        matrix=None if matrix is None else _detached(matrix),
        hidden=hidden,
        head=rows,
        bias=rows.new_zeros(len(rows)) if head.bias is None else _detached(head.bias),
        polarity=hidden @ rows.T,
        attention=_attention_view(model.attention, hidden),
    )


def _detached(weight: Tensor) -> Tensor:
    return weight.detach().double()


def _attention_view(attention: nn.Module, hidden: Float[Tensor, "token hidden"]) -> AttentionView:
    if isinstance(attention, Dot) and attention.query is not None:
        return _dot(_detached(attention.query.weight[0]), attention.scale, hidden)
    if isinstance(attention, Additive) and attention.query is None:
        inner = attention.hidden
        return _additive(_detached(inner.weight), _detached(inner.bias), _detached(attention.score.weight[0]), hidden)
    raise SettingError(
        f"attention must be 'dot' or 'additive' for its flow to be known; it was {type(attention).__name__}."
    )


def _dot(query: Float[Tensor, " hidden"], scale: float, hidden: Float[Tensor, "token hidden"]) -> AttentionView:
    """Attention a = h . V / lambda: its gradient is h / lambda to V and V / lambda to h."""
    slope = query / scale
    return AttentionView(hidden @ slope, slope[None], lambda x: hidden @ (x @ hidden) / scale**2)


def _additive(
    inner: Float[Tensor, "size hidden"],
    constant: Float[Tensor, " size"],
    outer: Float[Tensor, " size"],
    hidden: Float[Tensor, "token hidden"],
) -> AttentionView:
    """Attention a = v . tanh(A h + c).

    Its gradient is tanh to v, and with u = v (1 - tanh^2) it is u to c, u h' to A and A' u to h.
    """
    tanh = (hidden @ inner.T + constant).tanh()
    slopes = outer * (1 - tanh**2)

    def kernel_product(x: Float[Tensor, " token"]) -> Float[Tensor, " token"]:
        weighted = x[:, None] * slopes
        inner_part = hidden @ (hidden.T @ weighted) + weighted.sum(0)
        return tanh @ (x @ tanh) + (slopes * inner_part).sum(-1)

    return AttentionView(tanh @ outer, slopes @ inner, kernel_product)
