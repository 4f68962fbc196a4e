"""Many runs as one table, and how long more of them may take."""

import pytest

from heedful.jobs.planning import audit_of, unique_runs
from heedful.jobs.result_table import (
    VERDICT_COLUMNS,
    Durations,
    finished_verdict,
    result_table,
    verdict_columns,
)
from heedful.jobs.sweep_file import expand_grid
from heedful.jobs.work import ensure, load_data
from heedful.schema import AuditAnswer, ClassAnswer, Interval, Recommendation, Shares, Verdict
from heedful.settings import AuditSettings
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from support.audits import ensure_audit
from support.cluster import SMALL


@pytest.fixture(scope="module")
def half_done(tmp_path_factory):
    """Two runs that differ in seed and kernels; the first is in the store."""
    store = Store(tmp_path_factory.mktemp("runs"))
    content = {**SMALL, "training": {"epochs": 1}, "network": {"embed_size": 7, "hidden_size": 5, "encoder": "cnn"}}
    runs = unique_runs(expand_grid({**content, "runs": [{"network.kernels": [1, 3]}, {"seed": 1}]}), store)
    ensure(next(iter(runs.values())), store)
    return store, runs


def test_the_table_has_a_row_a_run_and_a_column_a_setting_that_varies(half_done):
    store, runs = half_done
    first, second = runs
    rows = result_table(runs, store, {second: "no luck"}, cached=[first])
    assert rows.columns[:6] == ["key", "network.kernels", "seed", "status", "error", "accuracy"]
    assert rows.columns[-1] == "seconds"
    assert rows.select("key", "network.kernels", "seed", "status", "error").rows() == [
        (first, "[1, 3]", 0, "cached", None),
        (second, "[1, 3, 5, 7]", 1, "failed", "no luck"),
    ]
    assert rows["accuracy"][0] == store.read(first).scores["test"]["accuracy"] and rows["accuracy"][1] is None
    assert result_table(runs, store, {})["status"].to_list() == ["done", "left"]


def test_runs_that_are_audited_have_a_verdict_in_the_table(half_done, tmp_path):
    store, runs = Store(half_done[0].folder, tmp_path), half_done[1]
    first, second = runs
    audits = {key: audit_of(run, AuditSettings(tests=("outcome",), shown=0)) for key, run in runs.items()}
    trained, dataset = store.load(first), load_data(runs[first])[1]
    rows = result_table(runs, store, {}, cached=[first], audits=audits)
    assert rows["status"].to_list() == ["left", "left"] and rows["answer"].to_list() == [None, None]
    place = ensure_audit(trained, dataset, audits[first].settings, tmp_path)
    assert place.name == audits[first].key
    rows = result_table(runs, store, {audits[second].key: "no luck"}, [first], audits=audits)
    assert rows.columns[-8:] == [*VERDICT_COLUMNS, "seconds"]
    assert rows["status"].to_list() == ["done", "failed"] and rows["error"].to_list() == [None, "no luck"]
    verdict = finished_verdict(place)
    assert rows["answer"].to_list() == [verdict.answer.headline, None]
    assert rows["points"].to_list() == [verdict.answer.overall.shares.points.value, None]
    cached = [first, audits[first].key]
    assert result_table(runs, store, {}, cached, audits=audits)["status"][0] == "cached"
    (place / "rows.parquet").unlink()
    assert finished_verdict(place) is None
    assert result_table(runs, store, {}, cached, audits=audits)["status"][0] == "left"


def answered(**recommendation):
    shares = Shares(points=Interval(value=0.6, low=0.5, high=0.7, n=90), luck=0.2, no_small_set=Interval(value=0.1))
    overall = ClassAnswer(answer="For some texts", sentence="", shares=shares)
    shown = Recommendation(**recommendation) if recommendation else None
    answer = AuditAnswer(headline="For some texts", overall=overall, recommendation=shown)
    return Verdict(run="r", data="d", texts=200, labels=("a", "b"), lines=(), answer=answer)


def test_what_to_show_is_a_word():
    for recommendation, shown in [
        ({"show": "attention", "ranking": "attention"}, "attention"),
        ({"show": "ranking", "ranking": "leave_one_out"}, "leave_one_out"),
        ({"show": "key words", "ranking": "alone"}, "key words"),
        ({"show": "nothing"}, "nothing"),
        ({}, None),
    ]:
        assert verdict_columns(answered(**recommendation)) == {
            "answer": "For some texts",
            "points": 0.6,
            "points_low": 0.5,
            "points_high": 0.7,
            "luck": 0.2,
            "no_small_set": 0.1,
            "recommendation": shown,
        }


def test_the_estimate_goes_by_runs_that_differ_in_the_seed_alone_then_by_data_and_encoder(half_done):
    store, runs = half_done
    first, second = runs.values()
    (described,) = store.listing()[0].values()
    slow = described.model_copy(update={"run": update_settings(second, {"seed": 5}), "seconds": 60.0})
    assert Durations([described, slow]).of(second) == 60.0
    assert Durations([described]).of(second) == described.seconds
    assert Durations([slow]).of(update_settings(first, {"data.source": "x"})) is None
