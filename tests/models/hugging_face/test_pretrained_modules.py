"""Encoders to start fine-tuning from: found, hashed, and put under a classifier."""

import json
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from heedful.errors import SettingError, StoreError
from heedful.models.hugging_face import model_files
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.network import Inputs
from heedful.models.hugging_face.pretrained_modules import (
    encoder_width,
    load_classifier,
    load_pretrained,
    pretrained_module,
    untrained_module,
)
from heedful.models.hugging_face.tokenized_texts import read_texts
from heedful.models.trace import trace
from support.tiny_encoders import save_encoder
from support.tiny_transformers import TEXTS, save_tiny_encoder, tiny_module, tiny_tokenizer, transformers


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


def save(folder, name="bert", tokenizer=True, **changes):
    names = {"id2label": {0: "bad", 1: "so-so", 2: "good"}, "label2id": {"bad": 0, "so-so": 1, "good": 2}}
    module = tiny_module(name, torch.float32, **(names if "num_labels" not in changes else {}), **changes)
    module.save_pretrained(folder)
    if tokenizer:
        tiny_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("models") / "tiny bert")


def test_a_folder_is_loaded_and_answers_as_it_did(folder):
    classifier = load_classifier(folder)
    assert classifier.labels == ("bad", "so-so", "good") and classifier.network.dtype == torch.float32
    model = TransformerModel(classifier)
    (batch,) = read_texts(classifier, TEXTS, [0, 0, 0]).batches()
    with torch.no_grad():
        seen = trace(model, batch)
        arguments = classifier.network.arguments
        module = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
        expected = module(**arguments(Inputs(batch.tokens, batch.mask))).logits
    torch.testing.assert_close(seen.logits, expected.double(), rtol=0, atol=1e-5)
    assert classifier.is_checked


def test_a_wrong_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match=f"there is no folder {tmp_path / 'none'}"):
        load_classifier(str(tmp_path / "none"))
    with pytest.raises(StoreError, match="must have a config.json"):
        load_classifier(str(tmp_path))


def test_a_name_that_cannot_be_had_is_named(monkeypatch):
    def refused(*arguments, **more):
        raise OSError("no such name on the hub\nand more")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refused)
    with pytest.raises(StoreError, match="model no-such-model-anywhere cannot be loaded: no such name on the hub$"):
        load_classifier("no-such-model-anywhere")


def test_a_broken_config_is_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(StoreError, match="is not valid JSON"):
        load_classifier(str(tmp_path))
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(StoreError, match="must hold an object"):
        load_classifier(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "no-such-type"}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be loaded"):
        load_classifier(str(tmp_path))


def test_weights_that_may_run_code_are_refused(tmp_path):
    save(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(StoreError, match=r"it has pytorch_model.bin, which is not read.*convert it"):
        load_classifier(str(tmp_path))
    (tmp_path / "pytorch_model.bin").unlink()
    with pytest.raises(StoreError, match="it has no weights"):
        load_classifier(str(tmp_path))


def test_broken_weights_are_named_loading(tmp_path):
    save(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(StoreError, match="cannot be loaded"):
        load_classifier(str(tmp_path))


def test_code_of_the_models_own_is_refused(tmp_path):
    save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "evil.Model"}}))
    (tmp_path / "evil.py").write_text("raise SystemExit('executed')")
    with pytest.raises(SettingError, match="brings code of its own"):
        load_classifier(str(tmp_path))


def test_a_head_without_weights_is_refused(tmp_path):
    module = tiny_module("bert", torch.float32)
    module.bert.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(SettingError, match=r"has no weights for classifier.bias, classifier.weight"):
        load_classifier(str(tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_labels": 1}, r"has 1 output \(a regression head\)"),
        ({"problem_type": "regression"}, "is made for regression"),
        ({"problem_type": "multi_label_classification"}, "may give several labels to a text"),
    ],
)
def test_heads_that_choose_no_class_are_refused(tmp_path, changes, message):
    with pytest.raises(SettingError, match=message):
        load_classifier(save(tmp_path, **changes))


def test_windowed_attention_is_refused_before_weights_are_read(tmp_path):
    save(tmp_path, "bigbird")
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "attention_type": "block_sparse"}))
    with pytest.raises(SettingError, match="Set attention_type to 'original_full'"):
        load_classifier(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "longformer"}))
    with pytest.raises(SettingError, match="is a longformer, whose attention is windowed"):
        load_classifier(str(tmp_path))


def test_a_broken_tokenizer_is_named(tmp_path):
    save(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(StoreError, match="the tokenizer of .* cannot be loaded"):
        load_classifier(str(tmp_path))


def test_a_slow_tokenizer_is_refused(folder, monkeypatch):
    class SlowTokenizer:
        is_fast = False

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *args, **more: SlowTokenizer())
    with pytest.raises(SettingError, match="must be a fast one.* it is SlowTokenizer"):
        model_files.load_tokenizer(folder)


def test_weights_that_are_no_numbers_are_named(tmp_path):
    module = tiny_module("bert", torch.float32)
    with torch.no_grad():
        module.classifier.bias[0] = torch.nan
    module.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(SettingError, match="parameter 'classifier.bias'"):
        load_classifier(str(tmp_path))


def test_an_older_transformers_is_named(monkeypatch):
    monkeypatch.setattr(model_files, "version", lambda name: "4.57.1")
    with pytest.raises(SettingError, match="needs transformers 5.0 or newer; 4.57.1 is installed"):
        load_classifier("any")


def test_a_missing_transformers_is_named(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(model_files, "version", missing)
    with pytest.raises(SettingError, match=r"needs the package transformers .* pip install 'heedful\[hf\]'"):
        load_classifier("any")


def test_loading_is_quiet(folder, capfd):
    load_classifier(folder)
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def copy(tmp_path, checkpoint):
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))


def test_an_encoder_gets_a_classifier_that_knows_the_labels(checkpoint):
    torch.manual_seed(0)
    module, tokenizer = load_pretrained(checkpoint, ("bad", "so-so", "good"))
    assert module.config.id2label == {0: "bad", 1: "so-so", 2: "good"}
    assert module.config.label2id["good"] == 2 and module.config.num_labels == 3
    assert module.classifier.weight.shape[0] == 3 and module.classifier.weight.dtype == torch.float32
    assert tokenizer.is_fast


def test_only_the_classifier_is_drawn_and_that_by_torch_s_generator(checkpoint):
    def weights(seed):
        torch.manual_seed(seed)
        return load_pretrained(checkpoint, ("bad", "good"))[0].state_dict()

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
    with pytest.raises(SettingError, match=r"has no weights for bert\.encoder"):
        load_pretrained(str(copy), ("bad", "good"))


def test_a_model_without_padding_is_refused(copy):
    settings = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps({k: v for k, v in settings.items() if k != "pad_token"}))
    with pytest.raises(SettingError, match="must have a padding token"):
        load_pretrained(str(copy), ("bad", "good"))
