"""States of a pretrained transformer as they are: what its words are read as is the model's embedding."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.models.encoders.pooling import masked_mean
from heedful.settings import NetworkSettings


class PretrainedStates(nn.Module):
    """The last states of a Hugging Face model, a folder or a name: frozen, or fine-tuned with the rest.

    h_t = e_t, as the model's word vectors are these states. They depend on the whole text already, so a word cannot be
    left out of them: whatever deletes a word has the transformer read the shortened text.
    """

    token_wise = False

    def __init__(self, embed_size: int, settings: NetworkSettings):
        super().__init__()
        self.output_size = embed_size

    def forward(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        return embedded

    def summary(
        self, hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch hidden"]:
        """The mean of the text's states."""
        return masked_mean(hidden, mask)
