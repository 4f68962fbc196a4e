"""Every token of the vocabulary as a model without context sees it, and how its scores depend on the parameters."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import one_hot

from heedful.data.batching import EncodedSplit, read
from heedful.errors import SettingError
from heedful.models.abilities import own_parts
from heedful.models.attention import Additive, Dot, masked_softmax
from heedful.models.attention_model import AttentionModel, LinearHead, with_both_classes
from heedful.models.encoders.encoder import TokenWise
from heedful.types import Batch, Model

# The directions that attention (V) and the head (W) look for in the space of the hidden states.


def attention_direction(model: Model) -> Float[Tensor, " hidden"]:
    """V, the direction in which a hidden state's attention score grows.

    Dot attention scores h . V / lambda, where V is its learnt query. Additive attention scores v . tanh(A h + c), where
    V = A' v is the direction for states small enough that tanh is linear (Sun and Lu 2020, supplementary material).
    """
    attention = _attention_model(model).attention
    if isinstance(attention, Dot) and attention.query is not None:
        return attention.query.weight[0]
    if isinstance(attention, Additive):
        return attention.score.weight[0] @ attention.hidden.weight
    raise SettingError(
        "attention must be 'additive', or 'dot' without a query, to have a direction V of its own; "
        f"it was {type(attention).__name__.lower()}. Choose one of them, on texts without a query."
    )


def linear_head(model: Model) -> nn.Linear:
    """The layer that maps a hidden state to logits; raises if the logits depend on more than that linear layer."""
    model = _attention_model(model)
    if not isinstance(model.head, LinearHead) or model.query_encoder is not None:
        raise SettingError(
            "the head must be 'linear', on texts without a query, to have a direction W in the space of the states; "
            f"it was a {type(model.head).__name__}{'' if model.query_encoder is None else ' with a query'}."
        )
    return model.head.linear


def head_rows(model: Model) -> Float[Tensor, "rows hidden"]:
    """W, the directions in which the logits grow: a single row for two labels, one row per label for more."""
    return linear_head(model).weight


def affine_matrix(model: Model) -> Float[Tensor, "hidden embed"] | None:
    """M, if the encoder is h = M e; None for every other encoder."""
    encoder = _attention_model(model).encoder
    layers = encoder.layers if isinstance(encoder, TokenWise) else None
    return layers.weight if isinstance(layers, nn.Linear) else None


def head_alignment(model: Model) -> Float[Tensor, " rows"]:
    """V . W, how far attention and head look in the same direction: one number for two labels, one per label for more.

    If it is positive, training that makes a word more positive also raises its attention score, and training that makes
    a word more negative lowers it; if it is negative, the reverse: terms A and D of Sun and Lu (2020, section 4).
    """
    return head_rows(model) @ attention_direction(model)


def _attention_model(model: Model) -> AttentionModel:
    if (own := own_parts(model)) is None:
        raise SettingError(f"V and W are known of Heedful's own models; this one is a {type(model).__name__}.")
    return own


# Minus the gradient of the loss to each token's polarity and attention score, summed over the texts it occurs in.

SIZE = 256
"""Batch size: texts whose gradients are summed at once."""


@dataclass(frozen=True)
class TokenGradients:
    """Minus the gradients of a loss to the two scores of each token, summed over the token's occurrences.

    Minus, so that they point where gradient descent goes.

    Args:
        polarity: to its polarity at fixed attention: Sun and Lu's (2020) pi(e), equation 16.
        score: to its attention score: their rho(e), equation 20.
    """

    polarity: Float[Tensor, "token rows"]
    score: Float[Tensor, " token"]


def token_gradients(
    split: EncodedSplit,
    polarity: Float[Tensor, "token rows"],
    scores: Float[Tensor, " token"],
    bias: Float[Tensor, " rows"],
) -> TokenGradients:
    """Minus the gradients of the summed loss of a split to the polarity and attention score of every token.

    For a model without context: a token has the same two scores in every text, so they are looked up and the model need
    not be run.
    """
    to_polarity, to_score = torch.zeros_like(polarity), torch.zeros_like(scores)
    for batch in read(split, SIZE, scores.device):
        attention = masked_softmax(scores[batch.tokens], batch.attendable_mask)
        item_polarity = polarity[batch.tokens]
        errors = _errors(batch, (attention[:, None] @ item_polarity)[:, 0] + bias)
        item_to_polarity, item_to_score = item_gradients(attention, item_polarity, errors)
        tokens = batch.tokens[batch.attendable_mask]
        to_polarity.index_add_(0, tokens, item_to_polarity[batch.attendable_mask])
        to_score.index_add_(0, tokens, item_to_score[batch.attendable_mask])
    return TokenGradients(to_polarity, to_score)


def item_gradients(
    attention: Float[Tensor, "batch item"],
    polarity: Float[Tensor, "batch item rows"],
    errors: Float[Tensor, "batch rows"],
) -> tuple[Float[Tensor, "batch item rows"], Float[Tensor, "batch item"]]:
    """Minus the gradients of each text's loss to the polarities and to the attention scores of its items.

    alpha_j r, and alpha_j r . (s_j - s) with s = sum over items of alpha_j s_j; the latter sum to 0 over the items.

    Args:
        errors: r, minus the gradient of the loss to the logits.

    >>> attention, polarity = torch.tensor([[0.75, 0.25]]), torch.tensor([[[1.0], [-1.0]]])
    >>> item_gradients(attention, polarity, torch.tensor([[0.4]]))  # s = 0.5
    (tensor([[[0.3000], [0.1000]]]), tensor([[ 0.1500, -0.1500]]))
    """
    mean = attention[:, None] @ polarity
    to_polarity = attention[..., None] * errors[:, None]
    return to_polarity, (to_polarity * (polarity - mean)).sum(-1)


def _errors(batch: Batch, logits: Float[Tensor, "batch rows"]) -> Float[Tensor, "batch rows"]:
    """Minus the gradient of each text's -ln p(label) to its logits: onehot(label) - p."""
    p = with_both_classes(logits).softmax(-1)
    return (one_hot(batch.labels, p.shape[1]) - p)[:, -logits.shape[1] :]


@dataclass(frozen=True)
class AttentionView:
    """The attention score of every token, divided by the temperature, and its derivatives.

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
        attention=_divided(_attention_view(model.attention, hidden), model.temperature),
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


def _divided(view: AttentionView, by: float) -> AttentionView:
    return AttentionView(view.scores / by, view.slopes / by, lambda x: view.kernel_product(x) / by**2)


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
