"""What a model can do beyond the four verbs: the one place outside this folder's classes that looks at them."""

from heedful.models.attention_model import AttentionModel, LinearAttentionModel
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.types import LinearModel


def linear(model: object) -> LinearModel | None:
    """The model, if all after attention is linear: exact answers are then possible."""
    return model if isinstance(model, LinearModel) else None


def several_heads(model: object) -> TransformerModel | None:
    """The model, if it is a transformer: several heads weigh the words, and what is shown is their mean."""
    return model if isinstance(model, TransformerModel) else None


def own_parts(model: object) -> AttentionModel | None:
    """The model, if it is exactly one of Heedful's own, with known parts; one derived from it may do anything."""
    return model if type(model) is AttentionModel else own_linear(model)


def own_linear(model: object) -> LinearAttentionModel | None:
    """The model, if it is exactly Heedful's own with a linear head."""
    return model if type(model) is LinearAttentionModel else None
