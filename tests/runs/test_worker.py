"""What a worker does, without a cluster."""

import json

import pytest
import torch

from heedful.auditing.companions import Companions
from heedful.auditing.request import AuditRequest
from heedful.errors import DataError, SettingError, StoreError
from heedful.runs.audits import ensure_audit, request_of
from heedful.runs.folders import files_in, write_files
from heedful.runs.store import Store
from heedful.runs.worker import audit_run, ensure, ensure_on, load_data, needed_runs, pack, train_run, unpack
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings, key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.teachers import teachers_of

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=40, test_limit=10),
    network=NetworkSettings(encoder="average", embed_size=7, hidden_size=5),
    training=TrainingSettings(epochs=2),
)


@pytest.fixture(scope="module")
def run():
    return load_data(RUN)[0]


def test_a_run_is_of_the_data_that_it_was_trained_on(tmp_path):
    """Neither trained nor audited on what stands in the same place now."""
    file = tmp_path / "own.jsonl"
    lines = [json.dumps({"text": f"word{n % 7} and {label}", "label": label}) for n in range(40) for label in "ab"]
    file.write_text("\n".join(lines))
    run, dataset = load_data(update_settings(RUN, {"data": DataSettings(source=str(file))}))
    assert run.data.fingerprint == dataset.fingerprint and load_data(run)[0] == run
    file.write_text("\n".join([*lines, json.dumps({"text": "more", "label": "a"})]))
    with pytest.raises(DataError, match="own.jsonl' has changed since the run was trained on it.*--model KEY"):
        load_data(run)


def test_a_worker_hands_back_the_run_that_would_have_been_stored_here(tmp_path, run):
    key, here, is_cached = ensure(RUN, Store(tmp_path / "here"))
    assert not is_cached
    files = train_run(run.model_dump_json(), key, {})
    write_files(files, tmp_path / "there" / key)
    there = Store(tmp_path / "there").load(key)
    assert there.run == here.run and there.scores == here.scores and there.words.words == here.words.words
    for name, weight in here.model.state_dict().items():
        assert torch.equal(weight, there.model.state_dict()[name]), name


def test_storing_twice_changes_nothing(tmp_path, run):
    store = Store(tmp_path)
    files = pack(train(run, load_data(run)[1]))
    write_files(files, store.folder / key_of(run))
    write_files({**files, "run.json": b"{}"}, store.folder / key_of(run))
    assert files_in(store.folder / key_of(run)) == files
    assert [path.name for path in tmp_path.iterdir()] == [key_of(run)]


def test_a_worker_takes_the_reference_run_as_files(run):
    follower = update_settings(run, {"network.attention": "frozen", "reference": key_of(run)})
    base = train_run(run.model_dump_json(), key_of(run), {})
    assert "model.safetensors" in train_run(follower.model_dump_json(), key_of(follower), {key_of(run): base})
    with pytest.raises(SettingError, match="needs a reference"):
        train_run(follower.model_dump_json(), key_of(follower), {})


def test_a_worker_with_other_data_says_so(run):
    other = update_settings(run, {"data.fingerprint": "0" * 16})
    with pytest.raises(DataError, match="other content on the worker"):
        train_run(other.model_dump_json(), key_of(other), {})


def test_a_worker_of_another_version_says_so(run):
    with pytest.raises(SettingError, match="trains otherwise"):
        train_run(run.model_dump_json(), "0" * 16, {})


def test_what_is_packed_is_unpacked(run):
    trained = train(run, load_data(run)[1])
    again = unpack(key_of(run), pack(trained))
    assert again.run == run and again.history == trained.history
    for name, weight in trained.model.state_dict().items():
        assert torch.equal(weight, again.model.state_dict()[name]), name


def test_files_that_are_no_finished_run_are_refused_with_its_key(run):
    files = pack(train(run, load_data(run)[1]))
    with pytest.raises(StoreError, match=f"run {key_of(run)} cannot be used: history.parquet was changed.*Delete"):
        unpack(key_of(run), {**files, "history.parquet": files["history.parquet"][:-1]})


def test_a_run_in_parts_is_trained_again(tmp_path, run, caplog):
    key, trained, _ = ensure(RUN, Store(tmp_path))
    (tmp_path / key / "run.json").unlink()
    again, _, is_cached = ensure(RUN, Store(tmp_path))
    assert (again, is_cached) == (key, False)
    assert f"{key} is not a finished run and is made again: run.json is missing" in caplog.text
    assert Store(tmp_path).load(key).scores == trained.scores
    assert ensure(RUN, Store(tmp_path))[2]


def test_a_reference_may_be_given_by_the_beginning_of_its_key(tmp_path, run):
    store = Store(tmp_path)
    key = ensure(RUN, store)[0]
    follower = update_settings(RUN, {"network.attention": "frozen", "reference": key[:6]})
    _, trained, _ = ensure(follower, store)
    assert trained.run.reference == key
    assert ensure(update_settings(follower, {"reference": key}), store)[2]


def test_a_run_that_is_stored_is_not_trained_again(tmp_path, run):
    dataset = load_data(run)[1]
    key, trained, is_cached = ensure_on(run, dataset, Store(tmp_path))
    assert not is_cached
    again = ensure_on(run, dataset, Store(tmp_path), report=lambda progress: pytest.fail("trained again"))
    assert (again[0], again[1].scores, again[2]) == (key, trained.scores, True)


def test_a_worker_hands_back_the_audit_that_would_have_been_made_here(tmp_path, run):
    trained, dataset = train(run, load_data(run)[1]), load_data(run)[1]
    other = train(update_settings(run, {"seed": 1}), dataset)
    settings, companions = AuditSettings(tests=("uniform",), shown=3), Companions(seeds=(other,))
    request = request_of(trained, dataset, settings, companions)
    runs = {key_of(each.run): pack(each) for each in (trained, other)}
    files = audit_run(request.model_dump_json(), request.key, runs)
    here = files_in(ensure_audit(trained, dataset, settings, tmp_path, companions))
    assert (
        set(files)
        == set(here)
        == {
            "SHA256SUMS",
            "audit.json",
            "examples.parquet",
            "outcomes.parquet",
            "rows.parquet",
            "verdict.json",
        }
    )
    for name in ("rows.parquet", "examples.parquet"):
        assert files[name] == here[name]


def test_a_worker_that_audits_otherwise_says_so(run):
    request = AuditRequest(run=key_of(run), data=run.data.fingerprint)
    with pytest.raises(SettingError, match="audits otherwise"):
        audit_run(request.model_dump_json(), "0" * 16, {})


TAUGHT = update_settings(RUN, {"training.method": "ensemble", "training.options": {"teachers": 2}})


def test_teachers_are_trained_first_stored_and_found_again(tmp_path):
    store, reports = Store(tmp_path), []
    key, student, is_cached = ensure(TAUGHT, store, report=reports.append)
    teachers = [key_of(each) for each in teachers_of(student.run)]
    assert not is_cached and {path.name for path in tmp_path.iterdir()} == {key, *teachers}
    named = list(dict.fromkeys(progress.teacher for progress in reports))
    assert named == ["teacher 1 of 2", "teacher 2 of 2", ""]
    assert needed_runs(student.run) == tuple(teachers) and needed_runs(store.load(teachers[0]).run) == ()
    reports.clear()
    assert ensure(TAUGHT, store, report=reports.append)[2] and not reports
    other = update_settings(TAUGHT, {"training.options": {"teachers": 2, "weight_attention": 2.0}})
    ensure(other, store, report=reports.append)
    assert {progress.teacher for progress in reports} == {""}  # the same teachers


def test_a_worker_takes_teachers_as_files(tmp_path):
    run, (first, second) = load_data(TAUGHT)[0], teachers_of(load_data(TAUGHT)[0])
    files = {key_of(each): train_run(each.model_dump_json(), key_of(each), {}) for each in (first, second)}
    trained = train_run(run.model_dump_json(), key_of(run), files)
    key, here, _ = ensure(TAUGHT, Store(tmp_path))
    there = unpack(key, trained)
    for name, weight in here.model.state_dict().items():
        assert torch.equal(weight, there.model.state_dict()[name]), name
    with pytest.raises(SettingError, match="needs 2 teachers"):
        train_run(run.model_dump_json(), key_of(run), {})
