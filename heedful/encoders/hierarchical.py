"""Sentences as items: words are encoded and attended to within a sentence, then sentences are encoded."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.attention import Additive, masked_softmax
from heedful.encoders.contract import Encoder
from heedful.settings import NetworkSettings


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
        attendable: Bool[Tensor, "batch time"],
        sentence: Int[Tensor, "batch time"],
    ) -> tuple[Float[Tensor, "batch sentence hidden"], Bool[Tensor, "batch sentence"]]:
        """The state of each sentence, and which sentences there are."""
        vectors, items = self.vectors(embedded, mask, attendable, sentence)
        return self.sentences(self.dropout(vectors), items), items

    def vectors(
        self,
        embedded: Float[Tensor, "batch time embed"],
        mask: Bool[Tensor, "batch time"],
        attendable: Bool[Tensor, "batch time"],
        sentence: Int[Tensor, "batch time"],
    ) -> tuple[Float[Tensor, "batch sentence words"], Bool[Tensor, "batch sentence"]]:
        """One vector a sentence, by attention over its words alone, and which sentences there are."""
        count = sentence.masked_fill(~mask, 0).amax(1) + 1
        items = torch.arange(int(count.max()), device=mask.device) < count[:, None]
        row, column = sentence_places(sentence, mask, items)
        width = int(column.max()) + 1
        words = embedded.new_zeros(int(items.sum()), width, embedded.shape[-1]).index_put((row, column), embedded[mask])
        real = mask.new_zeros(words.shape[:2]).index_put((row, column), mask[mask])
        weighed = mask.new_zeros(words.shape[:2]).index_put((row, column), attendable[mask])
        hidden = self.words(words, real)
        attention = masked_softmax(self.word_attention.of(hidden), weighed)
        vectors = (attention[:, None] @ hidden)[:, 0]
        return vectors.new_zeros(*items.shape, vectors.shape[-1]).index_put(tuple(items.nonzero().T), vectors), items


def sentence_places(
    sentence: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"], items: Bool[Tensor, "batch sentence"]
) -> tuple[Int[Tensor, " token"], Int[Tensor, " token"]]:
    """For each real token: which of all the batch's sentences it is in, and its place within that sentence.

    >>> sentence = torch.tensor([[0, 0, 1], [0, 1, 0]])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> sentence_places(sentence, mask, torch.ones(2, 2, dtype=torch.bool))
    (tensor([0, 0, 1, 2, 3]), tensor([0, 1, 0, 0, 0]))
    """
    offset = items.sum(1).cumsum(0) - items.sum(1)
    row = (offset[:, None] + sentence)[mask]
    sizes = torch.bincount(row, minlength=int(items.sum()))
    begin = sizes.cumsum(0) - sizes
    return row, torch.arange(len(row), device=row.device) - begin[row]
