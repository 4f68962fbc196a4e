"""Sentences as items: words are encoded and attended to within a sentence, then sentences are encoded."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.models.attention import Additive, masked_softmax
from heedful.models.encoders.encoder import Encoder
from heedful.settings import NetworkSettings

CHUNK = 64
"""Sentences whose words are encoded together."""


class Hierarchical(nn.Module):
    """The state of each sentence: attention over its encoded words, then an encoder over the sentences.

    Yang et al. (2016) as built by Serrano and Smith (2019, section 3): the final attention, which the tests look at, is
    over sentences and belongs to the model; the one over words, in here, is additive.
    """

    def __init__(self, words: Encoder, sentences: Encoder, settings: NetworkSettings):
        super().__init__()
        self.words = words
        self.word_attention = Additive(words.output_size, settings, has_query=False)
        self.dropout = nn.Dropout(settings.sentence_dropout)
        self.sentences = sentences
        self.output_size = sentences.output_size

    def forward(
        self,
        embedded: Float[Tensor, "batch time embed"],
        mask: Bool[Tensor, "batch time"],
        attendable_mask: Bool[Tensor, "batch time"],
        sentence: Int[Tensor, "batch time"],
    ) -> tuple[Float[Tensor, "batch sentence hidden"], Bool[Tensor, "batch sentence"]]:
        """The state of each sentence, and which sentences there are."""
        vectors, items = self.vectors(embedded, mask, attendable_mask, sentence)
        return self.sentences(self.dropout(vectors), items), items

    def vectors(
        self,
        embedded: Float[Tensor, "batch time embed"],
        mask: Bool[Tensor, "batch time"],
        attendable_mask: Bool[Tensor, "batch time"],
        sentence: Int[Tensor, "batch time"],
    ) -> tuple[Float[Tensor, "batch sentence words"], Bool[Tensor, "batch sentence"]]:
        """One vector per sentence, by attention over its words alone, and which sentences there are."""
        count = sentence.masked_fill(~mask, 0).amax(1) + 1
        items = torch.arange(int(count.max()), device=mask.device) < count[:, None]
        sizes = sentence_sizes(sentence, mask, items)
        tokens, weighable = embedded[mask], attendable_mask[mask]
        begins = sizes.cumsum(0) - sizes
        # Sentences of similar length together: one long sentence must not pad all the others.
        order = sizes.argsort()
        parts = [self._attended(tokens, weighable, begins[some], sizes[some]) for some in order.split(CHUNK)]
        vectors = torch.cat(parts)[order.argsort()]
        return vectors.new_zeros(*items.shape, vectors.shape[-1]).index_put(tuple(items.nonzero().T), vectors), items

    def _attended(
        self,
        tokens: Float[Tensor, "token embed"],
        weighable: Bool[Tensor, " token"],
        begins: Int[Tensor, " some"],
        sizes: Int[Tensor, " some"],
    ) -> Float[Tensor, "some words"]:
        """The vectors of some sentences, given by where in the batch's tokens they begin and how long they are."""
        place = torch.arange(int(sizes.max()), device=sizes.device)
        real = place < sizes[:, None]
        where = (begins[:, None] + place).clamp(max=len(tokens) - 1)
        hidden = self.words(tokens[where], real)
        attention = masked_softmax(self.word_attention.of(hidden), real & weighable[where])
        return (attention[:, None] @ hidden)[:, 0]


def sentence_sizes(
    sentence: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"], items: Bool[Tensor, "batch sentence"]
) -> Int[Tensor, " sentences"]:
    """How many tokens each sentence of the batch has, text by text.

    >>> sentence = torch.tensor([[0, 0, 1], [0, 1, 0]])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> sentence_sizes(sentence, mask, torch.ones(2, 2, dtype=torch.bool))
    tensor([2, 1, 1, 1])
    """
    offset = items.sum(1).cumsum(0) - items.sum(1)
    return torch.bincount((offset[:, None] + sentence)[mask], minlength=int(items.sum()))
