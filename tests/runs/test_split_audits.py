"""One audit shared out: who is wanted, what a worker is asked, and the same bytes from a real cluster."""

import json
import signal

import polars as pl
import pytest

from heedful.auditing.companions import Companions
from heedful.auditing.prepared import prepare_audit
from heedful.data.batches import SHARD_WORDS, shards_of
from heedful.errors import DataError, HeedfulError, SettingError
from heedful.report import read_audit
from heedful.runs import split_audits
from heedful.runs.audit_parts import REST, AuditParts
from heedful.runs.audits import ensure_audit, request_of
from heedful.runs.classifiers import load_texts, load_view
from heedful.runs.folders import files_in
from heedful.runs.other_data import load_for
from heedful.runs.part_worker import AuditSource, PartRequest, absolute, audit_part
from heedful.runs.split_audits import (
    MANY_WORDS,
    ClusterChoice,
    PartCount,
    SplitAudit,
    check_done,
    sharing,
    words_of_batches,
)
from heedful.runs.store import Store
from heedful.runs.sweep import Step
from heedful.runs.worker import ensure, load_data
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from support.classifiers import save_classifier, written
from support.cluster import cluster

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=80, test_limit=400),
    network=NetworkSettings(encoder="average", embed_size=8, hidden_size=5),
    training=TrainingSettings(epochs=1),
)
LABELS = ("negative", "positive")
QUICK = AuditSettings(tests=("permutation",), shown=5)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def trained(store):
    return ensure(RUN, store)[1]


def test_a_cluster_is_wanted_where_it_is_named_or_there_is_work_for_it(monkeypatch):
    monkeypatch.setattr(split_audits, "cores", lambda: 2)
    assert ClusterChoice().is_wanted(MANY_WORDS) and not ClusterChoice().is_wanted(MANY_WORDS - 1)
    assert ClusterChoice(2).is_wanted(1) and not ClusterChoice(1).is_wanted(10 * MANY_WORDS)
    assert ClusterChoice(1, "tcp://somewhere").is_wanted(1)
    monkeypatch.setattr(split_audits, "cores", lambda: 1)
    assert not ClusterChoice().is_wanted(10 * MANY_WORDS)


def test_shards_follow_from_the_texts_alone():
    words = [100 + 7 * number for number in range(1000)]
    shards = shards_of(words)
    assert [batch for shard in shards for batch in shard] == list(range(1000))
    sums = [sum(words[batch] for batch in shard) for shard in shards]
    assert all(SHARD_WORDS <= each < SHARD_WORDS + max(words) for each in sums[:-1])
    assert shards_of([]) == []


def test_a_shard_is_known_before_there_is_a_model(trained):
    dataset = load_data(RUN)[1]
    some = update_settings(QUICK, {"examples": 77})
    for settings in (QUICK, some):
        assert words_of_batches(dataset, settings) == prepare_audit(trained, dataset, settings).subject.batches.words


def test_progress_counts_texts_of_parts_done_and_under_way(tmp_path):
    parts, calls = AuditParts(tmp_path / "audit", 2), []
    count = PartCount(parts, 90, lambda done, total: calls.append((done, total)))
    for done in (32, 64):
        count.advanced(Step("audit/00001", "auditing", done, 64))
    count.advanced(Step("audit/00000", "auditing", 10, 26))
    count.ended(None, "audit/00001", "it failed")
    count.advanced(Step("audit/00001", "auditing", 64, 64))  # a report that comes late
    assert calls == [(32, 90), (64, 90), (74, 90), (10, 90)]


def test_parts_that_failed_are_an_error_that_says_what_is_kept():
    check_done({})
    with pytest.raises(HeedfulError, match="2 parts of the audit failed; the first: why. What was done is kept: the"):
        check_done({"audit/00000": "why.", "audit/00001": "also."})


@pytest.mark.cluster
def test_two_workers_of_which_one_is_killed_make_the_same_bytes(tmp_path, store, trained):
    dataset = load_data(RUN)[1]
    here = ensure_audit(trained, dataset, QUICK, tmp_path / "here")
    done = []
    with cluster(tmp_path / "scratch", 2) as made:

        def kill_one(texts, total):
            done.append(texts)
            if texts and made.workers[0].poll() is None:
                made.workers[0].send_signal(signal.SIGKILL)
                made.workers[0].wait()

        share = sharing(ClusterChoice(scheduler=made.address), AuditSource(), store, report=kill_one)
        there = ensure_audit(
            trained,
            dataset,
            QUICK,
            tmp_path / "there",
            share=share,
            report=lambda done, total: pytest.fail("done in this process"),
        )
        assert made.workers[0].poll() == -signal.SIGKILL and made.workers[1].poll() is None
    assert done[-1] == 400 and there.name == here.name
    tables = ("rows.parquet", "examples.parquet")
    assert [(there / name).read_bytes() for name in tables] == [(here / name).read_bytes() for name in tables]
    verdicts = [json.loads((place / "verdict.json").read_text()) for place in (here, there)]
    assert [{**verdict, "seconds": 0, "date": ""} for verdict in verdicts][0] == {
        **verdicts[1],
        "seconds": 0,
        "date": "",
    }
    assert [path.name for path in (tmp_path / "there").iterdir()] == [there.name]


def made_of(request, parts, source, runs=None):
    """The folder of a part's files, made as a worker makes them."""
    asked = PartRequest(audit=request, part=parts, source=source)
    return audit_part(asked.model_dump_json(), runs or {})


def test_a_worker_reads_other_data_and_refuses_what_has_changed(tmp_path, monkeypatch, store, trained):
    rows = ["text,label", *(f"{'good' if n % 2 else 'bad'} text {n},{LABELS[n % 2]}" for n in range(40))]
    (tmp_path / "new.csv").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    data = absolute(DataSettings(source="new.csv"))
    dataset = load_for(trained, data)
    request = request_of(trained, dataset, QUICK, Companions())
    runs = {request.run: files_in(store.folder / request.run)}
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    files = made_of(request, "00000", AuditSource(data=data), runs)
    assert json.loads(files["facts.json"])["texts"] == len(dataset.test)
    other = request_of(trained, dataset, update_settings(QUICK, {"seed": 1}), Companions())
    (tmp_path / "new.csv").write_text("\n".join([*rows, "one more,positive"]))
    with pytest.raises(DataError, match=r"new\.csv has other content on the worker"):
        made_of(other, REST, AuditSource(data=data), runs)


def test_a_classifier_is_loaded_by_its_folder_and_refused_where_it_is_another(tmp_path):
    folder, twin = (save_classifier(tmp_path / f"tiny-{seed}", seed) for seed in (0, 1))
    rows = ["text,label", *(f"{text},{label}" for text, label in written(40))]
    (tmp_path / "my.csv").write_text("\n".join(rows))
    data = DataSettings(source=str(tmp_path / "my.csv"))
    settings = AuditSettings(tests=("uniform",), shown=2)
    model, dataset = load_view(folder), load_texts(data)
    place = ensure_audit(model, dataset, settings, tmp_path / "audits")
    request = request_of(model, dataset, settings, Companions())
    source = AuditSource(data=data, classifiers={model.key: folder})
    parts = AuditParts(tmp_path / "parts" / request.key, 1)
    assert SplitAudit(request, parts, source).tasks()[f"{request.key}/{REST}"].needs == ()
    rows = read_audit(place).rows
    (tmp_path / "part.parquet").write_bytes(made_of(request, "00000", source)["rows.parquet"])
    assert pl.read_parquet(tmp_path / "part.parquet").equals(rows)
    other = request_of(model, dataset, update_settings(settings, {"seed": 1}), Companions())
    with pytest.raises(SettingError, match="is another model on the worker than where the audit was started"):
        made_of(other, "00000", AuditSource(data=data, classifiers={model.key: twin}))
