"""Encoders to start fine-tuning from: found, hashed, and put under a classifier."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch

from heedful.errors import SettingError, StoreError
from heedful.models.transformers import pretrained
from heedful.models.transformers.pretrained import load_pretrained, pretrained_fingerprint, pretrained_folder
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


def test_the_fingerprint_is_of_the_content_alone(encoder, copy):
    own = pretrained_fingerprint(encoder)
    assert pretrained_fingerprint(str(copy)) == pretrained_fingerprint(f"hf:{copy}") == own
    (copy / "README.md").write_text("not read")
    assert pretrained_fingerprint(str(copy)) == own
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.3}))
    changed = pretrained_fingerprint(str(copy))
    assert changed != own
    content = bytearray((copy / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (copy / "model.safetensors").write_bytes(content)
    os.utime(copy / "model.safetensors", ns=(0, 0))
    assert pretrained_fingerprint(str(copy)) not in (own, changed)


def test_what_is_no_model_is_refused(tmp_path, copy):
    with pytest.raises(StoreError, match="there is no folder"):
        pretrained_folder(str(tmp_path / "none"))
    with pytest.raises(SettingError, match=r"finetune\.model must be a folder .* it is empty"):
        pretrained_folder(" ")
    (copy / "model.safetensors").unlink()
    with pytest.raises(StoreError, match="has no weights"):
        pretrained_folder(str(copy))


def test_a_name_that_the_hub_does_not_give_is_named(monkeypatch):
    import huggingface_hub

    def refuse(name, allow_patterns):
        assert name == "someone/model" and "*.py" not in allow_patterns and "*.bin" not in allow_patterns
        raise OSError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(StoreError, match="'someone/model' is no folder, and cannot be had .*: no connection"):
        pretrained_folder("hf:someone/model")


def test_what_the_hub_gives_is_read_like_a_folder(monkeypatch, encoder):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, allow_patterns: encoder)
    assert pretrained_folder("someone/model") == Path(encoder)


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


def test_files_are_those_that_transformers_reads():
    assert not [pattern for pattern in pretrained.FILES if pattern.endswith((".py", ".bin", ".pt", ".pkl"))]
