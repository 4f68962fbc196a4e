"""Encoders to start fine-tuning from: found, hashed, and put under a classifier."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from heedful.errors import SettingError, StoreError
from heedful.models.transformers.pretrained import load_pretrained
from support.tiny_transformers import save_tiny_encoder, tiny_module, tiny_tokenizer


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def copy(tmp_path, encoder):
    return Path(shutil.copytree(encoder, tmp_path / "copy"))


def test_an_encoder_gets_a_classifier_that_knows_the_labels(encoder):
    torch.manual_seed(0)
    module, tokenizer = load_pretrained(encoder, ("bad", "so-so", "good"))
    assert module.config.id2label == {0: "bad", 1: "so-so", 2: "good"}
    assert module.config.label2id["good"] == 2 and module.config.num_labels == 3
    assert module.classifier.weight.shape[0] == 3 and module.classifier.weight.dtype == torch.float32
    assert tokenizer.is_fast


def test_only_the_classifier_is_drawn_and_that_by_torch_s_generator(encoder):
    def weights(seed):
        torch.manual_seed(seed)
        return load_pretrained(encoder, ("bad", "good"))[0].state_dict()

    first, again, other = weights(1), weights(1), weights(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert {name.split(".")[0] for name in first if not torch.equal(first[name], other[name])} == {"classifier"}


def test_a_classifier_with_other_labels_is_replaced(tmp_path):
    tiny_module("bert", torch.float32).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    module, _ = load_pretrained(str(tmp_path), ("bad", "good"))
    assert module.config.num_labels == 2 and module.classifier.weight.shape[0] == 2


def test_what_is_no_model_is_refused(tmp_path, copy):
    with pytest.raises(StoreError, match="there is no folder"):
        load_pretrained(str(tmp_path / "none"), ("bad", "good"))
    with pytest.raises(SettingError, match="must be a folder or a name on the Hugging Face hub; it is empty"):
        load_pretrained(" ", ("bad", "good"))
    (copy / "model.safetensors").unlink()
    with pytest.raises(StoreError, match="has no weights"):
        load_pretrained(str(copy), ("bad", "good"))


def test_an_encoder_without_its_weights_is_refused(copy):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(SettingError, match=r"must have the weights of its encoder; it has none for bert\.encoder"):
        load_pretrained(str(copy), ("bad", "good"))


def test_code_of_the_model_s_own_is_never_run(copy):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "evil.Model"}}))
    with pytest.raises(SettingError, match="brings code of its own"):
        load_pretrained(str(copy), ("bad", "good"))


def test_a_model_without_padding_is_refused(copy):
    settings = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps({k: v for k, v in settings.items() if k != "pad_token"}))
    with pytest.raises(SettingError, match="must have a padding token"):
        load_pretrained(str(copy), ("bad", "good"))
