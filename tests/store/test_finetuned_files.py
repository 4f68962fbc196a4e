"""The folder of a fine-tuned model: one that transformers loads, with all that a run has."""

import json
import stat

import pytest
import torch

from heedful.models.hugging_face.network import Inputs
from heedful.models.hugging_face.pretrained_modules import load_classifier
from heedful.models.hugging_face.tokenized_texts import read_texts
from heedful.settings import FinetuneSettings, Run
from heedful.store.folders import find_damage, write_checksums
from heedful.training.finetuning import finetune
from heedful.training.trained import names_of_files, read_history, write_finetuned
from support.runs import toy
from support.tiny_transformers import save_tiny_encoder, transformers


@pytest.fixture(scope="module")
def finetuned(tmp_path_factory):
    encoder = save_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")
    return finetune(Run(finetune=FinetuneSettings(model=encoder, epochs=1, max_tokens=16)), toy())


@pytest.fixture
def folder(tmp_path, finetuned):
    write_finetuned(finetuned, tmp_path)
    write_checksums(tmp_path)
    return tmp_path


def test_the_folder_is_one_of_hugging_face_s_and_of_a_run(folder, finetuned):
    assert {path.name for path in folder.iterdir()} == {
        "SHA256SUMS",
        "config.json",
        "history.parquet",
        "model.safetensors",
        "run.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert find_damage(folder, names_of_files(finetuned.run)) is None
    assert read_history(folder) == finetuned.history
    described = json.loads((folder / "run.json").read_text())
    assert described["labels"] == ["bad", "good"] and described["versions"]["transformers"] == transformers.__version__


def test_transformers_and_heedful_load_what_was_trained(folder, finetuned):
    again = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    own = finetuned.module.state_dict()
    assert all(torch.equal(tensor, own[name]) for name, tensor in again.state_dict().items())
    classifier = load_classifier(str(folder))
    assert classifier.labels == ("bad", "good") and classifier.reader.longest == 16
    (batch,) = read_texts(classifier, ["the film was good", "so bad"], [1, 0]).batches()
    logits = classifier.network.logits(Inputs(batch.tokens, batch.mask))
    assert torch.equal(batch.index, torch.tensor([1, 0]))
    tokens = finetuned.tokenizer(["so bad", "the film was good"], padding=True, return_tensors="pt")
    torch.testing.assert_close(logits, finetuned.module(**tokens).logits, rtol=0, atol=1e-5)


def test_others_may_read_the_weights(folder):
    own, weights = ((folder / name).stat().st_mode for name in ("run.json", "model.safetensors"))
    assert stat.S_IMODE(own) == stat.S_IMODE(weights)


def test_writing_is_quiet(tmp_path, finetuned, capfd):
    write_finetuned(finetuned, tmp_path)
    assert capfd.readouterr() == ("", "")
