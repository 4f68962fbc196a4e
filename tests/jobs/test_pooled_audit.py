"""The audit of several seeds: one verdict, all rows, found by each of its runs."""

import json

import polars as pl
import pytest

from heedful.errors import StoreError
from heedful.jobs import pooled_audit
from heedful.jobs.pooled_audit import write_pooled
from heedful.report import read_audit
from heedful.report.audits import audited_model, by_training
from heedful.report.example_texts import text_outcomes
from heedful.schema import updated
from heedful.store.folders import write_checksums
from heedful.store.store import audit_defect, find_audit
from heedful.verdict.pooling import pooled_verdict
from support.synthetic_audit import make_audit


@pytest.fixture
def folder(tmp_path):
    """Two seeds of one model, audited."""
    for name, seed in (("a", 0), ("b", 1)):
        place = make_audit(tmp_path / name, encoder="bilstm", texts=24, shown=3)
        verdict = json.loads((place / "verdict.json").read_text())
        verdict["run"] = f"bilstm-{seed}"
        verdict["settings"]["run"]["seed"] = seed
        verdict["trainings"] = [{"run": verdict["run"], "seed": seed}]
        (place / "verdict.json").write_text(json.dumps(verdict))
        for table in ("rows", "examples", "outcomes"):
            own = pl.read_parquet(place / f"{table}.parquet").with_columns(run=pl.lit(verdict["run"]))
            own.write_parquet(place / f"{table}.parquet")
        (place / "audit.json").write_text("{}")
        write_checksums(place)
        place.rename(tmp_path / f"audit-{name}")
    return tmp_path


def pooled(folder):
    write_pooled([folder / "audit-a", folder / "audit-b"], folder / "all")
    return read_audit(folder / "all")


def test_all_rows_are_there_and_the_texts_of_the_first_seed_are_shown(folder):
    seeds, one = [read_audit(folder / name) for name in ("audit-a", "audit-b")], pooled(folder)
    assert [training.run for training in one.verdict.trainings] == ["bilstm-0", "bilstm-1"]
    assert one.name == "bilstm" and one.verdict.settings["run"]["seed"] == [0, 1]
    assert [set(rows["run"]) for rows in by_training(one.rows)] == [{"bilstm-0"}, {"bilstm-1"}]
    assert set(one.rows.filter(pl.col("item").is_not_null())["run"]) == {"bilstm-0"}
    assert one.examples.equals(seeds[0].examples)
    assert one.outcomes.equals(pl.concat([audit.outcomes for audit in seeds]))
    assert [seed.run for seed in one.verdict.answer.overall.shares.seeds] == ["bilstm-0", "bilstm-1"]
    assert list(text_outcomes(one)) == seeds[0].examples["example"].to_list()


def test_it_is_found_by_its_runs_and_comes_before_theirs(folder):
    place = pooled(folder).folders[0]
    assert audit_defect(place) is None
    for run in ("bilstm-0", "bilstm-1"):
        assert find_audit(run, folder) == place and audited_model(folder, run).folders == (place,)
    assert audited_model(folder, "cnn-0") is None and audited_model(folder / "nowhere", "bilstm-0") is None
    verdict = json.loads((place / "verdict.json").read_text())
    (place / "verdict.json").write_text(json.dumps(verdict | {"answer": None}))
    write_checksums(place)
    assert audited_model(folder, "bilstm-0").folders == (folder / "audit-a",)  # one with an answer
    (place / "verdict.json").write_text("{")
    assert audited_model(folder, "bilstm-1").folders == (folder / "audit-b",)


def test_the_texts_of_a_seed_that_does_not_count_are_not_shown(folder, monkeypatch):
    def without_first(described, rows, outcomes):
        verdict = pooled_verdict(described, rows, outcomes)
        return updated(verdict, answer=updated(verdict.answer, left_out=("bilstm-0",)))

    monkeypatch.setattr(pooled_audit, "pooled_verdict", without_first)
    one = pooled(folder)
    assert set(one.examples["run"]) == {"bilstm-1"}
    assert [set(rows["run"]) for rows in by_training(one.rows)] == [{"bilstm-0"}, {"bilstm-1"}]
    assert set(one.rows.filter(pl.col("item").is_not_null())["run"]) == {"bilstm-1"}


def test_audits_that_lack_a_measure_are_to_be_made_again(folder):
    for name in ("audit-a", "audit-b"):
        rows = pl.read_parquet(folder / name / "rows.parquet")
        rows.filter(pl.col("measure") != "tau_permuted").write_parquet(folder / name / "rows.parquet")
    with pytest.raises(StoreError, match=r"of bilstm-0, bilstm-1 have no rows of 'gradient_agreement.tau_perm.*again"):
        pooled(folder)
