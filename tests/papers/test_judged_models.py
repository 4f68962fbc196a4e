"""The outcome on the models of a study: which are judged, what is counted, and the table."""

from dataclasses import replace

import pytest

from heedful.jobs.planning import RunWithBase
from heedful.jobs.running import carry_out
from heedful.papers import STUDIES
from heedful.papers.judged_models import COLUMNS, TABLE, outcome_columns, with_outcome
from heedful.papers.pipeline import gather, plan_study, prepare_study
from heedful.papers.reproduction import Study, StudyRun
from heedful.report.audits import read_audit
from heedful.store.store import Store
from support.outcome_tables import outcome_table, texts
from support.runs import changed
from support.synthetic_audit import make_audit
from support.synthetic_results import known


def test_shares_of_texts_by_hand(tmp_path):
    audit = read_audit(make_audit(tmp_path / "audit"))
    outcomes = [*texts(3, 1, 4), "one word"]
    predicted = [audit.verdict.labels[0]] * len(outcomes)
    split = audit.verdict.split
    own = outcome_table({"attention": outcomes}, split=split, predicted=predicted, moved=1)
    other = outcome_table({"attention": texts(9, 0)}, split="dev" if split == "test" else "test", predicted=predicted)
    columns = outcome_columns([replace(audit, outcomes=own.vstack(other))])
    means = {name: columns[f"outcome.{name}"].nanmean().item() for name in COLUMNS}
    expected = {"points": 3 / 8, "misses": 1 / 8, "no_small_set": 1 / 2, "points_of_decided": 3 / 4, "moved": 1 / 4}
    assert means == pytest.approx({**expected, "luck": 0.1})
    assert columns["outcome.points"].shape == (1, 9) and columns["outcome.luck"].isnan().sum() == 5


def test_the_main_models_of_a_study_are_judged_and_have_a_table(tmp_path):
    small = {"data__source": "mock-1", "data__train_limit": 40, "data__test_limit": 30, "training__epochs": 1}
    runs = {"plain": changed(**small), "uniform": changed(**small, network__attention="uniform")}
    made = [StudyRun("mock-1", name, "average", name, RunWithBase(own)) for name, own in runs.items()]
    made.append(StudyRun("mock-1", "variant", "average", "", RunWithBase(changed(**small, seed=1)), "variant"))
    nothing = {"tables": lambda results: [], "figures": lambda *results: []}
    named = {"name": "tiny", "folder": "attefa", "title": "Tiny", "paper": "Nobody (2000)", "scales": {"small": ""}}
    study = with_outcome(Study(**named, runs=lambda scale: made, **nothing, beyond=("Figure 9",)))
    assert [each.model for each in study.runs_at("small") if each.outcome] == ["plain"]
    prepared = prepare_study(study.runs_at("small"))
    store = Store(tmp_path / "runs", tmp_path / "audits")
    assert carry_out(plan_study(prepared), store, workers=1) == {}
    results = gather("small", prepared, store, store.audits, {})
    assert results.missing == () and results.cells[0].seconds > 0
    (table,) = study.tables(results)
    assert (table.name, study.beyond) == (TABLE, ("Figure 9", TABLE))
    ((about, entries),) = table.rows
    assert about == ("mock-1", "average", "plain")
    values = {name: known(entry.ours) for name, entry in zip(COLUMNS, entries, strict=True)}
    assert sum(values[name].value for name in ("points", "misses", "no_small_set")) == pytest.approx(1)
    assert values["moved"].value == 0 or not values["moved"].n  # each word is read alone


def test_each_study_judges_models_whose_attention_is_learned():
    for study in STUDIES.values():
        judged = [each for each in study.runs_at("small") if each.outcome]
        assert judged, study.name
        for each in judged:
            assert each.run.run.network.attention not in ("uniform", "frozen") and not each.role
            assert each.run.run.training.method in ("vanilla", "diversity", "guided_by_rationales")
    embeddings = {each.encoder: each.run.run.network for each in STUDIES["embedding-start"].runs_at("small")}
    assert {name: (own.embedding_start, own.vectors) for name, own in embeddings.items()} == {
        "uniform": ("uniform", None),
        "normal": ("normal", None),
        "glove": ("normal", "glove_6b_100d"),
    }
    lengths = {each.method: each.run.run.training for each in STUDIES["embedding-start"].runs_at("small")}
    assert [(own.epochs, own.patience) for own in lengths.values()] == [(4, 0), (8, 2)]
