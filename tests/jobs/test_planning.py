"""Runs planned with their comparison models and audits: what `--seeds` and `--deep` do, and what is left to do."""

import json
import subprocess
import sys

import pytest

from heedful.jobs.planning import (
    ADVERSARY_SEEDS,
    Plan,
    RunWithBase,
    adversary_of,
    audit_of,
    audit_with_other_seeds,
    plan_audits,
    plan_sweep,
    resolve,
    unique_runs,
    without_attention,
)
from heedful.jobs.running import carry_out, check_done
from heedful.jobs.sweep_file import expand_grid
from heedful.jobs.work import ensure, load_data
from heedful.report import read_audit
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
from heedful.store.store import Store, audit_defect, pooled_key
from heedful.training.teachers import teachers_of
from support.cluster import ENVIRONMENT

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=60, test_limit=20),
    network=NetworkSettings(encoder="average", embed_size=8, hidden_size=5),
    training=TrainingSettings(epochs=1),
)
SETTINGS = AuditSettings(tests=("uniform",), shown=3)


@pytest.fixture(scope="module")
def run():
    return load_data(RUN)[0]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Two seeds, trained and audited together."""
    folder = tmp_path_factory.mktemp("done")
    store, ended = Store(folder / "runs", folder / "audits"), []
    plan = plan_audits([RUN], SETTINGS, store, seeds=2)
    check_done(carry_out(plan, store, report=lambda status, key, error: ended.append((status, key))))
    return store, plan, ended


def beside(plan):
    """The comparison models of each audit, as keys."""
    return [audit.comparison_models for audit in plan.audits.values()]


def test_an_adversary_refers_to_its_base_and_keeps_its_network(run):
    base = update_settings(run, {"training.method": "word_at", "training.options": {"radius": 2.0}})
    for own in (run, base):
        adversary = adversary_of(own, ADVERSARY_SEEDS[0])
        assert adversary.reference == key_of(own) and adversary.seed == 10
        assert (adversary.network, adversary.data, adversary.text) == (run.network, run.data, run.text)
        training = adversary.training
        assert (training.method, training.loss_sum, training.class_weights) == ("adversary", "mean", False)
        assert (training.epochs, training.min_epochs, training.patience) == (80, 20, 10) and training.options == {}
    training = adversary_of(base, 1, {"epochs": 4, "options": {"weight": 0.5}}).training
    assert (training.epochs, training.options) == (4, {"weight": 0.5})


def test_without_more_a_run_is_audited_alone(run, tmp_path):
    plan = plan_audits([RUN], SETTINGS, Store(tmp_path), adversaries=2)
    assert plan.audits == {plan.wanted[0]: audit_of(run, SETTINGS)} and plan.runs == {key_of(run): run}
    assert beside(plan) == [ComparisonModels()] and not plan.pools


def test_each_seed_is_audited_beside_the_others_of_its_model_and_all_together(tmp_path):
    other = update_settings(RUN, {"network.encoder": "cnn", "seed": 4})
    plan = plan_audits([RUN, other], SETTINGS, Store(tmp_path), seeds=3)
    seeds = {key: each.seed for key, each in plan.runs.items()}
    assert list(seeds.values()) == [0, 1, 2, 4, 5, 6]
    for audit in plan.audits.values():
        of_model = (0, 1, 2) if seeds[audit.run] < 3 else (4, 5, 6)
        assert {seeds[audit.run], *(seeds[key] for key in audit.comparison_models.seeds)} == set(of_model)
    first, second = ([*plan.audits][:3], [*plan.audits][3:])
    assert plan.pools == {pooled_key(first): tuple(first), pooled_key(second): tuple(second)}
    assert plan.wanted == tuple(plan.pools)
    assert set(plan.names().values()) >= {"average, seed 1", "cnn, seed 6, audit", "cnn, seed 4, audit of all seeds"}


def test_a_deep_audit_has_a_model_without_attention_and_adversaries(run, tmp_path):
    without = without_attention(run)
    assert update_settings(without, {"network.attention": run.network.attention}) == run != without
    plan = plan_audits([RUN], SETTINGS, Store(tmp_path), deep=True, adversaries=2)
    adversaries = [adversary_of(run, seed) for seed in ADVERSARY_SEEDS[:2]]
    expected = ComparisonModels(retrained=without, adversaries=tuple(adversaries))
    assert beside(plan) == [expected.map(key_of)] and [*plan.runs.values()] == [run, without, *adversaries]
    own = update_settings(without, {"seed": 7})  # which is there already
    for deep in (False, True):
        plan = plan_audits([RUN], SETTINGS, Store(tmp_path), retrained=own, deep=deep, adversaries=0)
        assert beside(plan) == [ComparisonModels(retrained=key_of(own))]


def test_jobs_are_those_that_are_missing_each_after_what_it_needs(tmp_path):
    store = Store(tmp_path / "runs", tmp_path / "audits")
    taught = update_settings(RUN, {"training.method": "ensemble", "training.options": {"teachers": 2}})
    plan = plan_audits([taught], SETTINGS, store, seeds=2, deep=True, adversaries=1)
    jobs = plan.missing(store)
    assert [*jobs.values()][-1].kind == "pool" and len(jobs) == 2 * (1 + 2 + 1 + 2 + 1 + 1) + 1
    for number, job in enumerate(jobs.values()):
        assert set(job.needs) <= set([*jobs][:number])
    for key, own in plan.runs.items():
        expected = (own.reference,) if own.reference else tuple(map(key_of, teachers_of(own)))
        assert jobs[key].needs == expected and jobs[key].place(store) == store.folder / key
    assert set(plan.names()) == set(jobs)


def test_seeds_are_trained_audited_and_pooled_and_found_again(done):
    store, plan, ended = done
    (place,) = (store.audits / key for key in plan.wanted)
    assert [status.left for status, _ in ended] == [5, 4, 3, 2, 1, 0] and ended[-1][1] == place.name
    assert set(store.listing()[0]) == set(plan.runs)
    assert {path.name for path in store.audits.iterdir()} == {*plan.audits, place.name}
    audit = read_audit(place)
    assert {line.name for line in audit.verdict.lines} == {"uniform", "seeds"}
    assert [training.run for training in audit.verdict.trainings] == [*plan.runs]
    assert plan_audits([RUN], SETTINGS, store, seeds=2) == plan and plan.missing(store) == {}


def test_the_audit_of_a_run_and_its_other_seeds_is_found_by_each(done):
    store, plan, _ = done
    for key in plan.runs:
        assert audit_with_other_seeds(key, SETTINGS, store) == plan.wanted[0]
        assert audit_with_other_seeds(key, update_settings(SETTINGS, {"seed": 1}), store) is None


def test_what_is_there_is_left_alone_and_what_is_damaged_is_made_again(done, caplog):
    store, plan, _ = done
    (pooled,) = plan.wanted
    (store.audits / pooled / "rows.parquet").unlink()
    assert [job.kind for job in plan.missing(store).values()] == ["pool"]
    check_done(carry_out(plan, store))
    assert audit_defect(store.audits / pooled) is None
    assert f"{pooled} is not finished and is made again: rows.parquet is missing" in caplog.text


WITHOUT_TORCH = """
import json, sys
from heedful.jobs.planning import plan_audits
from heedful.settings import AuditSettings, Run
from heedful.store.store import Store

run, settings, store = Run.model_validate_json(sys.argv[1]), sys.argv[2], Store(*sys.argv[3:])
plan = plan_audits([run], AuditSettings.model_validate_json(settings), store, seeds=2)
print(json.dumps([plan.wanted, list(plan.missing(store)), "torch" in sys.modules]))
"""


def test_a_finished_audit_is_planned_without_torch(done):
    store, plan, _ = done
    arguments = [RUN.model_dump_json(), SETTINGS.model_dump_json(), str(store.folder), str(store.audits)]
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *arguments], stdout=subprocess.PIPE, env=ENVIRONMENT, check=True
    )
    assert json.loads(ended.stdout) == [list(plan.wanted), [], False]


def test_each_run_of_a_sweep_has_an_audit_that_knows_its_reference(tmp_path):
    store = Store(tmp_path)
    follower = update_settings(RUN, {"network.attention": "frozen"})
    plan = plan_sweep([RunWithBase(follower, RUN)], AuditSettings(examples=7), store)
    base, own = plan.runs
    assert [audit.needs for audit in plan.audits.values()] == [(base,), (own, base)]
    assert plan.wanted == (base, own, *plan.audits) and list(plan.missing(store)) == list(plan.wanted)
    assert not plan_sweep([RUN], None, store).audits


def test_teachers_come_first_and_once_and_are_not_audited(tmp_path):
    content = {
        "data": {"source": "mock-1", "train_limit": 40, "test_limit": 10},
        "runs": [{"training.method": "vanilla"}, {"training.method": "ensemble"}, {"training.method": "faithful"}],
        "grid": {"seed": [0, 1]},
    }
    plan = plan_sweep(expand_grid(content), AuditSettings(examples=7), Store(tmp_path))
    assert len(plan.runs) == 6 + 2 * 3 + 2 * 3
    methods = [(run.training.method, bool(teachers_of(run))) for run in plan.runs.values()]
    assert methods[:12] == [("vanilla", False)] * 6 + [("faithful", False)] * 6
    audited = [plan.runs[audit.run].training.method for audit in plan.audits.values()]
    assert audited == [method for method in ("vanilla", "ensemble", "faithful") for _ in range(2)]
    again = expand_grid({**content, "runs": [{"training.options": {"teachers": 3}, "training.method": "ensemble"}]})
    shared = unique_runs(again, Store(tmp_path))
    assert len(shared) == 2 + 2 * 3 and len(set(shared) & set(plan.runs)) == 6


def test_a_plan_of_nothing_new_reads_no_data(tmp_path, monkeypatch, run):
    ensure(RUN, Store(tmp_path))
    monkeypatch.setattr("heedful.jobs.work.load_data", lambda *asked: pytest.fail("read"))
    assert (
        resolve([RUN]) == [RunWithBase(run)] and Plan((key_of(run),), {key_of(run): run}).missing(Store(tmp_path)) == {}
    )
