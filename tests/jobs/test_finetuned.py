"""Fine-tuned models among the finished runs."""

import json
import shlex

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.cli.command_options import make_run
from heedful.errors import HeedfulError, SettingError
from heedful.jobs import work
from heedful.jobs.planning import plan_sweep, unique_runs
from heedful.jobs.request import Job
from heedful.jobs.result_table import Durations
from heedful.jobs.running import carry_out, check_done
from heedful.jobs.sweep_file import expand_grid
from heedful.jobs.work import do, ensure, ensure_finetuned, load_data
from heedful.settings import AuditSettings, DataSettings, FinetuneSettings, Run, TrainingSettings, key_of
from heedful.settings.validation import update_settings
from heedful.store.folders import files_in
from heedful.store.run_file import train_command
from heedful.store.run_listing import described_differences, list_runs
from heedful.store.store import Store, read_verdict_file
from heedful.subjects.opening import find_model
from heedful.training.finetuning import finetune
from heedful.training.loop import train
from support.runs import changed, toy
from support.tiny_transformers import save_tiny_encoder

DATA = DataSettings(source="mock-1", train_limit=40, test_limit=12)
FAST = ["--set", "data.train_limit=40", "--set", "data.test_limit=12", "--set", "finetune.max_tokens=16"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def run(encoder):
    return Run(data=DATA, finetune=FinetuneSettings(model=encoder, epochs=1, max_tokens=16))


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """A store with a fine-tuned model, and that model."""
    store = Store(tmp_path_factory.mktemp("runs"))
    key, described, is_cached = ensure_finetuned(run, store)
    assert not is_cached
    return store, key, described


def test_a_finished_run_is_found_again_and_not_trained(run, made, monkeypatch):
    store, key, described = made

    def never(*arguments, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr(work, "finetune", never)
    assert ensure_finetuned(run, store) == (key, described, True)
    assert described.scores["test"].keys() >= {"accuracy"}
    with pytest.raises(AssertionError, match="trained again"):
        ensure_finetuned(update_settings(run, {"finetune.learning_rate": 1e-3}), store)


def test_the_key_depends_on_the_encoder_s_content_not_on_its_place(run, made, tmp_path):
    moved = save_tiny_encoder(tmp_path / "elsewhere")
    assert key_of(load_data(update_settings(run, {"finetune.model": moved}))[0]) == made[1]
    other = save_tiny_encoder(tmp_path / "other", hidden_dropout_prob=0.2)
    assert key_of(load_data(update_settings(run, {"finetune.model": other}))[0]) != made[1]


def test_it_is_told_from_runs_of_our_own_models(made):
    store, key, _ = made
    own = store.save(train(changed(data__fingerprint="f", training__epochs=1), toy()))
    try:
        kinds = [find_model(name, store).kind for name in (key[:6], own)]
        assert kinds == ["classifier", "run"]
        first, second = list_runs(store).runs
        assert {first.key, second.key} == {own, key}
        described = described_differences(list_runs(store))
        (of_finetuned,) = [text for text in described if "tiny" in text]
        (of_own,) = [text for text in described if "tiny" not in text]
        assert "average, additive, vanilla" in of_own and "finetune" not in of_own
        assert "additive" not in of_finetuned and "vanilla" not in of_finetuned
        assert json.dumps([dict(each.settings) for each in (first, second)])
    finally:
        for path in (store.folder / own).iterdir():
            path.unlink()
        (store.folder / own).rmdir()


def test_it_is_listed_by_what_it_was_made_from(made, encoder):
    listing = list_runs(made[0])
    assert listing.common == {"data.source": "mock-1", "finetune.model": encoder, "seed": 0}


def test_loading_it_as_one_of_ours_is_refused_with_what_to_do(made):
    store, key, _ = made
    with pytest.raises(SettingError, match=rf"fine-tuned Hugging Face model.*heedful audit --model {key}"):
        store.load(key)


def test_other_ways_to_train_refuse_it(run, made):
    with pytest.raises(SettingError, match="ensure_finetuned"):
        ensure(run, made[0])


def test_the_settings_of_our_own_networks_must_be_left_out(encoder):
    for change in ({"network": {"encoder": "cnn"}}, {"training": {"epochs": 2}}, {"reference": "abc"}):
        with pytest.raises(ValueError, match=f"`{next(iter(change))}` cannot be combined with `finetune`"):
            Run.model_validate({"finetune": {"model": encoder}, **change})
    with pytest.raises(SettingError, match=r"^`training` cannot be combined with `finetune`; remove it"):
        make_run({"finetune": encoder, "method": "seat"}, None)
    with pytest.raises(SettingError, match=r"no setting 'finetune\.epoch'\. Did you mean 'epochs'"):
        make_run({"finetune": encoder}, ["finetune.epoch=1"])
    assert Run(training=TrainingSettings(epochs=2)).finetune is None


def test_half_a_run_is_made_again(run, made, caplog):
    store, key, described = made
    weights = store.folder / key / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-10])
    _, again, is_cached = ensure_finetuned(run, store)
    assert not is_cached and "model.safetensors was changed or damaged" in caplog.text
    assert weights.read_bytes() == content and again.scores == described.scores


def test_nothing_is_left_of_a_run_that_ends_early(run, tmp_path):
    def interrupt(progress):
        if progress.batch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure_finetuned(run, Store(tmp_path), report=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_saving_twice_changes_nothing(run, tmp_path):
    store = Store(tmp_path)
    finetuned = finetune(*load_data(run))
    key = store.save(finetuned)
    before = (store.folder / key / "run.json").stat().st_mtime_ns
    assert store.save(finetuned) == key
    assert (store.folder / key / "run.json").stat().st_mtime_ns == before


def test_a_worker_makes_the_same_run_and_says_so_where_its_encoder_is_another(run, made, tmp_path):
    complete, store = load_data(run)[0], Store(tmp_path / "runs")
    do(Job(made[1], "train", complete.model_dump_json()), store, "cpu", lambda *step: None)
    assert store.has(made[1])
    assert (
        files_in(store.folder / made[1])["model.safetensors"] == files_in(made[0].folder / made[1])["model.safetensors"]
    )
    other = save_tiny_encoder(tmp_path / "other", hidden_dropout_prob=0.2)
    moved = update_settings(complete, {"finetune.model": other})
    with pytest.raises(HeedfulError, match="the run starts from model"):
        do(Job(key_of(complete), "train", moved.model_dump_json()), Store(tmp_path), "cpu", lambda *step: None)


def test_a_grid_varies_the_settings_of_fine_tuning(encoder, tmp_path):
    content = {
        "data": DATA.model_dump(exclude_defaults=True),
        "finetune": {"model": encoder, "epochs": 1},
        "grid": {"finetune.learning_rate": [1e-4, 5e-5], "seed": [0, 1]},
    }
    expanded = expand_grid(content)
    assert [(each.run.finetune.learning_rate, each.run.seed) for each in expanded] == [
        (1e-4, 0),
        (1e-4, 1),
        (5e-5, 0),
        (5e-5, 1),
    ]
    runs = unique_runs(expanded, Store(tmp_path))
    assert len(runs) == 4 and len({run.finetune.fingerprint for run in runs.values()}) == 1
    with pytest.raises(SettingError, match="unknown metric 'acuracy'"):
        expand_grid({**content, "finetune": {"model": encoder, "metric": "acuracy"}})


def test_the_command_that_makes_a_run_makes_it(made):
    command = shlex.split(train_command(made[2].run))
    assert command[:5] == ["heedful", "train", "mock-1", "--finetune", made[2].run.finetune.model]
    places = [command[number + 1] for number, part in enumerate(command) if part == "--set"]
    again = make_run({"data": command[2], "finetune": command[4]}, places)
    assert key_of(load_data(again)[0]) == made[1]


def test_the_time_of_a_run_is_that_of_runs_from_the_same_model(run, made):
    described = made[2]
    durations = Durations([described])
    assert durations.of(update_settings(made[2].run, {"seed": 7})) == described.seconds
    assert durations.of(update_settings(made[2].run, {"finetune.model": "other"})) is None


def test_train_fine_tunes_and_finds_it_again(encoder, tmp_path):
    arguments = ["train", "mock-1", "--finetune", encoder, "--epochs", "1", *FAST, "--runs", str(tmp_path / "runs")]
    first = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert first.exit_code == 0 and "fine-tuned, epoch 1" in first.output and "trained in" in first.output
    (folder,) = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "run.json").read_text())["run"]["finetune"]["epochs"] == 1
    again = CliRunner().invoke(app, [*arguments, "--seed", "0"], catch_exceptions=False)
    assert f"cached in {tmp_path / 'runs'}/{folder.name}" in again.output.replace("\n", "")


def test_a_fine_tuned_run_is_audited(made, tmp_path):
    store = Store(made[0].folder, tmp_path)
    plan = plan_sweep([made[2].run], AuditSettings(tests=("uniform",), shown=0), store)
    check_done(carry_out(plan, store))
    (verdict,) = (read_verdict_file(place) for place in tmp_path.iterdir())
    assert verdict.settings["model"] == made[1] and verdict.texts == 12
