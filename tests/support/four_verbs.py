"""Models of which only the protocol's four verbs can be seen, or which claim more than they keep."""


class FourVerbs:
    """A model seen through the protocol's four verbs alone: it is not taken for linear, and is answered by search."""

    def __init__(self, model):
        self.model = model

    def embed(self, batch):
        return self.model.embed(batch)

    def encode(self, embedded, batch):
        return self.model.encode(embedded, batch)

    def attend(self, encoded, batch):
        return self.model.attend(encoded, batch)

    def decode(self, encoded, attention):
        return self.model.decode(encoded, attention)


class Relu:
    """Defines item logits, and has a ReLU between attention and head all the same."""

    def __init__(self, model):
        self.model = model
        self.embed, self.encode, self.attend = model.embed, model.encode, model.attend
        self.item_logits, self.empty_logits = model.item_logits, model.empty_logits

    def decode(self, encoded, attention):
        context = (attention[:, None] @ encoded.hidden)[:, 0].relu()
        return self.model.head(context, encoded.query)
