"""The words of a hierarchical model's sentences: their weights, and what the model says under others."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import SettingError
from heedful.models.attention import masked_softmax
from heedful.models.attention_model import AttentionModel
from heedful.models.encoders import Hierarchical
from heedful.server.reading import SUM_TOLERANCE, ReadText
from heedful.types import Encoded


def is_hierarchical(read: ReadText) -> bool:
    """Whether the model attends to sentences, and within them to words."""
    model = read.evidence.model
    return isinstance(model, AttentionModel) and isinstance(model.encoder, Hierarchical)


def word_attention(read: ReadText) -> list[float]:
    """The weight of each word within its sentence."""
    return [weight for sentence in range(read.count) for weight in _states(read, sentence)[1].tolist()]


def encode_words(read: ReadText, given: Sequence[float]) -> Encoded:
    """The sentences' states where their words have these weights.

    Args:
        given: a weight for each word; those of a sentence sum to 1.
    """
    if len(given) != len(read.words):
        raise SettingError(
            f"word_attention must have a weight for each of the text's {len(read.words)} words; it has {len(given)}."
        )
    encoder, vectors = _encoder(read), []
    for sentence, words in enumerate(read.items):
        own = [given[place] for place in words]
        if abs(sum(own) - 1) > SUM_TOLERANCE:
            raise SettingError(
                f"word_attention must sum to 1 within each sentence; in sentence {sentence + 1} it sums to "
                f"{sum(own):.6g}."
            )
        hidden, _ = _states(read, sentence)
        vectors.append(torch.tensor(own, dtype=hidden.dtype, device=hidden.device) @ hidden)
    encoded = read.evidence.trace.encoded
    return replace(encoded, hidden=encoder.sentences(torch.stack(vectors)[None], encoded.items))


def _encoder(read: ReadText) -> Hierarchical:
    model = read.evidence.model
    if not isinstance(model, AttentionModel) or not isinstance(model.encoder, Hierarchical):
        raise SettingError("word_attention must be left out: this model attends to words alone, not to sentences.")
    return model.encoder


def _states(read: ReadText, sentence: int) -> tuple[Float[Tensor, "word hidden"], Float[Tensor, " word"]]:
    """The states of a sentence's words, and their weights; start and end symbols, which have none, left out."""
    encoder, batch = _encoder(read), read.evidence.trace.batch
    assert batch.sentence is not None
    own = batch.mask[0] & (batch.sentence[0] == sentence)
    weighable = batch.attendable[0, own]
    embedded = read.evidence.trace.embedded[:, own]
    hidden = encoder.words(embedded, torch.ones_like(weighable)[None])
    attention = masked_softmax(encoder.word_attention.of(hidden), weighable[None])
    return hidden[0, weighable], attention[0, weighable]
