"""A model as a user would write it, texts for it to read, and ways in which both go wrong."""

from dataclasses import replace

import torch
from torch import nn

from heedful.types import Batch, Encoded

VOCABULARY = ["<pad>", "the", "film", "was", "so", "bad", "good"]
CLASSES = ("bad", "good")


class BagOfWords(nn.Module):
    """A bag of words with attention and a linear head."""

    def __init__(self, vocabulary: int = len(VOCABULARY), size: int = 4, classes: int = 2, scale: float = 1.0):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.embedding = nn.Embedding(vocabulary, size)
        self.score = nn.Linear(size, 1)
        self.output = nn.Linear(size, classes)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))

    def embed(self, batch):
        return self.embedding(batch.tokens)

    def encode(self, embedded, batch):
        return Encoded(hidden=embedded, items=batch.attendable_mask)

    def attend(self, encoded, batch):
        scores = self.score(encoded.hidden)[..., 0]
        return scores, scores.masked_fill(~encoded.items, -torch.inf).softmax(-1)

    def decode(self, encoded, attention):
        return self.output((attention[..., None] * encoded.hidden).sum(1))


class Linear(BagOfWords):
    """The same, which says what each word would say alone."""

    def item_logits(self, encoded):
        return self.output(encoded.hidden)

    def empty_logits(self, encoded):
        return self.output(torch.zeros_like(encoded.hidden[:, 0]))


def words_of(number: int) -> list[str]:
    """The words of a text: its label's word among fillers."""
    words = VOCABULARY[1 : 3 + number % 3]
    words.insert(number % 2, CLASSES[number % 2])
    return words


def texts(count: int = 24, first: int = 0) -> Batch:
    """So many texts, numbered from `first`, padded on the right."""
    ids = [torch.tensor([VOCABULARY.index(word) for word in words_of(n)]) for n in range(first, first + count)]
    tokens = nn.utils.rnn.pad_sequence(ids, batch_first=True)
    mask = tokens != 0
    index = torch.arange(first, first + count)
    return Batch(index=index, tokens=tokens, mask=mask, attendable_mask=mask, labels=index % 2)


def knowing(model: BagOfWords) -> BagOfWords:
    """The model, that attends to the words that decide, and is right."""
    with torch.no_grad():
        model.embedding.weight.zero_()
        model.embedding.weight[VOCABULARY.index("bad"), 0] = 1.0
        model.embedding.weight[VOCABULARY.index("good"), 1] = 1.0
        model.embedding.weight[:, 2] = 0.01 * torch.arange(len(VOCABULARY))
        model.score.weight.copy_(torch.tensor([[3.0, 3.0, 0.1, 0.0]]))
        model.output.weight.zero_()
        model.output.weight[0, 0] = model.output.weight[1, 1] = 4.0
        model.output.bias.zero_()
    return model


def changed(batch: Batch, **parts) -> Batch:
    return replace(batch, **parts)
