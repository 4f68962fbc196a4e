import numpy
import pytest
import torch

from heedful.models.transformers import examined
from heedful.models.transformers.network import Inputs
from support.tiny_transformers import tiny_model, tiny_module, tiny_trace, tokenizer_of


def attentions_of(name, batch, row):
    """What transformers itself says that the model attends to, in a single text: [layer head row time]."""
    module = tiny_module(name)
    module.set_attn_implementation("eager")
    network = tiny_model(name).classifier.network
    arguments = network.arguments(Inputs(batch.tokens, batch.mask).select(torch.tensor([row])))
    with torch.no_grad():
        output = module(**arguments, output_attentions=True)
    return torch.stack([weights[0] for weights in output.attentions]).numpy()


def by_word(weights, owner):
    count = max(owner) + 1
    return numpy.array([sum(weights[t] for t in range(len(owner)) if owner[t] == i) for i in range(count)])


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
@pytest.mark.parametrize("site", ["last", "layer:0", "head:1.0", "all", "rollout"])
def test_sites_show_what_transformers_says(name, site):
    seen = tiny_trace(name, site=site)
    for row in range(len(seen.attention)):
        all_weights = attentions_of(name, seen.batch, row)
        time = all_weights.shape[-1]
        rows = {"bert": [0], "gpt2": [time - 1], "modernbert": list(range(time))}[name]
        owner = seen.batch.sentence[row, :time].tolist()
        rolled = numpy.eye(time)
        for layer in all_weights.mean(1):
            rolled = (0.5 * layer + 0.5 * numpy.eye(time)) @ rolled
        shown = {
            "last": all_weights[1].mean(0),
            "layer:0": all_weights[0].mean(0),
            "head:1.0": all_weights[1, 0],
            "all": all_weights.mean((0, 1)),
            "rollout": rolled,
        }[site]
        words = by_word(shown[rows].mean(0), owner)
        numpy.testing.assert_allclose(
            seen.attention[row, : len(words)].numpy(), words / words.sum(), rtol=1e-6, atol=1e-9
        )


def test_the_value_norm_is_the_length_of_what_a_word_adds():
    seen, module = tiny_trace("bert", site="value-norm"), tiny_module("bert")
    module.set_attn_implementation("eager")
    layer = module.bert.encoder.layer[-1].attention
    kept = {}
    handle = layer.self.value.register_forward_hook(lambda m, inputs, output: kept.update(values=output))
    network = tiny_model("bert").classifier.network
    arguments = network.arguments(Inputs(seen.batch.tokens, seen.batch.mask).select(torch.tensor([0])))
    with torch.no_grad():
        weights = module(**arguments, output_attentions=True).attentions[-1][0, :, 0]
    handle.remove()
    owner = seen.batch.sentence[0].tolist()
    values, projection = kept["values"][0].view(-1, 2, 8), layer.output.dense.weight.detach()
    norms = torch.zeros(3, dtype=torch.float64)
    for word in range(2):
        pieces = [place for place, number in enumerate(owner) if number == word]
        mixed = sum(torch.cat([weights[head, place] * values[place, head] for head in range(2)]) for place in pieces)
        norms[word] = (projection @ mixed).norm()
    shown = seen.attention[0, :2]
    torch.testing.assert_close(shown, norms[:2] / norms[:2].sum())


def test_special_tokens_have_their_share_at_every_site():
    for site in ("last", "layer:0", "head:1.1", "all", "rollout", "value-norm"):
        for part in tiny_trace("bert", site=site).encoded.parts:
            total = part.shown.words.sum(-1) + part.shown.special
            torch.testing.assert_close(total, torch.ones_like(total))
            assert (part.shown.special > 0).all() and not part.shown.words[~_expanded(part)].any()


def _expanded(part):
    return part.reading.items[:, None].expand_as(part.shown.words)


def test_heads_of_a_site():
    heads = {"last": 2, "head:0.1": 1, "all": 4, "rollout": 1, "value-norm": 1}
    for site, count in heads.items():
        assert tiny_trace("bert", site=site).encoded.parts[0].shown.words.shape[1] == count


def test_an_encoder_decoder_shows_what_its_decoder_reads_of_the_encoder():
    seen = tiny_trace("bart")
    module = tiny_module("bart")
    module.set_attn_implementation("eager")
    classifier = examined("bart", module, tokenizer_of("bart"))
    arguments = classifier.network.arguments(Inputs(seen.batch.tokens, seen.batch.mask).select(torch.tensor([0])))
    with torch.no_grad():
        cross = module(**arguments, output_attentions=True).cross_attentions[-1][0].mean(0)
    words = by_word(cross[-1].numpy(), seen.batch.sentence[0, : len(cross)].tolist())
    numpy.testing.assert_allclose(seen.attention[0, : len(words)], words / words.sum())
