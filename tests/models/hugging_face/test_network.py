import pytest
import torch

from heedful.errors import SettingError
from heedful.models.hugging_face.network import NO_PADDING, Inputs, Network, input_embedding
from support.tiny_transformers import tiny_model, tiny_module

TOKENS = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])
MASK = TOKENS > 0


def test_the_given_module_is_left_as_it_is_and_its_weights_are_shared():
    module = tiny_module("gpt2", pad_token_id=None).train()
    before = module.config._attn_implementation
    network = Network(module, reads_segments=False)
    assert module.training and module.config._attn_implementation == before and module.config.pad_token_id is None
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert not network.module.training and network.module.config.pad_token_id == NO_PADDING
    own = {parameter.data_ptr() for parameter in module.parameters()}
    assert own == {parameter.data_ptr() for parameter in network.module.parameters()}


def test_segments_are_part_of_the_tokens_number():
    network = Network(tiny_module("bert"), reads_segments=True)
    tokens = TOKENS + network.vocabulary * (torch.arange(5) > 2)
    arguments = network.arguments(Inputs(tokens, MASK))
    assert arguments["input_ids"].tolist() == [[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]]
    assert arguments["token_type_ids"].tolist() == [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
    assert not torch.equal(network.logits(Inputs(tokens, MASK)), network.logits(Inputs(TOKENS, MASK)))
    torch.testing.assert_close(network.embed(tokens), network.embed(TOKENS))


def test_what_stands_in_the_place_of_padding_is_not_read():
    network = Network(tiny_module("gpt2"), reads_segments=False)
    garbage = TOKENS.where(MASK, 9)
    torch.testing.assert_close(network.logits(Inputs(garbage, MASK)), network.logits(Inputs(TOKENS, MASK)))


@pytest.mark.parametrize("name", ["bert", "xlnet", "bart", "t5", "gpt2"])
def test_given_vectors_take_the_place_of_the_models_own(name):
    network = Network(tiny_module(name), reads_segments=False)
    tokens, mask = TOKENS[:1], MASK[:1]
    own = network.logits(Inputs(tokens, mask))
    torch.testing.assert_close(network.logits(Inputs(tokens, mask, network.embed(tokens))), own)
    other = torch.tensor([[2, 5, 9, 7, 3]])
    swapped = network.logits(Inputs(tokens, mask, network.embed(other)))
    torch.testing.assert_close(swapped, network.logits(Inputs(other, mask)))
    assert (swapped - own).abs().max() > 1e-3


def test_a_model_without_token_embeddings_is_refused():
    class Characters(torch.nn.Module):
        def get_input_embeddings(self):
            raise NotImplementedError

    with pytest.raises(SettingError, match="Characters has none"):
        input_embedding(Characters())


NAMES = {
    "bert": "bert.encoder.layer.1.attention.output.dense",
    "gpt2": "transformer.h.1.attn.c_proj",
    "albert": "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
    "t5": "transformer.decoder.block.1.layer.1.EncDecAttention.o",
    "deberta-v2": "deberta.encoder.layer.1.attention.output.dense",
    "modernbert": "model.layers.1.attn.Wo",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_projection_of_the_last_layer_is_found(name):
    classifier = tiny_model(name).classifier
    names = {id(part): path for path, part in classifier.network.module.named_modules()}
    assert names[id(classifier.projection)] == NAMES[name]


@pytest.mark.parametrize("name", ["convbert", "xlnet"])
def test_value_norms_are_refused_where_there_is_none(name):
    """ConvBERT mixes a convolution in; XLNet projects without a layer."""
    with pytest.raises(SettingError, match="'value-norm' needs the projection that follows attention"):
        tiny_model(name).at("value-norm")
