"""What jobs do, without a cluster: runs, audits and parts, in a store of their own."""

import json
from io import BytesIO

import polars as pl
import pytest
import torch

from heedful.auditing.audit import prepare_audit
from heedful.errors import DataError, SettingError, StoreError
from heedful.jobs.audit_parts import request_of
from heedful.jobs.request import AuditRequest, AuditSource, AuditWork, Job, absolute
from heedful.jobs.work import do, ensure, load_data
from heedful.settings import (
    AuditSettings,
    ComparisonModels,
    DataSettings,
    NetworkSettings,
    Run,
    TrainingSettings,
    key_of,
)
from heedful.settings.validation import update_settings
from heedful.store.folders import files_in
from heedful.store.store import REST, Store
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.opening import load_texts, open_subject
from heedful.training.teachers import teachers_of
from support.audits import ensure_audit
from support.classifiers import save_classifier, written

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=40, test_limit=10),
    network=NetworkSettings(encoder="average", embed_size=7, hidden_size=5),
    training=TrainingSettings(epochs=2),
)
TAUGHT = update_settings(RUN, {"training.method": "ensemble", "training.options": {"teachers": 2}})
UNIFORM = AuditSettings(tests=("uniform",), shown=3)


@pytest.fixture(scope="module")
def run():
    return load_data(RUN)[0]


def ignore(what, done, total):
    """Hears how far a job is."""


def trained_in(store, run, key=None):
    key = key or key_of(run)
    do(Job(key, "train", run.model_dump_json()), store, "cpu", ignore)
    return store.load(key)


def same_weights(first, second):
    return all(
        torch.equal(weight, second.model.state_dict()[name]) for name, weight in first.model.state_dict().items()
    )


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


def test_a_job_stores_the_run_that_train_would_have_stored(tmp_path, run):
    _, here, is_cached = ensure(RUN, Store(tmp_path / "here"))
    there = trained_in(Store(tmp_path / "there"), run)
    assert not is_cached and there.run == here.run and there.scores == here.scores
    assert there.words.words == here.words.words and same_weights(here, there)


def test_a_job_needs_its_reference_in_the_store(tmp_path, run):
    follower = update_settings(run, {"network.attention": "frozen", "reference": key_of(run)})
    with pytest.raises(StoreError, match=f"no run '{key_of(run)}'"):
        trained_in(Store(tmp_path), follower)
    trained_in(Store(tmp_path), run)
    assert trained_in(Store(tmp_path), follower).run == follower


def test_a_worker_with_other_data_or_of_another_version_says_so(tmp_path, run):
    with pytest.raises(DataError, match="other content on the worker"):
        trained_in(Store(tmp_path), update_settings(run, {"data.fingerprint": "0" * 16}))
    with pytest.raises(SettingError, match="trains otherwise"):
        trained_in(Store(tmp_path), run, "0" * 16)
    request = AuditRequest(run=key_of(run), data=run.data.fingerprint)
    for kind, part, key in (("audit", "", "0" * 16), ("part", "00000", f"{'0' * 16}/00000")):
        with pytest.raises(SettingError, match="audits otherwise"):
            do(Job(key, kind, AuditWork(audit=request, part=part).model_dump_json()), Store(tmp_path), "cpu", ignore)


def test_a_run_in_parts_is_trained_again(tmp_path, caplog):
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
    again = ensure(update_settings(follower, {"reference": key}), store)
    assert (again[1].scores, again[2]) == (trained.scores, True)


def test_teachers_are_trained_first_stored_and_found_again(tmp_path):
    store, reports = Store(tmp_path), []
    key, student, is_cached = ensure(TAUGHT, store, report=reports.append)
    teachers = [key_of(each) for each in teachers_of(student.run)]
    assert not is_cached and {path.name for path in tmp_path.iterdir()} == {key, *teachers}
    named = list(dict.fromkeys(progress.teacher for progress in reports))
    assert named == ["teacher 1 of 2", "teacher 2 of 2", ""]
    reports.clear()
    assert ensure(TAUGHT, store, report=reports.append)[2] and not reports
    other = update_settings(TAUGHT, {"training.options": {"teachers": 2, "weight_attention": 2.0}})
    ensure(other, store, report=reports.append)
    assert {progress.teacher for progress in reports} == {""}  # the same teachers


def test_an_audit_job_makes_the_audit_that_would_have_been_made_here(tmp_path, run):
    store, dataset = Store(tmp_path / "runs", tmp_path / "there"), load_data(run)[1]
    trained, other = (trained_in(store, each) for each in (run, update_settings(run, {"seed": 1})))
    comparison_models = ComparisonModels(seeds=(other,))
    request = request_of(FinishedRun(trained), dataset, UNIFORM, comparison_models.map(FinishedRun))
    place = tmp_path / "there" / request.key
    do(Job(request.key, "audit", AuditWork(audit=request).model_dump_json()), store, "cpu", ignore)
    here = files_in(ensure_audit(trained, dataset, UNIFORM, tmp_path / "here", comparison_models))
    there = files_in(place)
    assert set(there) == set(here) and [path.name for path in place.parent.iterdir()] == [request.key]
    assert all(there[name] == here[name] for name in ("rows.parquet", "examples.parquet"))


def part_of(request, name, source, store):
    """The files of a part, made as a worker makes them."""
    asked = AuditWork(audit=request, part=name, source=source).model_dump_json()
    job = Job(f"{request.key}/{name}", "part", asked)
    do(job, store, "cpu", ignore)
    return files_in(job.place(store))


def test_a_worker_reads_other_data_and_refuses_what_has_changed(tmp_path, monkeypatch, run):
    labels, store = ("negative", "positive"), Store(tmp_path / "runs", tmp_path / "audits")
    trained = trained_in(store, run)
    rows = ["text,label", *(f"{'good' if n % 2 else 'bad'} text {n},{labels[n % 2]}" for n in range(40))]
    (tmp_path / "new.csv").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    data = absolute(DataSettings(source="new.csv"))
    subject = FinishedRun(trained)
    dataset = load_texts(subject, data)
    request = request_of(subject, dataset, UNIFORM)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    files = part_of(request, "00000", AuditSource(data=data), store)
    assert json.loads(files["facts.json"])["texts"] == len(dataset.test)
    other = request_of(subject, dataset, update_settings(UNIFORM, {"seed": 1}))
    (tmp_path / "new.csv").write_text("\n".join([*rows, "one more,positive"]))
    with pytest.raises(DataError, match=r"new\.csv has other content on the worker"):
        part_of(other, REST, AuditSource(data=data), store)


def test_a_classifier_is_loaded_by_its_folder_and_refused_where_it_is_another(tmp_path):
    folder, twin = (save_classifier(tmp_path / f"tiny-{seed}", seed) for seed in (0, 1))
    rows = ["text,label", *(f"{text},{label}" for text, label in written(40))]
    (tmp_path / "my.csv").write_text("\n".join(rows))
    data = DataSettings(source=str(tmp_path / "my.csv"))
    model = open_subject(folder)
    dataset = load_texts(model, data)
    request = request_of(model, dataset, UNIFORM)
    source = AuditSource(data=data, classifiers={model.key: folder})
    store = Store(tmp_path, tmp_path / "parts")
    rows = pl.read_parquet(BytesIO(part_of(request, "00000", source, store)["rows.parquet"]))
    assert rows.equals(pl.read_parquet(ensure_audit(model, dataset, UNIFORM, tmp_path / "audits") / "rows.parquet"))
    assert prepare_audit(model, dataset, UNIFORM).shards == [
        range(len(prepare_audit(model, dataset).texts.batches.words))
    ]
    other = request_of(model, dataset, update_settings(UNIFORM, {"seed": 1}))
    with pytest.raises(SettingError, match="is another model on the worker than where the audit was started"):
        part_of(other, "00000", AuditSource(data=data, classifiers={model.key: twin}), store)
