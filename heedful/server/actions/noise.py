"""Noise on the embedding of a word."""

import torch

from heedful.attribution.items import items_with
from heedful.battery.embedding_noise import noise_on_one_word
from heedful.models.trace import reread
from heedful.server.actions.action import SEAT, Action
from heedful.server.actions.answers import answer_with
from heedful.server.contract import Acted
from heedful.server.reading import Reader, ReadText
from heedful.server.requests import ActOptions


def embedding_noise(read: ReadText, options: ActOptions, reader: Reader) -> Acted:
    """Gaussian noise of that variance on the embedding of a word, both drawn by the seed; the text is read anew."""
    trace, generator = read.evidence.trace, torch.Generator().manual_seed(options.seed)
    noise = noise_on_one_word(trace, generator)
    other = reread(read.evidence.model, trace, options.scale**0.5 * noise)
    noisy = items_with(trace, (noise != 0).any(-1)).cpu()[0, read.real].nonzero()[:, 0].tolist()
    named = f" on “{read.labels[noisy[0]]:.60}”" if noisy else ""
    return answer_with(
        EMBEDDING_NOISE,
        read,
        other.attention.cpu(),
        other.logits.cpu(),
        before=f"With noise of variance {options.scale:g}{named}:",
        is_settable=False,
        more={"items": noisy},
    )


EMBEDDING_NOISE = Action(
    "embedding_noise",
    "Noise on a word",
    "Do attention and prediction stay when a word's embedding is a little noisy?",
    SEAT,
    embedding_noise,
    ("scale", "seed"),
)
