"""Audits of one model from several seeds, found and made one."""

import json

import polars as pl
import pytest
from heedful.report.pooled import audited_model, by_training, pool_by_model

from heedful.errors import StoreError
from heedful.report import pooled, read_audit
from heedful.report.heat_map import text_outcomes
from heedful.schema import updated
from heedful.verdict.pooling import pooled_verdict
from support.synthetic_audit import make_audit


@pytest.fixture
def folder(tmp_path):
    """Two seeds of one model and one seed of another, audited."""
    for name, encoder, seed in (("a", "bilstm", 0), ("b", "bilstm", 1), ("c", "average", 0)):
        place = make_audit(tmp_path / name, encoder=encoder, texts=24, shown=3)
        verdict = json.loads((place / "verdict.json").read_text())
        verdict["run"] = f"{encoder}-{seed}"
        verdict["settings"]["run"]["seed"] = seed
        verdict["settings"]["run"]["network"]["encoder"] = encoder
        verdict["trainings"] = [{"run": verdict["run"], "seed": seed}]
        (place / "verdict.json").write_text(json.dumps(verdict))
        for table in ("rows", "examples", "outcomes"):
            own = pl.read_parquet(place / f"{table}.parquet").with_columns(run=pl.lit(verdict["run"]))
            own.write_parquet(place / f"{table}.parquet")
        place.rename(tmp_path / f"audit-{name}")
    return tmp_path


def test_what_differs_in_the_seed_alone_is_one_model(folder):
    audits = [read_audit(folder / name) for name in ("audit-a", "audit-b", "audit-c")]
    models = pool_by_model(audits)
    assert [[training.run for training in each.verdict.trainings] for each in models] == [
        ["bilstm-0", "bilstm-1"],
        ["average-0"],
    ]
    first = models[0]
    assert first.name == "bilstm" and first.verdict.settings["run"]["seed"] == [0, 1]
    assert [set(rows["run"]) for rows in by_training(first.rows)] == [{"bilstm-0"}, {"bilstm-1"}]
    items = first.rows.filter(pl.col("item").is_not_null())
    assert set(items["run"]) == {"bilstm-0"} and first.examples.equals(audits[0].examples)


def test_the_audit_of_a_run_is_found_with_its_other_seeds(folder):
    for run in ("bilstm-0", "bilstm-1"):
        audited = audited_model(folder, run)
        assert audited is not None
        assert [training.run for training in audited.verdict.trainings] == ["bilstm-0", "bilstm-1"]
    assert audited_model(folder, "cnn-0") is None and audited_model(folder / "nowhere", "bilstm-0") is None


def test_outcomes_of_all_seeds_are_pooled_and_the_texts_of_the_first_are_shown(folder):
    audits = [read_audit(folder / name) for name in ("audit-a", "audit-b")]
    (one,) = pool_by_model(audits)
    answer = one.verdict.answer
    assert one.outcomes.equals(pl.concat([audit.outcomes for audit in audits]))
    assert [seed.run for seed in answer.overall.shares.seeds] == ["bilstm-0", "bilstm-1"]
    assert list(text_outcomes(one)) == audits[0].examples["example"].to_list()


def test_the_texts_of_a_seed_that_does_not_count_are_not_shown(folder, monkeypatch):
    audits = [read_audit(folder / name) for name in ("audit-a", "audit-b")]

    def without_first(described, rows, outcomes):
        verdict = pooled_verdict(described, rows, outcomes)
        return updated(verdict, answer=updated(verdict.answer, left_out=("bilstm-0",)))

    monkeypatch.setattr(pooled, "pooled_verdict", without_first)
    (one,) = pool_by_model(audits)
    assert set(one.examples["run"]) == {"bilstm-1"}
    assert [set(rows["run"]) for rows in by_training(one.rows)] == [{"bilstm-0"}, {"bilstm-1"}]
    assert set(one.rows.filter(pl.col("item").is_not_null())["run"]) == {"bilstm-1"}


def test_an_audit_with_an_answer_comes_before_a_newer_one_without(folder):
    newer = make_audit(folder / "d", encoder="average", texts=24, shown=3)
    verdict = json.loads((folder / "audit-c" / "verdict.json").read_text())
    (newer / "verdict.json").write_text(json.dumps(verdict | {"answer": None}))
    audited = audited_model(folder, "average-0")
    assert audited is not None and audited.verdict.answer is not None
    (folder / "audit-c" / "verdict.json").write_text(json.dumps(verdict | {"answer": None}))
    audited = audited_model(folder, "average-0")
    assert audited is not None and audited.verdict.answer is None


def test_a_folder_that_cannot_be_read_is_passed_over(folder):
    (folder / "broken").mkdir()
    (folder / "broken" / "verdict.json").write_text("{")
    assert audited_model(folder, "average-0") is not None


def test_audits_that_lack_a_measure_are_to_be_made_again(folder):
    for name in ("audit-a", "audit-b"):
        rows = pl.read_parquet(folder / name / "rows.parquet")
        rows.filter(pl.col("measure") != "tau_permuted").write_parquet(folder / name / "rows.parquet")
    audits = [read_audit(folder / name) for name in ("audit-a", "audit-b")]
    with pytest.raises(StoreError, match=r"of bilstm-0, bilstm-1 have no rows of 'gradient_agreement.tau_perm.*again"):
        pool_by_model(audits)
