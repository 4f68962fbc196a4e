import json
import shutil
from dataclasses import replace

import polars as pl
import pytest
import torch

from heedful.errors import SettingError, StoreError
from heedful.runs.store import Store
from heedful.settings import key_of
from heedful.training.loop import train
from support.runs import changed, toy

RUN = changed(data__fingerprint="f")
KEY = key_of(RUN)


@pytest.fixture(scope="module")
def trained():
    return train(RUN, toy())


@pytest.fixture
def store(tmp_path, trained):
    store = Store(tmp_path / "runs")
    store.save(trained)
    return store


def test_what_is_saved_comes_back(store, trained):
    again = store.load(KEY)
    assert all(
        torch.equal(a, b) for a, b in zip(*(t.model.state_dict().values() for t in (trained, again)), strict=True)
    )
    for name in ("run", "labels", "history", "chosen_epoch", "scores", "seconds", "notes", "coverage"):
        assert getattr(again, name) == getattr(trained, name), name
    assert again.words.words == trained.words.words
    assert not again.model.training


def test_scores_that_are_not_defined_come_back_so(tmp_path, trained):
    store = Store(tmp_path)
    store.save(replace(trained, scores={"dev": {"roc_auc": float("nan")}, "test": {"roc_auc": 1.0}}))
    assert str(store.load(KEY).scores) == "{'dev': {'roc_auc': nan}, 'test': {'roc_auc': 1.0}}"


def test_a_run_is_there_once_it_is_saved(store):
    assert RUN in store
    assert changed(seed=1, data__fingerprint="f") not in store


def test_a_run_whose_data_was_never_read_is_not_asked_for(store):
    with pytest.raises(SettingError, match=r"`data\.fingerprint` must be set"):
        _ = changed() in store


def test_the_folder_holds_what_the_design_says(store):
    assert sorted(p.name for p in (store.folder / KEY).iterdir()) == [
        "history.parquet",
        "model.safetensors",
        "run.json",
        "tokenizer.json",
    ]
    assert pl.read_parquet(store.folder / KEY / "history.parquet").columns == ["epoch", "split", "measure", "value"]


def test_scores_of_tokens_are_stored_only_where_they_were_recorded(tmp_path, store):
    recorded = train(changed(training__record_flow=(0, 3)), toy())
    key = Store(tmp_path / "recorded").save(recorded)
    assert (tmp_path / "recorded" / key / "tokens.parquet").is_file()
    assert Store(tmp_path / "recorded").load(key).tokens.equals(recorded.tokens)
    assert store.load(KEY).tokens is None
    with pytest.raises(StoreError, match="no scores of tokens that can be read.*Train with `--record-flow`"):
        store.tokens(KEY)


def test_saving_twice_changes_nothing(store, trained):
    before = (store.folder / KEY / "run.json").stat().st_mtime_ns
    store.save(trained)
    assert (store.folder / KEY / "run.json").stat().st_mtime_ns == before
    assert [p.name for p in store.folder.iterdir()] == [KEY]


def test_an_unknown_key_lists_some_known(store):
    with pytest.raises(StoreError, match=f"no run 'abc' in .*Known: {KEY}"):
        store.load("abc")


def spoil_json(folder):
    (folder / "run.json").write_text("{", encoding="utf-8")


def spoil_settings(folder):
    content = json.loads((folder / "run.json").read_text())
    content["run"]["network"]["hidden_size"] = -1
    (folder / "run.json").write_text(json.dumps(content))


def rename_key(folder):
    content = json.loads((folder / "run.json").read_text())
    content["run"]["seed"] = 9
    (folder / "run.json").write_text(json.dumps(content))


def spoil_weights(folder):
    (folder / "model.safetensors").write_bytes(b"cos\nsystem\n(S'true'\ntR.")


def other_weights(folder):
    from safetensors.torch import save_file

    save_file({"embedding.weight": torch.zeros(2, 2)}, folder / "model.safetensors")


def foreign_tokenizer(folder):
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")


def spoil_history(folder):
    content = (folder / "history.parquet").read_bytes()
    (folder / "history.parquet").write_bytes(content[:40] + bytes(60) + content[100:])


def lose_history(folder):
    (folder / "history.parquet").unlink()


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_json,
        spoil_settings,
        rename_key,
        spoil_weights,
        other_weights,
        foreign_tokenizer,
        spoil_history,
        lose_history,
    ],
)
def test_a_corrupt_run_is_refused_with_its_place(store, spoil):
    spoil(store.folder / KEY)
    with pytest.raises(StoreError, match="run.json|runs|tokenizer.json"):
        store.load(KEY)


def test_foreign_and_corrupt_folders_are_reported_and_skipped(store):
    (store.folder / "holiday photos").mkdir()
    shutil.copytree(store.folder / KEY, store.folder / "0123456789abcdef")
    runs, problems = store.listing()
    assert list(runs) == [KEY]
    assert len(problems) == 2
    assert "holiday photos" in problems[1] and "another run than its folder" in problems[0]


def test_an_empty_store_lists_nothing(tmp_path):
    assert Store(tmp_path / "none").listing() == ({}, [])
