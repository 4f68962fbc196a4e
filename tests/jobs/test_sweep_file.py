"""A file of choices becomes runs."""

import time

import pytest

from heedful.errors import DataError, SettingError, StoreError
from heedful.jobs.planning import RunWithBase, resolve, unique_runs
from heedful.jobs.sweep_file import audit_settings, expand_grid, read_sweep
from heedful.jobs.work import ensure, load_data
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from support.refusals import assert_refused

SMALL = {"source": "mock-1", "train_limit": 20, "test_limit": 5}


def test_a_grid_is_every_combination_in_the_order_of_the_file(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        """
        seed = 7
        [data]
        source = "mock-2"
        [grid]
        "network.encoder" = ["cnn", "average"]
        training.epochs = [3, 1, 2]
        """
    )
    runs = [choice.run for choice in read_sweep(file).runs]
    assert [(r.network.encoder, r.training.epochs) for r in runs] == [
        ("cnn", 3),
        ("cnn", 1),
        ("cnn", 2),
        ("average", 3),
        ("average", 1),
        ("average", 2),
    ]
    assert {(r.seed, r.data.source) for r in runs} == {(7, "mock-2")}


def test_each_entry_of_runs_meets_every_choice_of_the_grid():
    entries = [{"network": {"encoder": "average"}}, {"network.encoder": "cnn", "network.kernels": [1, 3]}]
    runs = [choice.run for choice in expand_grid({"runs": entries, "grid": {"seed": [0, 1]}})]
    assert [(r.network.encoder, r.network.kernels, r.seed) for r in runs] == [
        ("average", (1, 3, 5, 7), 0),
        ("average", (1, 3, 5, 7), 1),
        ("cnn", (1, 3), 0),
        ("cnn", (1, 3), 1),
    ]


def test_a_value_may_itself_be_a_list():
    runs = [choice.run for choice in expand_grid({"grid": {"network.kernels": [[1], [3, 5]]}})]
    assert [run.network.kernels for run in runs] == [(1,), (3, 5)]


def test_no_grid_is_one_run():
    assert expand_grid({"seed": 3}) == [RunWithBase(Run(seed=3))]


WRONG = [
    ({"grd": {}}, "unknown part of a sweep 'grd'. Did you mean 'grid'"),
    ({"grid": {"seed": 3}}, "'seed' in grid must be a list"),
    ({"grid": {"seed": []}}, "'seed' in grid must be a list"),
    ({"grid": {"seed": [1]}, "runs": [{"seed": 2}]}, "'seed' stands in grid and in an entry of runs"),
    ({"grid": {"seed.more": [1]}, "seed": 1}, "'seed.more' cannot be set"),
    ({"grid": {"network.encoder": ["avrage"]}}, "Did you mean 'average'"),
    ({"network": {"attention": "additiv"}}, "Did you mean 'additive'"),
    ({"training": {"method": "vanila"}}, "Did you mean 'vanilla'"),
    ({"training": {"options": {"radius": 1}}}, "unknown option 'radius'"),
    ({"network": {"attention": "frozen"}}, "needs a base run"),
    ({"network": {"attention": "frozen"}, "reference": {"seed": 1}}, "needs a base run itself"),
    ({}, "must say what to train, at least .data. with a source; it says nothing"),
    ({"audit": {}}, "must say what to train"),
    ({"seed": 1, "runs": 5}, "runs must be a list of tables.*it was 5"),
    ({"seed": 1, "runs": {"seed": 1}}, "runs must be a list of tables"),
    ({"seed": 1, "runs": []}, "runs must be a list of tables"),
    ({"seed": 1, "runs": [1]}, "runs must be a list of tables"),
    ({"grid": [1, 2]}, r"grid must be a table, \[grid\], of lists of values; it was \[1, 2\]"),
    ({"grid": "seed"}, "grid must be a table"),
    ({"grid": {"seed": "ab"}}, "'seed' in grid must be a list"),
    ({"data": 5}, "setting 'data'"),
    ({"data": [1]}, "setting 'data'"),
    ({"seed": {"x": 1}}, "setting 'seed'"),
    ({"seed": 1, "reference": 5}, "reference must be the key of a run, or a table"),
    ({"seed": 1, "reference": {"network": {"attention": "additive"}}}, "no run here needs one.*Leave it out"),
    ({"seed": 1, "reference": {"nonsense": {"attention": "additive"}}}, "no run here needs one|nonsense"),
    ({"grid": {"seed": list(range(10_001))}}, "10,000 runs at most; this one has 10,001"),
    (
        {"grid": {f"network.{n}": list(range(99)) for n in range(99)}},
        "10,000 runs at most; this one has [0-9,]{200}",
    ),
    ({"grid": {"training.epochs": [1, 0]}}, r"setting 'training\.epochs' .*; it was 0"),
    (
        {"training": {"method": "attention_at", "options": {"weight": "a"}}},
        "option 'weight' of method 'attention_at'",
    ),
]


def test_what_is_wrong_is_said_before_anything_starts():
    for content, message in WRONG:
        with pytest.raises(SettingError, match=message):
            expand_grid(content)
    expand_grid({"training": {"method": "attention_at", "options": {"weight": 1}}})


UNREADABLE = ["seed = ", "[grd]", "", "# nothing", "seed = " + "1" * 5_000, "x = " + "[" * 50_000, "\x00"]
UNREADABLE += [
    "[" + ".".join(["a"] * 5_000) + "]",
    "seed." + ".".join(["a"] * 5_000) + " = 1",
    "seed = 1\n[audit]\nx = 1",
]
UNREADABLE += ["seed = 1\nseed = 2", "network.temperature = nan", "seed = 1\n[" + ".".join("a" * 3_000) + "]"]
UNREADABLE += ["seed = inf", "seed = 1979-05-27", "seed = 99999999999999999999"]


def test_an_error_names_the_file(tmp_path):
    file = tmp_path / "study.toml"
    for content in UNREADABLE:
        file.write_text(content)
        with pytest.raises(SettingError, match=r"study\.toml"):
            read_sweep(file)
    file.write_bytes(b'data.source = "caf\xe9"')
    with pytest.raises(SettingError, match=r"study\.toml"):
        read_sweep(file)
    with pytest.raises(SettingError, match=r"nowhere\.toml"):
        read_sweep(tmp_path / "nowhere.toml")


def test_a_run_that_needs_a_base_is_preceded_by_it_and_a_shared_base_is_there_once(tmp_path):
    content = {
        "data": SMALL,
        "grid": {"network.attention": ["frozen"], "network.encoder": ["average", "affine"], "seed": [0, 1]},
        "reference": {"network": {"attention": "additive", "encoder": "bilstm"}},
    }
    runs = unique_runs(expand_grid(content), Store(tmp_path))
    bases = [key for key, run in runs.items() if run.reference is None]
    assert list(runs)[:2] == bases and len(runs) == 6
    assert [runs[key].network.encoder for key in bases] == ["bilstm", "bilstm"]
    for run in list(runs.values())[2:]:
        assert run.reference is not None and runs[run.reference].seed == run.seed


def test_a_base_may_have_a_seed_of_its_own(tmp_path):
    content = {
        "data": SMALL,
        "network": {"attention": "frozen"},
        "grid": {"seed": [1, 2]},
        "reference": {"network": {"attention": "additive"}, "seed": 0},
    }
    assert [run.seed for run in unique_runs(expand_grid(content), Store(tmp_path)).values()] == [0, 1, 2]


def test_unique_runs_have_their_key_and_fingerprint_and_twins_are_one(tmp_path):
    run = Run(data=DataSettings(source="mock-1", train_limit=20, test_limit=5))
    runs = unique_runs([run, update_settings(run, {"seed": 1}), run], Store(tmp_path))
    assert len(runs) == 2
    for key, each in runs.items():
        assert key == key_of(each) and each.data.fingerprint


def test_a_reference_that_is_nowhere_is_said_at_once(tmp_path):
    run = Run(data=DataSettings(**SMALL), network=NetworkSettings(attention="frozen"), reference="0123456789abcdef")
    with pytest.raises(StoreError, match="no run '0123456789abcdef'"):
        unique_runs([run], Store(tmp_path))


def test_data_that_cannot_be_read_is_said_at_once(tmp_path):
    with pytest.raises(DataError):
        unique_runs([Run(data=DataSettings(source=str(tmp_path / "none.csv")))], Store(tmp_path))


def test_resolved_runs_stay_in_order_with_their_bases():
    content = {
        "data": SMALL,
        "network": {"attention": "frozen"},
        "grid": {"seed": [1, 2]},
        "reference": {"network": {"attention": "additive"}},
    }
    resolved = resolve([Run(data=DataSettings(**SMALL), seed=9), *expand_grid(content)])
    assert [each.run.seed for each in resolved] == [9, 1, 2]
    assert resolved[0].base is None and resolved[0].run.reference is None
    for each in resolved[1:]:
        assert each.base is not None and each.run.reference == key_of(each.base)
    assert len({each.run.data.fingerprint for each in resolved}) == 1


def test_a_data_set_is_read_once_for_all_runs(monkeypatch):
    reads = []
    monkeypatch.setattr("heedful.jobs.planning.known_fingerprint", lambda digest: None)
    monkeypatch.setattr("heedful.jobs.work.load_data", lambda run: reads.append(run) or load_data(run))
    run = Run(data=DataSettings(**SMALL))
    resolve([update_settings(run, {"seed": seed}) for seed in range(5)])
    assert len(reads) == 1


def test_a_base_of_another_method_takes_none_of_the_options():
    content = {
        "training": {"method": "seat", "options": {"radius": 0.5}},
        "reference": {"training": {"method": "vanilla"}},
    }
    (choice,) = expand_grid(content)
    assert choice.run.training.options == {"radius": 0.5}
    assert choice.base.training.method == "vanilla" and choice.base.training.options == {}


def test_a_large_grid_is_expanded_within_seconds(tmp_path):
    content = {"data": SMALL, "grid": {"seed": list(range(100)), "training.epochs": list(range(1, 21))}}
    began = time.process_time()
    runs = unique_runs(expand_grid(content), Store(tmp_path))
    assert len(runs) == 2_000
    assert time.process_time() - began < 5  # a fifth of the largest grid; far less on any machine that is not starved


def test_a_reference_may_be_the_beginning_of_a_key(tmp_path):
    store = Store(tmp_path)
    base = Run(data=DataSettings(**SMALL), network=NetworkSettings(encoder="average", embed_size=5, hidden_size=3))
    base = load_data(update_settings(base, {"training.epochs": 1}))[0]
    key, _, _ = ensure(base, store)
    frozen = {"attention": "frozen", "encoder": "average", "embed_size": 5, "hidden_size": 3}
    content = {"data": SMALL, "network": frozen, "grid": {"seed": [0, 1]}}
    by_prefix, by_key = (unique_runs(expand_grid({**content, "reference": name}), store) for name in (key[:5], key))
    assert by_prefix == by_key
    assert {run.reference for run in by_prefix.values()} == {key}
    (tmp_path / key / "model.safetensors").unlink()
    with pytest.raises(StoreError, match="model.safetensors is missing"):
        unique_runs(expand_grid({**content, "reference": key[:5]}), store)


def test_a_table_of_audit_settings_is_read():
    of_test = AuditSettings(options={"permutation": {"count": 5}})
    assert audit_settings({}) == AuditSettings()
    assert audit_settings({"tests": ["uniform"], "examples": 20}) == AuditSettings(tests=("uniform",), examples=20)
    assert audit_settings({"permutation": {"count": 5}}) == of_test
    assert audit_settings({"options": {"permutation": {"count": 5}}}) == of_test


def test_wrong_audit_settings_are_said_at_once():
    for table, message in (
        (5, "audit must be a table"),
        ({"test": ["uniform"]}, "Did you mean 'tests'"),
        ({"examples": 0}, "setting 'audit.examples'"),
        ({"tests": ["unifrm"]}, "Did you mean 'uniform'"),
        ({"permutation": 5}, "'audit.permutation' must be a table of that test's options"),
        ({"permutaton": {"count": 5}}, "Did you mean 'permutation'"),
        ({"permutation": {"cont": 5}}, "unknown option 'cont'"),
        ({"options": 5}, "setting 'audit.options'"),
        ({"options": {"permutation": {"count": {}}}, "permutation": {"count": 1}}, "audit.options"),
    ):
        with pytest.raises(SettingError, match=message):
            audit_settings(table)


def test_a_file_says_how_its_runs_are_audited(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text("seed = 3\n[audit]\nexamples = 7\n[audit.permutation]\ncount = 5\n")
    asked = read_sweep(file)
    assert [each.run.seed for each in asked.runs] == [3]
    assert asked.audit == AuditSettings(examples=7, options={"permutation": {"count": 5}})
    file.write_text("seed = 3")
    assert read_sweep(file).audit is None


def test_what_shows_only_where_data_or_store_are_read_starts_nothing(tmp_path):
    file, runs = tmp_path / "study.toml", tmp_path / "runs"
    for content in ('data.source = "nowhere.csv"', 'training.method = "seat"\nreference = "abc"'):
        file.write_text(content)
        for flags in ([], ["--dry-run"]):
            assert_refused(["sweep", file, "--runs", runs, "--workers", "1", *flags])
            assert not runs.exists() or not list(runs.iterdir())
