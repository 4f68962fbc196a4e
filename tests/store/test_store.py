"""Finished runs on disk, and what is no longer one."""

import json
import os
import shlex
import shutil
from dataclasses import replace

import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file

from heedful.cli.command_options import make_run
from heedful.errors import SettingError, StoreError
from heedful.settings import key_of
from heedful.settings.validation import update_settings
from heedful.store.folders import write_checksums
from heedful.store.store import AUDIT_FILES, Store, audit_defect, audit_refusal, audited_runs, find_audit
from heedful.training.loop import train
from support.runs import changed, toy
from support.synthetic_audit import make_audit

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
        "SHA256SUMS",
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


def nest_json(folder):
    (folder / "run.json").write_text("[" * 100_000, encoding="utf-8")


def change_run(folder, **changes):
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_settings(folder, part, **changes):
    run = json.loads((folder / "run.json").read_text())["run"]
    change_run(folder, run={**run, part: {**run[part], **changes}})


def rename_key(folder):
    run = json.loads((folder / "run.json").read_text())["run"]
    change_run(folder, run={**run, "seed": 9})


def spoil_weights(folder):
    (folder / "model.safetensors").write_bytes(b"cos\nsystem\n(S'true'\ntR.")


def change_weights(folder, change):
    path = folder / "model.safetensors"
    save_file({name: change(name, weight).contiguous() for name, weight in load_file(path).items()}, path)


def other_weights(folder):
    save_file({"embedding.weight": torch.zeros(2, 2)}, folder / "model.safetensors")


def wider_head(folder):
    change_weights(folder, lambda name, weight: weight if "head" not in name else torch.cat([weight, weight]))


def half_precision(folder):
    change_weights(folder, lambda name, weight: weight.half())


def foreign_tokenizer(folder):
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")


def equal_ids(folder):
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    words = list(content["model"]["vocab"])
    content["model"]["vocab"][words[-1]] = content["model"]["vocab"][words[-2]]
    path.write_text(json.dumps(content))


def spoil_history(folder):
    content = (folder / "history.parquet").read_bytes()
    (folder / "history.parquet").write_bytes(content[:40] + bytes(60) + content[100:])


def cut_history(folder):
    content = (folder / "history.parquet").read_bytes()
    (folder / "history.parquet").write_bytes(content[:-9])


def other_history(folder):
    pl.DataFrame({"epoch": [1]}).write_parquet(folder / "history.parquet")


def loses(name):
    def lose(folder):
        (folder / name).unlink()

    return lose


DAMAGES = {
    "run": [
        (spoil_json, "run.json cannot be read as JSON"),
        (nest_json, "run.json cannot be read as JSON"),
        (lambda folder: change_settings(folder, "network", hidden_size=-1), "run.network.hidden_size"),
        (lambda folder: change_run(folder, embed_size=-1), "embed_size .*; it is -1"),
        (lambda folder: change_run(folder, chosen_epoch=-1), "chosen_epoch"),
        (lambda folder: change_run(folder, scores={"dev": {}}), "scores of the test texts"),
        (lambda folder: change_run(folder, labels=["good"]), "labels .*at least 2"),
        (lambda folder: change_run(folder, labels=["good", "good"]), "each label once"),
        (lambda folder: change_run(folder, seed=9), "run.json is not of Heedful .*seed"),
        (rename_key, "another run than the folder's name says"),
    ],
    "weights": [
        (lambda folder: change_run(folder, embed_size=10**8), "must be float32 of shape"),
        (lambda folder: change_run(folder, labels=["a", "b", "c"]), "must be float32 of shape"),
        (spoil_weights, "model.safetensors cannot be read"),
        (other_weights, "must have the weights that the settings ask for; it differs in"),
        (wider_head, r"head.linear.bias must be float32 of shape \[1\]; it is float32 of shape \[2\]"),
        (half_precision, "must be float32 .*it is float16"),
    ],
    "others": [
        (foreign_tokenizer, "tokenizer.json"),
        (equal_ids, "tokenizer.json must number its words"),
        (spoil_history, "history.parquet cannot be read"),
        (cut_history, "history.parquet cannot be read"),
        (other_history, "history.parquet must have the columns epoch, split"),
    ],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory, trained):
    """A run whose files are damaged one way after the other."""
    store = Store(tmp_path_factory.mktemp("damaged") / "runs")
    store.save(trained)
    return store


@pytest.mark.parametrize("kind", ["run", "weights", "others"])
def test_what_a_file_says_is_checked_though_its_checksum_is_right(saved, trained, kind):
    for spoil, message in DAMAGES[kind]:
        spoil(saved.folder / KEY)
        write_checksums(saved.folder / KEY)
        with pytest.raises(StoreError, match=f"{KEY} is not a finished run: .*{message}.*Delete that folder, then "):
            saved.load(KEY)
        shutil.rmtree(saved.folder / KEY)
        saved.save(trained)


def test_a_damaged_run_is_not_there_and_is_made_again(saved, trained, caplog):
    """One damage to each file; how it was damaged makes no difference to its checksum."""
    losses = [loses(path.name) for path in (saved.folder / KEY).iterdir()]
    for spoil in (spoil_json, spoil_weights, foreign_tokenizer, cut_history, *losses):
        spoil(saved.folder / KEY)
        assert RUN not in saved
        with pytest.raises(StoreError, match=f"{KEY} is not a finished run: .*(is missing|checksum differs)"):
            saved.load(KEY)
        caplog.clear()
        assert saved.get(RUN) is None
        assert KEY in caplog.text and "is made again" in caplog.text
        saved.save(trained)
        assert RUN in saved and saved.get(RUN) is not None
        assert [path.name for path in saved.folder.iterdir()] == [KEY]


def test_a_flipped_byte_is_seen_before_any_library_reads_the_file(store, monkeypatch):
    path = store.folder / KEY / "history.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("polars was given a damaged file"))
    for read in (store.load, lambda key: store.table(key, "history.parquet")):
        with pytest.raises(StoreError, match="history.parquet was changed or damaged after it was written"):
            read(KEY)
    assert RUN not in store


def test_the_cure_is_a_command_that_makes_the_run(store):
    (store.folder / KEY / "model.safetensors").unlink()
    with pytest.raises(StoreError) as refused:
        store.read(KEY)
    _, _, command = str(refused.value).partition("make it again: ")
    heedful, train_, source, *settings = shlex.split(command)
    places = [value for option, value in zip(settings[::2], settings[1::2], strict=True) if option == "--set"]
    assert (heedful, train_) == ("heedful", "train")
    assert make_run({"data": source}, places) == update_settings(RUN, {"data.fingerprint": ""})
    assert settings[-2:] == ["--runs", str(store.folder)]


def test_a_beginning_of_a_key_will_do(store, trained):
    assert store.read(KEY[:3]).run == RUN == store.load(KEY[:3]).run
    assert store.table(KEY[:3], "history.parquet").equals(store.table(KEY, "history.parquet"))
    other = replace(trained, run=update_settings(RUN, {"seed": 1}))
    store.save(other)
    with pytest.raises(StoreError, match=f"no run '{KEY}0' in .*Known: .*heedful list runs"):
        store.find(KEY + "0")
    shutil.copytree(store.folder / KEY, store.folder / (KEY[:8] + "0" * 8))
    with pytest.raises(StoreError, match=f"2 runs in .* begin with '{KEY[:8]}'.*Give more"):
        store.read(KEY[:8])
    assert store.find(KEY) == KEY


def test_nothing_outside_the_store_is_a_run(store):
    for name in ("", ".", "..", "../runs", "/etc", "a" * 5000, "nul\0l"):
        with pytest.raises(StoreError, match="no run '"):
            store.read(name)


def test_a_run_refers_to_another_by_its_whole_key(store):
    follower = update_settings(RUN, {"network.attention": "frozen", "reference": KEY[:5]})
    assert store.with_full_reference(follower).reference == KEY
    assert store.with_full_reference(RUN) == RUN
    with pytest.raises(StoreError, match="no run 'abcdef'"):
        store.with_full_reference(update_settings(RUN, {"reference": "abcdef"}))


def test_files_are_readable_as_the_users_mask_says(tmp_path, trained):
    before = os.umask(0o027)
    try:
        folder = tmp_path / Store(tmp_path).save(trained)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o640}
    assert folder.stat().st_mode & 0o777 == 0o750


def test_weights_are_written_as_the_library_writes_them(tmp_path, store, trained):
    save_file({k: v.contiguous() for k, v in trained.model.state_dict().items()}, tmp_path / "weights")
    assert (tmp_path / "weights").read_bytes() == (store.folder / KEY / "model.safetensors").read_bytes()


def test_foreign_and_corrupt_folders_are_reported_and_skipped(store):
    (store.folder / "holiday photos").mkdir()
    shutil.copytree(store.folder / KEY, store.folder / "0123456789abcdef")
    runs, problems = store.listing()
    assert list(runs) == [KEY]
    assert len(problems) == 2
    assert "another run than the folder's name says" in problems[0]
    assert "holiday photos is not a finished run" in problems[1] and "move it out" in problems[1]
    assert "Delete" not in problems[1]


def test_a_store_that_cannot_be_read_is_one_sentence(store, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    with pytest.raises(StoreError, match="runs cannot be read: Permission denied. Make it readable"):
        store.listing()


def test_an_empty_store_lists_nothing(tmp_path):
    assert Store(tmp_path / "none").listing() == ({}, [])


# Audits on disk, named and checked without opening their tables.

FIRST, SECOND = "aaaa000000000000", "aaab000000000000"
"""Keys of runs."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small audit, without checksums, as earlier versions wrote it."""
    return make_audit(tmp_path_factory.mktemp("audit"), texts=3, shown=1)


def put(made, folder, key, run, age=0):
    """A copy of the audit under that key, of that run, made so many seconds ago."""
    place = shutil.copytree(made, folder / key)
    verdict = json.loads((place / "verdict.json").read_text())
    for name in ("verdict.json", "audit.json"):
        (place / name).write_text(json.dumps({**verdict, "run": run}))
    write_checksums(place)
    when = 1_700_000_000 - age
    os.utime(place, (when, when))
    return place


@pytest.fixture
def folder(tmp_path, made):
    """Two audits of one run, and one of another."""
    put(made, tmp_path, "1111000000000000", FIRST, age=10)
    put(made, tmp_path, "1112000000000000", FIRST)
    put(made, tmp_path, "2222000000000000", SECOND)
    return tmp_path


def test_a_finished_audit_has_no_problem(folder):
    assert {audit_defect(place) for place in folder.iterdir()} == {None}


def test_what_is_missing_or_changed_is_named(folder):
    place = folder / "2222000000000000"
    for name in AUDIT_FILES:
        content = (place / name).read_bytes()
        (place / name).unlink()
        assert audit_defect(place) == f"{name} is missing"
        (place / name).write_bytes(content + b" ")
        assert audit_defect(place).startswith(f"{name} was changed or damaged")
        (place / name).write_bytes(content)
    assert audit_defect(folder / "none") == "there is no such folder"


def test_without_checksums_a_verdict_must_still_be_one(folder):
    place = folder / "2222000000000000"
    (place / "SHA256SUMS").unlink()
    assert audit_defect(place) is None
    for content in ("{", "[]", "{}", "[" * 100_000, '{"run": "\\ud800"}'):
        (place / "verdict.json").write_text(content)
        assert audit_defect(place).startswith("verdict.json ")


def test_an_audit_is_found_by_its_path_its_key_or_its_run_or_a_beginning_of_them(folder):
    first, second, third = (folder / key for key in ("1111000000000000", "1112000000000000", "2222000000000000"))
    for name, place in {first.name: first, "1112": second, "2": third}.items():
        assert find_audit(name, folder) == place
    for name, place in {FIRST: second, SECOND: third, "aaaa": second, "aaab": third}.items():
        assert find_audit(name, folder) == place
    assert find_audit(str(third), folder / "elsewhere") == third


def test_what_is_not_there_is_said_with_what_is(folder):
    for name in ("aaa", "11", "1"):
        with pytest.raises(StoreError, match=f"several runs or audits in .* begin with '{name}': .*Give more"):
            find_audit(name, folder)
    for name in ("", ".", "..", "ffff", "a" * 5000, "../.."):
        with pytest.raises(StoreError, match=f"no audit of '.*run `heedful audit --model .*Audited runs: .*{FIRST}"):
            find_audit(name, folder)
    with pytest.raises(StoreError, match="Audited runs: none"):
        find_audit("ffff", folder / "none")


def test_broken_audits_are_no_obstacle_to_others(folder):
    (folder / "1112000000000000" / "rows.parquet").unlink()
    (folder / "2222000000000000" / "verdict.json").write_text("{")
    (folder / "2222000000000000" / "audit.json").write_text("{")
    assert find_audit(FIRST, folder) == folder / "1111000000000000"
    assert find_audit("aaaa", folder) == folder / "1111000000000000"


def test_a_run_whose_audits_are_all_broken_is_refused_with_a_cure(folder):
    (folder / "2222000000000000" / "rows.parquet").unlink()
    with pytest.raises(StoreError, match=f"rows.parquet is missing. Delete that folder.*--model {SECOND}"):
        find_audit(SECOND, folder)


def test_a_run_is_known_from_either_file(folder):
    place = folder / "2222000000000000"
    assert audited_runs(place) == (SECOND,)
    (place / "verdict.json").unlink()
    assert audited_runs(place) == (SECOND,)
    (place / "audit.json").write_text("[1]")
    assert audited_runs(place) == ()
    assert "then `heedful audit` again" in str(audit_refusal(place, "lost"))
