"""Models whose gradient flow is known, and texts for them."""

import torch

from heedful.data.batching import EncodedSplit
from heedful.data.tokenizer import END, PAD, START
from heedful.models.attention_model import build_model
from heedful.settings import NetworkSettings
from heedful.settings.validation import update_settings

VOCABULARY, TEXTS, EMBED, HIDDEN, SIZE = 13, 7, 5, 3, 2


def problem(encoder="identity", attention="dot", classes=2, seed=0, framed=False, **changes):
    """A model with random weights, and texts of 1 to 6 of its tokens, some of which repeat."""
    update = {"encoder": encoder, "attention": attention, "scale": 1.7, **changes}
    network = update_settings(NetworkSettings(embed_size=EMBED, hidden_size=HIDDEN, attention_size=SIZE), update)
    draw = torch.Generator().manual_seed(seed)
    model = build_model(network, VOCABULARY, classes).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw, dtype=parameter.dtype))
        model.embedding.weight[PAD] = 0
    texts = []
    for length in torch.randint(1, 7, (TEXTS,), generator=draw).tolist():
        words = torch.randint(4, VOCABULARY - 1, (length,), generator=draw)
        texts.append(torch.tensor([START, *words.tolist(), END]) if framed else words)
    labels = torch.randint(0, classes, (TEXTS,), generator=draw)
    return model, EncodedSplit(tuple(texts), (), (), labels, framed)
