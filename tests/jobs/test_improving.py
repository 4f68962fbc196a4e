"""The whole search, small: what is tried, on which texts, from which seeds."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import SettingError
from heedful.jobs import improving
from heedful.jobs.improving import (
    Candidate,
    MethodScores,
    check_improvable,
    choose,
    first_candidates,
    frontier,
    improve,
    own_way,
    refusal,
)
from heedful.jobs.running import carry_out, check_done
from heedful.jobs.work import ensure_on, load_data
from heedful.report import read_audit
from heedful.settings import AuditSettings, DataSettings, FinetuneSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.training.methods import METHODS, bind_loss
from support.classifiers import written


def test_candidates_are_options_that_the_method_knows():
    for candidate in first_candidates():
        for each in (candidate, candidate.with_teachers):
            run = each.trained_from(Run(seed=3), 5)
            assert (run.training.method, run.seed) == ("faithful", 5)
            bind_loss(METHODS["faithful"], run.training)


def test_only_with_teachers_is_something_learnt_from_them():
    candidate = first_candidates()[0]
    assert all(candidate.options[name] == 0 for name in ("evidence", "attention", "prediction"))
    taught = candidate.with_teachers
    assert set(taught.options) == {"diversity"}
    assert taught.options["diversity"] == candidate.options["diversity"] and taught.name != candidate.name


def test_the_recipe_replaces_the_options_of_another_method():
    run = Run(training=TrainingSettings(method="diversity", options={"weight": 0.7}))
    assert "weight" not in first_candidates()[0].trained_from(run, 0).training.options
    assert own_way(run).trained_from(run, 7) == Run(training=run.training, seed=7)


def test_what_cannot_be_trained_is_refused():
    for run, message in [
        (Run(finetune=FinetuneSettings(model="bert")), "fine-tuned Hugging Face classifier.*--encoder hf:bert"),
        (Run(reference="abc", training=TrainingSettings(method="seat")), "made from run abc. Improve that run"),
        (Run(network=NetworkSettings(attention="uniform")), "weighs all words alike"),
    ]:
        with pytest.raises(SettingError, match=message):
            check_improvable(run)


def method(name, accuracy=0.8, points=0.5, lost=0.0):
    return MethodScores(name=name, accuracy=accuracy, lost=lost, points=points)


OWN = method("own")


def test_the_method_that_points_most_often_wins_among_those_that_keep_the_accuracy():
    kept, dear = method("kept", points=0.7), method("dear", points=0.9, lost=0.006)
    assert choose(OWN, [kept, dear]).name == "kept"
    assert choose(OWN, [kept, dear], max_accuracy_drop=0.01).name == "dear"
    assert refusal(kept) == "" and refusal(dear, max_accuracy_drop=0.01) == ""
    assert refusal(dear) == "loses 0.6 percentage points of accuracy"


def test_if_nothing_is_better_the_own_method_stays():
    assert choose(OWN, []).name == "own"
    assert choose(OWN, [method("worse", points=0.4), method("equal")]).name == "own"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_the_frontier_is_what_no_other_method_beats(places):
    methods = [method(str(n), accuracy=x / 5, points=y / 5) for n, (x, y) in enumerate(places)]
    kept = {each.name for each in frontier(methods)}
    for number, (x, y) in enumerate(places):
        is_beaten = any(a >= x and b >= y and (a, b) != (x, y) for a, b in places)
        assert (str(number) in kept) is not is_beaten


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
    store, asked = Store(folder / "runs", folder / "audits"), []
    lines = [f"{text},{label}" for text, label in written(150)]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    run, dataset = load_data(update_settings(RUN, {"data.source": str(folder / "reviews.csv")}))
    ensure_on(run, dataset, store)

    def do(plan, purpose):
        asked.append((plan, purpose))
        check_done(carry_out(plan, store))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improving, "DIVERSITY", (0.25,))
        patch.setattr("heedful.jobs.improving.choose", lambda own, points, max_accuracy_drop: points[-1])
        reached = improve(run, store, do, texts=30)
    return reached, asked, folder, run


def trainings(plan):
    """Method and seed of each audited run, and how each is audited."""
    runs = [plan.runs[audit.run] for audit in plan.audits.values()]
    (settings,) = {audit.settings.model_dump_json() for audit in plan.audits.values()}
    return [(run.training.method, run.seed) for run in runs], AuditSettings.model_validate_json(settings)


def test_ways_are_judged_on_dev_from_the_first_seeds(searched):
    _, asked, _, _ = searched
    (first, _), (taught, _), _ = asked
    judged, settings = trainings(first)
    assert settings == trainings(taught)[1] and settings.split == "dev" and settings.examples == 30
    assert judged == [("vanilla", 4), ("vanilla", 5), ("faithful", 4), ("faithful", 5)]
    assert all(len(audit.comparison_models.seeds) == 1 for audit in first.audits.values())
    options = next(iter(taught.runs.values())).training.options
    assert {"attention", "prediction"}.isdisjoint(options) and first.wanted == tuple(first.audits)


def test_the_chosen_way_is_tested_on_test_from_seeds_that_had_no_part_in_the_choice(searched):
    reached, asked, _, _ = searched
    tested, settings = trainings(asked[-1][0])
    assert settings == AuditSettings()
    assert [seed for _, seed in tested] == [6, 7, 8, 6, 7, 8]
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
    monkeypatch.setattr(improving, "DIVERSITY", (0.25,))
    monkeypatch.setattr("heedful.jobs.improving.choose", lambda own, points, max_accuracy_drop: points[-1])
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
        CliRunner().invoke(app, ["improve", "hf:my-bert", "--runs", str(tmp_path)], catch_exceptions=False)


def test_uniform_attention_is_refused_before_anything_is_trained(tmp_path):
    run = update_settings(RUN, {"network.attention": "uniform"})
    with pytest.raises(SettingError, match="weighs all words alike"):
        improve(run, Store(tmp_path), lambda *asked: pytest.fail("trained"))
