"""A model of which only the protocol's four verbs can be seen."""

from dataclasses import dataclass

from heedful.types import Batch, Encoded, Model


@dataclass(frozen=True)
class FourVerbs:
    """A model seen through the four verbs alone: neither a module nor known to be linear."""

    model: Model

    def embed(self, batch: Batch):
        return self.model.embed(batch)

    def encode(self, embedded, batch: Batch):
        return self.model.encode(embedded, batch)

    def attend(self, encoded: Encoded, batch: Batch):
        return self.model.attend(encoded, batch)

    def decode(self, encoded: Encoded, attention):
        return self.model.decode(encoded, attention)
