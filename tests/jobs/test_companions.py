"""Runs planned with their companions, trained where they are missing, and audited: what `--seeds` and `--deep` do."""

from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import HeedfulError
from heedful.jobs.planning import (
    ADVERSARY_SEEDS,
    AuditProgress,
    adversary_of,
    audit_in_parallel,
    audit_place,
    audit_planned,
    plan_audits,
    without_attention,
)
from heedful.jobs.work import load_data
from heedful.report import read_audit
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings, key_of
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.validation import update_settings
from heedful.store.store import Store

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=60, test_limit=20),
    network=NetworkSettings(encoder="average", embed_size=8, hidden_size=5),
    training=TrainingSettings(epochs=1),
)
ARGUMENTS = ["mock-1", "--encoder", "average", "--epochs", "1", "--tests", "uniform", "--set", "audit.shown=3"]
ARGUMENTS += ["--set", "data.train_limit=60", "--set", "data.test_limit=20"]
ARGUMENTS += ["--set", "network.embed_size=8", "--set", "network.hidden_size=5"]
SETTINGS = AuditSettings(tests=("uniform",), shown=3)


@pytest.fixture(scope="module")
def run():
    return load_data(RUN)[0]


def command(folder, *arguments):
    places = ["--runs", str(folder / "runs"), "--audits", str(folder / "audits"), "--out", str(folder / "out")]
    result = CliRunner().invoke(app, ["audit", *ARGUMENTS, *arguments, *places], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def folders(folder):
    return {path.name for part in ("runs", "audits") for path in (folder / part).iterdir()}


def names(place):
    return {line.name for line in read_audit(place).verdict.lines}


def test_an_adversary_refers_to_its_base_and_keeps_its_network(run):
    adversary = adversary_of(run, ADVERSARY_SEEDS[0])
    assert adversary.reference == key_of(run)
    assert (adversary.network, adversary.data, adversary.text) == (run.network, run.data, run.text)
    training = adversary.training
    assert (training.method, training.loss_sum, training.class_weights) == ("adversary", "mean", False)
    assert (training.epochs, training.min_epochs, training.patience) == (80, 20, 10)
    assert adversary.seed == 10


def test_an_adversary_may_be_trained_otherwise_and_takes_no_option_of_its_base(run):
    base = update_settings(run, {"training.method": "word_at", "training.options": {"radius": 2.0}})
    training = adversary_of(base, 1, {"epochs": 4, "options": {"weight": 0.5}}).training
    assert (training.epochs, training.options) == (4, {"weight": 0.5})
    assert adversary_of(base, 1).training.options == {}


def test_the_model_without_attention_differs_in_attention_alone(run):
    without = without_attention(run)
    assert without.network.attention == "uniform"
    assert update_settings(without, {"network.attention": run.network.attention}) == run


def test_without_more_a_run_is_audited_alone(run):
    (planned,) = plan_audits([RUN])
    assert planned.run == run and planned.comparison_models == ComparisonModels()


def test_each_seed_is_audited_beside_the_others_of_its_model(run):
    other = update_settings(RUN, {"network.encoder": "cnn", "seed": 4})
    planned = plan_audits([RUN, other], seeds=3)
    assert [(each.run.network.encoder, each.run.seed) for each in planned] == [
        *(("average", seed) for seed in (0, 1, 2)),
        *(("cnn", seed) for seed in (4, 5, 6)),
    ]
    for each in planned:
        mine = [p.run for p in planned if p.run.network == each.run.network and p.run != each.run]
        assert each.comparison_models == ComparisonModels(seeds=tuple(mine)) and len(mine) == 2


def test_a_deep_audit_has_a_model_without_attention_and_adversaries(run):
    (planned,) = plan_audits([RUN], deep=True, adversaries=2)
    assert planned.comparison_models == ComparisonModels(
        retrained=without_attention(run), adversaries=tuple(adversary_of(run, seed) for seed in ADVERSARY_SEEDS[:2])
    )
    assert plan_audits([RUN], adversaries=2)[0].comparison_models == ComparisonModels()


def test_a_run_without_attention_that_is_there_is_taken(run):
    own = update_settings(without_attention(run), {"seed": 7})
    for deep in (False, True):
        (planned,) = plan_audits([RUN], retrained=own, deep=deep, adversaries=0)
        assert planned.comparison_models == ComparisonModels(retrained=own)


def test_planned_seeds_are_trained_and_audited_as_the_command_does(tmp_path):
    store, audits = Store(tmp_path / "runs"), tmp_path / "audits"
    trained, audited = [], []
    progress = AuditProgress(
        training=lambda run: lambda done: trained.append(run.seed),
        auditing=lambda run: lambda done, total: audited.append((run.seed, done, total)),
    )
    planned = plan_audits([RUN], seeds=2)
    places = [audit_planned(each, SETTINGS, store, audits, progress=progress, command="ours") for each in planned]
    assert [names(place) for place in places] == [{"uniform", "seeds"}] * 2
    assert [read_audit(place).verdict.run for place in places] == [key_of(each.run) for each in planned]
    assert read_audit(places[0]).verdict.command == "ours"
    assert sorted(set(trained)) == [0, 1] and audited == [(0, 20, 20), (1, 20, 20)]
    before = folders(tmp_path)
    assert len(before) == 4
    command(tmp_path, "--seeds", "2")
    assert folders(tmp_path) == before


def test_a_retrained_model_that_is_missing_is_trained_on_the_spot(tmp_path):
    store = Store(tmp_path / "runs")
    (planned,) = plan_audits([RUN], deep=True, adversaries=0)
    assert names(audit_planned(planned, SETTINGS, store, tmp_path / "audits")) == {"uniform", "uniform_retrained"}
    assert {described.run.network.attention for described in store.listing()[0].values()} == {"additive", "uniform"}


@pytest.mark.cluster
def test_a_planned_deep_audit_is_trained_and_made_as_the_command_does(tmp_path, running_cluster):
    store, audits = Store(tmp_path / "runs"), tmp_path / "audits"
    planned = plan_audits([RUN], deep=True, adversaries=1)
    ended, steps = [], []
    (place,) = audit_in_parallel(
        planned,
        SETTINGS,
        store,
        audits,
        report=lambda status, key, error: ended.append(key),
        progress=steps.append,
    )
    wanted = {key_of(run) for each in planned for run in (each.run, *each.comparison_models)}
    assert set(store.listing()[0]) == wanted and len(wanted) == 3
    assert set(ended[1:]) == {*wanted, place.name} and place == audit_place(planned[0], SETTINGS, audits)
    assert {step.key for step in steps} <= {*wanted, place.name} and all(step.done <= step.total for step in steps)
    assert names(place) == {"uniform", "uniform_retrained", "attefa", "attefa_frozen"}
    before = folders(tmp_path)
    command(tmp_path, "--deep", "--adversaries", "1", "--seeds", "1")
    assert folders(tmp_path) == before


def test_what_cannot_be_trained_is_one_error(tmp_path, monkeypatch):
    monkeypatch.setattr("heedful.jobs.executors.connected", lambda scheduler, workers: nullcontext())
    failed = "the loss became nan"
    monkeypatch.setattr("heedful.jobs.running.sweep", lambda runs, *others, **options: {list(runs)[1]: failed})
    with pytest.raises(HeedfulError, match="1 of 4 runs and audits failed; the first: the loss became nan"):
        audit_in_parallel(plan_audits([RUN], seeds=2), SETTINGS, Store(tmp_path), tmp_path)
