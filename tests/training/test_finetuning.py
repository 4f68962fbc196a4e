"""Fine-tuning a tiny encoder: what it learns, repeats, cuts and chooses."""

from dataclasses import replace

import pytest
import torch

from heedful.errors import HeedfulError, SettingError
from heedful.models.hugging_face.tokenized_texts import text_of
from heedful.settings import FinetuneSettings, Run
from heedful.settings.validation import update_settings
from heedful.training import finetuning
from heedful.training.finetuning import finetune, tokenize
from heedful.types import Example
from support.runs import toy
from support.tiny_transformers import save_tiny_encoder, tiny_tokenizer


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def run(encoder):
    settings = FinetuneSettings(model=encoder, epochs=2, batch_size=4, learning_rate=5e-3, max_tokens=16)
    return Run(finetune=settings)


@pytest.fixture(scope="module")
def finetuned(run):
    return finetune(update_settings(run, {"finetune.epochs": 6, "finetune.learning_rate": 1e-2}), toy())


def state(finetuned):
    return finetuned.module.state_dict()


def alike(first, second):
    return all(torch.equal(state(first)[name], state(second)[name]) for name in state(first))


def test_a_word_that_decides_is_learnt(finetuned):
    assert finetuned.scores["test"]["accuracy"] == 1.0
    losses = [record.value for record in finetuned.history if record.measure == "loss"]
    assert losses[-1] < losses[0] / 2
    assert finetuned.labels == ("bad", "good") and not finetuned.has_query
    assert finetuned.module.config.id2label == {0: "bad", 1: "good"} and not finetuned.module.training


def test_same_run_same_weights_and_the_caller_s_random_state_stays(run):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = finetune(run, toy())
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    assert alike(first, finetune(run, toy()))
    assert not alike(first, finetune(update_settings(run, {"seed": 1}), toy()))


def test_the_best_epoch_on_dev_is_kept_and_patience_ends_the_training(run, monkeypatch):
    scores = iter([0.6, 0.9, 0.7, 0.8, 0.1, 0.1])
    calls = []

    def made_up(logits, labels):
        calls.append(len(labels))
        value = next(scores)
        return {"accuracy": value, "f1": value, "macro_f1": value, "roc_auc": value}

    monkeypatch.setattr(finetuning, "metrics", made_up)
    reports = []
    patient = update_settings(run, {"finetune.epochs": 9, "finetune.patience": 2})
    finetuned = finetune(patient, toy(), report=reports.append)
    assert finetuned.chosen_epoch == 2 and len(calls) == 6  # four epochs on dev, then dev and test of the best
    by_epoch = [report for report in reports if report.scores is not None]
    assert [report.scores["dev accuracy"] for report in by_epoch] == [0.6, 0.9, 0.7, 0.8]
    assert [(report.batch, report.batches) for report in reports[:9]] == [(n, 9) for n in range(1, 10)]
    assert {(r.epoch, r.split, r.value) for r in finetuned.history if r.measure == "accuracy"} >= {
        (2, "dev", 0.9),
        (2, "test", 0.1),
    }


def test_the_weights_are_those_of_the_chosen_epoch(run, monkeypatch):
    values = iter([1.0, 0.0, 0.0, 0.0])
    monkeypatch.setattr(finetuning, "metrics", lambda logits, labels: {"accuracy": next(values)})
    # Of the second epoch nothing may remain; the schedule is that of two epochs in both.
    stopped = finetune(update_settings(run, {"finetune.patience": 1}), toy())
    assert stopped.chosen_epoch == 1
    monkeypatch.setattr(finetuning, "metrics", lambda logits, labels: {"accuracy": 0.5})
    whole = finetune(run, toy())
    assert whole.chosen_epoch == 1 and alike(stopped, whole)


def test_pairs_are_read_as_two_texts(run):
    example = Example(("a", "film"), 1, query=("the", "plot"), text="a film")
    assert text_of(example) == ("a film", "the plot") and text_of(replace(example, query=())) == "a film"
    written = replace(example, query_text="The plot")
    assert text_of(written) == ("a film", "The plot") and text_of(replace(written, text=""))[0] == "a film"
    (text,) = tokenize([example], tiny_tokenizer()).texts
    assert text["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]
    finetuned = finetune(update_settings(run, {"finetune.epochs": 1}), toy(task="nli", labels=("bad", "good", "so")))
    assert finetuned.has_query and finetuned.module.config.num_labels == 3


def test_long_texts_are_cut_counted_and_cut_ever_after(run):
    data = toy()
    long = replace(data.test[0], text="good " * 30)
    finetuned = finetune(update_settings(run, {"finetune.epochs": 1}), replace(data, test=(long, *data.test)))
    assert finetuned.notes == ("1 texts cut to 16 tokens",)
    assert finetuned.tokenizer.model_max_length == 16
    unlimited = finetune(update_settings(run, {"finetune.epochs": 1, "finetune.max_tokens": 500}), data)
    assert unlimited.tokenizer.model_max_length == 48  # the positions that the model has


def test_padding_changes_nothing(finetuned):
    split = tokenize(toy().test, finetuned.tokenizer)
    loop = finetuning._Loop(finetuned.run, finetuned.module, finetuned.tokenizer, {"train": split})
    finetuned.module.eval()
    with torch.no_grad():
        together = loop.logits(split, range(len(split.texts)))
        alone = torch.cat([loop.logits(split, [number]) for number in range(len(split.texts))])
    assert len({len(text["input_ids"]) for text in split.texts}) > 1
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def test_a_loss_that_is_no_number_ends_the_run(run):
    with pytest.raises(HeedfulError, match=r"loss became nan\. Lower finetune\.learning_rate \(it was 1e\+30\)"):
        finetune(update_settings(run, {"finetune.learning_rate": 1e30, "finetune.clip_norm": None}), toy())


def test_what_cannot_be_trained_is_said(run):
    with pytest.raises(SettingError, match=r"which model to fine-tune in `finetune\.model`"):
        finetune(Run(), toy())
    with pytest.raises(SettingError, match="unknown metric 'acuracy'"):
        finetune(update_settings(run, {"finetune.metric": "acuracy"}), toy())
    with pytest.raises(SettingError, match="the run starts from model other, but"):
        finetune(update_settings(run, {"finetune.fingerprint": "other"}), toy())
