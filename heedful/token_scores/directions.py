"""The directions that attention (V) and the head (W) look for in the space of the hidden states."""

from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.models.attention import Additive, Dot
from heedful.models.attention_model import AttentionModel
from heedful.models.encoders.tokenwise import TokenWise
from heedful.models.heads import LinearHead
from heedful.types import Model


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
    if not isinstance(model, AttentionModel):
        raise SettingError(f"V and W are known of Heedful's own models; this one is a {type(model).__name__}.")
    return model
