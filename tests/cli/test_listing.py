"""`heedful list`."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.cli.lists import names_of
from heedful.errors import SettingError
from heedful.schema import updated
from heedful.settings.validation import update_settings
from heedful.store.store import Store, write_verdict
from heedful.training.loop import train
from support.answered import make_answered
from support.runs import changed, toy


def invoke(*arguments, columns=80):
    result = CliRunner().invoke(app, ["list", *map(str, arguments)], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Three runs that differ in a few settings, and a folder that is none."""
    store = Store(tmp_path_factory.mktemp("runs"))
    trained = train(changed(training__epochs=1), toy())
    store.save(trained)
    options = {"network.encoder": "cnn", "network.kernels": (1, 3), "network.hidden_size": 11, "text.min_count": 3}
    store.save(replace(trained, run=update_settings(trained.run, {**options, "network.temperature": 0.25})))
    store.save(replace(trained, run=update_settings(trained.run, {"seed": 4})))
    (store.folder / "holiday").mkdir()
    return store


def test_runs_are_listed_with_date_accuracy_and_what_differs(store):
    result = invoke("runs", "--runs", store.folder)
    head, columns, *lines = result.stdout.splitlines()
    assert columns.split() == ["run", "date", "accuracy", "answer", "settings"]
    assert head == "all: mock-1  additive  vanilla"
    assert {line.split()[0] for line in lines} == {key[:8] for key in store.listing()[0]}
    (line,) = (line for line in lines if "cnn" in line)
    accuracy = next(iter(store.listing()[0].values())).scores["test"]["accuracy"]
    assert line[columns.index("accuracy") :].startswith(f"{accuracy:.3f}")
    assert line.endswith("cnn, seed 0, min_count 3, hidden_size 11, kernels [1, 3], temperature 0.25")
    assert "skipped: " in result.stderr and "holiday" in result.stderr and "holiday" not in result.stdout


def test_a_listed_key_names_its_run(store):
    for line in invoke("runs", "--runs", store.folder).stdout.splitlines()[2:]:
        assert store.find(line.split()[0]) in store.listing()[0]


def test_on_a_terminal_no_line_is_wider_than_it(store, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    for kind in ("runs", "tests", "rankings", "methods", "datasets"):
        lines = invoke(kind, "--runs", store.folder).stdout.splitlines()
        assert len(lines) > 3 and max(map(len, lines)) <= 80


def test_scripts_get_a_document_or_the_keys(store):
    document = json.loads(invoke("runs", "--runs", store.folder, "--json").stdout)
    assert {run["key"] for run in document["runs"]} == set(store.listing()[0])
    assert {run["settings"]["seed"] for run in document["runs"]} == {0, 4}
    assert len(document["skipped"]) == 1 and document["common"]["data.source"] == "mock-1"
    assert set(invoke("runs", "--runs", store.folder, "--quiet").stdout.split()) == set(store.listing()[0])
    assert json.loads(invoke("heads", "--json").stdout)["heads"] == names_of("heads")
    assert invoke("heads", "--quiet").stdout.split() == list(names_of("heads"))


def test_an_empty_store_says_so(tmp_path):
    assert "no finished runs" in invoke("runs", "--runs", tmp_path / "none").output


def test_an_unknown_kind_lists_the_known():
    result = CliRunner().invoke(app, ["list", "run"])
    assert isinstance(result.exception, SettingError) and "Did you mean 'runs'" in str(result.exception)


def test_runs_have_their_answers(store, tmp_path):
    answered, *_ = store.listing()[0]
    verdict = make_answered([(100, 1.0, 0.95), (100, 1.0, 0.1)], ("good", "bad"))
    (tmp_path / "audit").mkdir()
    write_verdict(updated(verdict, run=answered, trainings=()), tmp_path / "audit")
    listed = ("runs", "--runs", store.folder, "--audits", tmp_path)
    _, columns, *lines = invoke(*listed).stdout.splitlines()
    shown = {line.split()[0]: line[columns.index("answer") : columns.index("settings")].strip() for line in lines}
    assert shown == {
        key[:8]: "It depends on the class" if key == answered else "not audited" for key in store.listing()[0]
    }
    headlines = {run["key"]: run["answer"] for run in json.loads(invoke(*listed, "--json").stdout)["runs"]}
    assert headlines[answered] == verdict.answer.headline and list(headlines.values()).count(None) == 2
