"""What a model says of a text under any attention: the sliders."""

from collections.abc import Sequence

from heedful.server.contract import Decoded
from heedful.server.hierarchy import encode_words
from heedful.server.predictions import divergence, prediction_change
from heedful.server.reading import ReadText
from heedful.types import LinearModel


def decode(read: ReadText, attention: Sequence[float], word_attention: Sequence[float] | None = None) -> Decoded:
    """The prediction under these weights.

    Args:
        word_attention: of a hierarchical model, the weights of the words within their sentences; None: its own.
    """
    weights, evidence = read.weights(attention), read.evidence
    item_logits = None
    if word_attention is None:
        logits = evidence.decode(weights)
    else:
        encoded = encode_words(read, word_attention)
        logits = evidence.model.decode(encoded, weights.to(evidence.trace.attention)).cpu()
        if isinstance(evidence.model, LinearModel):
            item_logits = evidence.model.item_logits(encoded)[0].cpu()[read.real].tolist()
    decoded = prediction_change(read, logits)
    return Decoded(
        logits=decoded.logits,
        probabilities=decoded.probabilities,
        predicted=decoded.predicted,
        tvd=decoded.tvd,
        jsd=divergence(read, weights),
        item_logits=item_logits,
    )
