import pytest

from heedful.errors import SettingError
from support.tiny_transformers import tiny_model

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
