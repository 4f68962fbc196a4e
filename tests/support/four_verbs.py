"""Models of which only the protocol's four verbs can be seen, or which claim more than they keep."""

from heedful.models.linearity import FourVerbs

__all__ = ["FourVerbs", "Relu"]


class Relu:
    """Defines item logits, and has a ReLU between attention and head all the same."""

    def __init__(self, model):
        self.model = model
        self.embed, self.encode, self.attend = model.embed, model.encode, model.attend
        self.item_logits, self.empty_logits = model.item_logits, model.empty_logits

    def decode(self, encoded, attention):
        context = (attention[:, None] @ encoded.hidden)[:, 0].relu()
        return self.model.head(context, encoded.query)
