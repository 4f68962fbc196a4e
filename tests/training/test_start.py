"""What a run is made of: the content of its data and its vectors, not their names."""

import shutil
from pathlib import Path

import pytest

from heedful.errors import SettingError, StoreError
from heedful.models.hugging_face.frozen_states import WordStates
from heedful.report.loading import audit
from heedful.settings import AuditSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.training.loop import make_optimizer, train
from heedful.training.start import with_fingerprints
from support.runs import changed, same, toy
from support.tiny_encoders import encoder, own_cache, save_encoder

__all__ = ["encoder", "own_cache"]

VECTORS = "good 1 0\nbad 0 1\nfilm 1 1\n"


def run_with(vectors):
    quick = {"training.epochs": 1, "network.hidden_size": 4, "network.encoder": "average"}
    return update_settings(Run(), {**quick, "network.vectors": str(vectors)})


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, encoding="utf-8")
    return path


def test_other_vectors_under_the_same_name_make_another_run(vectors):
    before = key_of(with_fingerprints(run_with(vectors), "f"))
    assert key_of(with_fingerprints(run_with(vectors), "f")) == before
    vectors.write_text(VECTORS.replace("1 1", "1 2"), encoding="utf-8")
    assert key_of(with_fingerprints(run_with(vectors), "f")) != before


def test_a_run_without_vectors_has_no_fingerprint_of_them():
    assert with_fingerprints(Run(), "f").network.vectors_fingerprint == ""


def test_training_records_the_content_of_its_vectors(vectors):
    made = with_fingerprints(run_with(vectors), "f")
    assert train(run_with(vectors), toy()).run.network.vectors_fingerprint == made.network.vectors_fingerprint


def test_training_refuses_other_vectors_than_the_run_was_made_with(vectors):
    other = update_settings(run_with(vectors), {"network.vectors_fingerprint": "0" * 16})
    with pytest.raises(SettingError, match=r"the run is of vectors 0+, but"):
        train(other, toy())


# Training over a pretrained transformer: what it starts from, what it reads, what is stored of it.


def run_of(encoder, **changes):
    return changed(network__encoder=encoder, network__hidden_size=3, **changes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with a frozen tiny BERT, whose files and cache are there for the whole module."""
    folder = tmp_path_factory.mktemp("frozen")
    with pytest.MonkeyPatch.context() as patch:
        own_cache(patch, folder / "cache")
        yield train(run_of(save_encoder(folder / "tiny bert")), toy())


def test_it_learns_and_knows_what_it_was_trained_with(trained):
    assert trained.scores["test"]["accuracy"] > 0.9
    assert len(trained.run.network.encoder_fingerprint) == 64 and key_of(trained.run)


def test_words_of_all_splits_and_of_the_transformer_are_known(trained):
    assert {"bad", "good", "film", "plot", "not"} <= set(trained.words.words)
    rare = train(changed(network__encoder=trained.run.network.encoder, text__min_count=100), toy()).words.words
    assert "good" in rare and "so" not in rare


def test_an_epoch_costs_no_reading(trained, monkeypatch):
    reads, read = [], WordStates.of
    monkeypatch.setattr(WordStates, "of", lambda self, texts: reads.append(len(texts)) or read(self, texts))
    again = train(trained.run, toy())
    assert not reads and same(again, trained)


def test_a_stored_run_is_small_and_answers_as_before(trained, tmp_path):
    store = Store(tmp_path)
    loaded = store.load(store.save(trained))
    assert (tmp_path / key_of(trained.run) / "model.safetensors").stat().st_size < 5_000
    assert same(loaded, trained)
    settings = AuditSettings(tests=("leave_one_out_agreement", "embedding_noise", "word_substitution"), shown=0)
    first, second = (audit(each, toy(), settings).rows for each in (trained, loaded))
    assert first.equals(second) and len(first)


def test_a_run_whose_encoder_changed_or_is_gone_is_refused(encoder, tmp_path):
    store = Store(tmp_path / "runs")
    key = store.save(train(run_of(encoder, training__epochs=1), toy()))
    folder = Path(encoder.removeprefix("hf:"))
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    with pytest.raises(StoreError, match=r"^the run reads texts by the encoder .*, whose files have changed since"):
        store.load(key)
    shutil.rmtree(folder)
    with pytest.raises(StoreError, match=r"^the run reads texts by the encoder .*, whose files are missing"):
        store.load(key)


def test_a_run_of_other_files_is_not_trained(encoder):
    run = run_of(encoder, network__encoder_fingerprint="f" * 64)
    with pytest.raises(SettingError, match=r"the run is of an encoder f{16}, but 'hf:.*tiny bert' is"):
        train(run, toy())


def test_fine_tuning_changes_the_transformer_and_is_stored(encoder, tmp_path):
    run = run_of(encoder, network__finetune=True, network__finetune_learning_rate=1e-3, training__epochs=1)
    tuned = train(run, toy())
    before = type(tuned.model.embedding)(tuned.run.network, tuned.words.words)
    before.load_pretrained()
    moved = [
        (old - new).abs().max().item()
        for old, new in zip(before.state_dict().values(), tuned.model.embedding.state_dict().values(), strict=True)
    ]
    assert max(moved) > 1e-4
    store = Store(tmp_path / "runs")
    assert same(store.load(store.save(tuned)), tuned)
    assert key_of(tuned.run) != key_of(train(run_of(encoder, training__epochs=1), toy()).run)


def test_the_transformer_has_a_learning_rate_of_its_own(encoder):
    run = run_of(encoder, network__finetune=True, training__epochs=1)
    model = train(run, toy()).model
    groups = make_optimizer(model, run.training, "all").param_groups
    assert [group["lr"] for group in groups] == [0.05, 0.05, 5e-5]
    assert {id(p) for p in groups[2]["params"]} == {id(p) for p in model.embedding.parameters()}
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    assert len(make_optimizer(model, run.training, "attention").param_groups) == 1


def test_vectors_beside_it_are_refused(encoder):
    run = run_of(encoder, network__vectors="glove", network__vectors_fingerprint="g")
    with pytest.raises(SettingError, match=r"network\.vectors must be left out with the encoder hf:"):
        from heedful.training.start import pretrained_start

        pretrained_start(run, toy(), has_query=False)
