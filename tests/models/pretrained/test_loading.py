import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from heedful.errors import SettingError, StoreError
from heedful.models.pretrained.loading import encoder_width, pretrained_module, untrained_module
from support.tiny_encoders import save_encoder


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "electra", "albert", "mpnet", "gpt2"])
def test_encoders_of_many_architectures_are_loaded(name, tmp_path):
    encoder = save_encoder(tmp_path / name, name)
    assert encoder_width(encoder) == 16
    module = pretrained_module(encoder)
    assert not module.training and module.dtype == torch.float32
    untrained_module(encoder).load_state_dict(module.state_dict())


def test_models_that_read_no_text_by_themselves_are_refused(tmp_path):
    with pytest.raises(SettingError, match="is a t5. Choose an encoder such as BERT"):
        encoder_width(save_encoder(tmp_path, "t5"))


def test_weights_that_are_missing_are_named(encoder):
    path = Path(encoder.removeprefix("hf:")) / "model.safetensors"
    weights = load_file(path)
    del weights["embeddings.LayerNorm.bias"]
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(SettingError, match=r"has no weights for embeddings.LayerNorm.bias"):
        pretrained_module(encoder)


def test_a_missing_pooler_is_none(encoder):
    path = Path(encoder.removeprefix("hf:")) / "model.safetensors"
    save_file(
        {name: weight for name, weight in load_file(path).items() if "pooler" not in name}, path, {"format": "pt"}
    )
    assert not [name for name, _ in pretrained_module(encoder).named_parameters() if "pooler" in name]


def test_broken_weights_are_named(encoder):
    (Path(encoder.removeprefix("hf:")) / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(StoreError, match="cannot be loaded"):
        pretrained_module(encoder)


def test_code_of_the_model_s_own_is_never_run(encoder):
    path = Path(encoder.removeprefix("hf:")) / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "auto_map": {"AutoModel": "evil.Model"}}))
    with pytest.raises(SettingError, match="brings code of its own"):
        untrained_module(encoder)
