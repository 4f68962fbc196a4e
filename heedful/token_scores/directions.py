"""What attention and the head look for: V and W, as directions in the space of the states."""

from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.models.attention import Additive, Dot
from heedful.models.attention_model import AttentionModel
from heedful.models.encoders.tokenwise import TokenWise
from heedful.models.heads import LinearHead
from heedful.types import Model


def attention_direction(model: Model) -> Float[Tensor, " hidden"]:
    """V: where a state must move for its attention score to grow.

    Dot attention scores h . V / lambda, and V is its learnt query. Additive attention scores v . tanh(A h + c), and
    V = A' v is the direction for states so small that tanh is straight (Sun and Lu 2020, supplementary material).
    """
    attention = _ours(model).attention
    if isinstance(attention, Dot) and attention.query is not None:
        return attention.query.weight[0]
    if isinstance(attention, Additive):
        return attention.score.weight[0] @ attention.hidden.weight
    raise SettingError(
        "attention must be 'additive', or 'dot' without a query, to have a direction V of its own; "
        f"it was {type(attention).__name__.lower()}. Choose one of them, on texts without a query."
    )


def linear_head(model: Model) -> nn.Linear:
    """The layer that turns a state into logits; refused where there is no such layer for the state alone."""
    model = _ours(model)
    if not isinstance(model.head, LinearHead) or model.query_encoder is not None:
        raise SettingError(
            "the head must be 'linear', on texts without a query, to have a direction W in the space of the states; "
            f"it was a {type(model.head).__name__}{'' if model.query_encoder is None else ' with a query'}."
        )
    return model.head.linear


def head_rows(model: Model) -> Float[Tensor, "rows hidden"]:
    """W: where a state must move for the logits to grow; one row for two labels, for more one a label."""
    return linear_head(model).weight


def affine_matrix(model: Model) -> Float[Tensor, "hidden embed"] | None:
    """M, where the encoder is h = M e; None for every other encoder."""
    encoder = _ours(model).encoder
    layers = encoder.layers if isinstance(encoder, TokenWise) else None
    return layers.weight if isinstance(layers, nn.Linear) else None


def head_alignment(model: Model) -> Float[Tensor, " rows"]:
    """V . W: how far attention looks where the head does; one number for two labels, for more one a label.

    Where it is not 0, what makes a word more positive makes it more attended and what makes it more negative less, or
    the other way round: terms A and D of Sun and Lu (2020, section 4).
    """
    return head_rows(model) @ attention_direction(model)


def _ours(model: Model) -> AttentionModel:
    if not isinstance(model, AttentionModel):
        raise SettingError(f"V and W are known of Heedful's own models; this one is a {type(model).__name__}.")
    return model
