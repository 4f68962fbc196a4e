"""The whole search, small: what is tried, on which texts, from which seeds."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import SettingError
from heedful.improving import Candidate, candidates, improve
from heedful.jobs.planning import audit_planned
from heedful.jobs.work import ensure_on, load_data
from heedful.report import read_audit
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from support.classifiers import written

RUN = Run(
    data=DataSettings(source="reviews.csv"),
    network=NetworkSettings(encoder="average", embed_size=6, hidden_size=6),
    training=TrainingSettings(epochs=1, learning_rate=0.02),
    seed=4,
)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A search over a single recipe, which is made to be chosen; what it asked for; and where it stored it."""
    folder = tmp_path_factory.mktemp("improved")
    store, asked = Store(folder / "runs"), []
    lines = [f"{text},{label}" for text, label in written(150)]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    run, dataset = load_data(update_settings(RUN, {"data.source": str(folder / "reviews.csv")}))
    ensure_on(run, dataset, store)

    def auditor(planned, settings, purpose):
        asked.append((planned, settings, purpose))
        return [read_audit(audit_planned(each, settings, store, folder / "audits")) for each in planned]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "DIVERSITY", (0.25,))
        patch.setattr("heedful.improving.search.choose", lambda own, points, most_lost: points[-1])
        reached = improve(run, auditor, texts=30)
    return reached, asked, folder, run


def test_ways_are_judged_on_dev_from_the_first_seeds(searched):
    _, asked, _, _ = searched
    (first, settings, _), (taught, again, _), _ = asked
    assert settings == again and settings.split == "dev" and settings.examples == 30
    assert [(each.run.training.method, each.run.seed) for each in first] == [
        ("vanilla", 4),
        ("vanilla", 5),
        ("faithful", 4),
        ("faithful", 5),
    ]
    assert all(len(each.companions.seeds) == 1 for each in first)
    assert {"attention", "prediction"}.isdisjoint(taught[0].run.training.options)


def test_the_chosen_way_is_tested_on_test_from_seeds_that_had_no_part_in_the_choice(searched):
    reached, asked, _, _ = searched
    tested, settings, _ = asked[-1]
    assert settings == AuditSettings()
    assert [each.run.seed for each in tested] == [6, 7, 8, 6, 7, 8]
    before, after = reached.tested.before.verdict, reached.tested.after.verdict
    assert (len(before.trainings), len(after.trainings)) == (3, 3) and before.split == after.split == "test"
    assert not {training.run for training in after.trainings} & {
        key for method in reached.others for key in method.runs
    }


def test_methods_are_scored_by_accuracy_and_by_points_among_all_texts(searched):
    reached, asked, folder, _ = searched
    assert reached.own_way.lost == 0
    assert [method.name for method in reached.others] == ["diversity 0.25", "diversity 0.25, taught"]
    assert reached.others[0].lost == pytest.approx(reached.own_way.accuracy - reached.others[0].accuracy)
    for method in (reached.own_way, *reached.others):
        tables = [_judged(folder / "audits", run) for run in method.runs]
        pointing = [(table["outcome"] == "points").mean() for table in tables]
        assert method.points == pytest.approx(sum(pointing) / len(pointing)) and method.points <= method.decided


def _judged(audits, run):
    """Outcomes of attention in the dev texts of a run."""
    audits = (read_audit(folder) for folder in audits.iterdir())
    audit = next(audit for audit in audits if audit.verdict.run == run and audit.verdict.split == "dev")
    return audit.outcomes.filter((pl.col("ranking") == "attention") & pl.col("outcome").is_not_null())


def test_the_kept_run_is_of_the_original_seed(searched):
    reached, _, folder, run = searched
    kept = Store(folder / "runs").read(reached.key).run
    assert kept.seed == run.seed and kept.training.method == "faithful"
    assert kept == Candidate("", kept.training.options).trained_from(run, run.seed)


def test_the_command_finds_all_done_and_prints_before_and_after(searched, monkeypatch):
    _, _, folder, run = searched
    monkeypatch.setattr(candidates, "DIVERSITY", (0.25,))
    monkeypatch.setattr("heedful.improving.search.choose", lambda own, points, most_lost: points[-1])
    places = ["--runs", str(folder / "runs"), "--audits", str(folder / "audits"), "--out", str(folder / "out")]
    key = next(path.name for path in (folder / "runs").iterdir() if _is_of(path, run))
    shown = CliRunner().invoke(app, ["improve", key[:8], "--examples", "30", "--json", *places], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    assert "run.json names" in shown.stderr and "To train on other data" in shown.stderr
    assert "Training methods, on dev texts" in shown.stderr and "attention points in" in shown.stderr
    document = json.loads(shown.stdout)
    assert document["chosen"] == "diversity 0.25, taught" and len(document["dev"]) == 3 and len(document["test"]) == 2
    assert {question["name"] for question in document["comparison"]["questions"]} >= {"seeds", "adversarial_attention"}
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "What does faithful attention cost?" in page and "before" in page
    assert json.loads((folder / "out" / "improvement.json").read_text())["key"] == document["key"]


def _is_of(folder, run):
    return Store(folder.parent).read(folder.name).run == run


def test_a_hugging_face_model_is_refused(tmp_path):
    with pytest.raises(SettingError, match="is a Hugging Face model, whose own attention the recipe does not train"):
        CliRunner().invoke(app, ["improve", "./my-bert", "--runs", str(tmp_path)], catch_exceptions=False)


def test_uniform_attention_is_refused_before_anything_is_trained():
    with pytest.raises(SettingError, match="weighs all words alike"):
        improve(update_settings(RUN, {"network.attention": "uniform"}), lambda *asked: pytest.fail("trained"))
