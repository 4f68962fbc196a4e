"""`heedful reproduce --dry-run`: what is done of a study, and what the rest may take."""

import json

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import DataError
from heedful.jobs.planning import RunWithBase
from heedful.jobs.work import ensure
from heedful.papers import STUDIES
from heedful.papers.reproduction import Study, StudyRun
from heedful.store.store import Store
from support.runs import changed


def run(seed):
    return changed(data__source="mock-1", data__train_limit=40, data__test_limit=20, training__epochs=1, seed=seed)


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """The command's answer on a study of three trainings."""
    study = Study(
        name="tiny",
        folder="attefa",
        title="Tiny study",
        paper="Nobody (2000)",
        scales={"small": "three models"},
        runs=lambda scale: [
            StudyRun("mock-1", "average", "average", "additive", RunWithBase(run(seed))) for seed in range(3)
        ],
        tables=lambda results: [],
        figures=lambda results: [],
    )
    monkeypatch.setitem(STUDIES, "tiny", study)

    def invoke(*flags):
        places = ["--runs", str(tmp_path / "runs"), "--audits", str(tmp_path / "audits"), "--workers", "2"]
        return CliRunner().invoke(app, ["reproduce", "tiny", "--dry-run", *places, *flags], catch_exceptions=False)

    return invoke


def test_before_the_first_run_the_time_is_unknown_and_nothing_is_done(reproduce, tmp_path):
    output = reproduce().output
    assert "mock-1, average: 0 of 3 runs done" in output
    assert "3 runs to do; no finished run resembles them, so their time is unknown. Audits come on top." in output
    assert not list(tmp_path.iterdir())


def test_a_finished_run_tells_what_the_others_may_take(reproduce, tmp_path):
    ensure(run(0), Store(tmp_path / "runs"))
    output = reproduce().output
    assert "mock-1, average: 1 of 3 runs done" in output
    assert "2 runs to do: about " in output and "on 2 workers. Audits come on top." in output


def test_a_script_gets_it_as_one_document(reproduce, tmp_path):
    ensure(run(0), Store(tmp_path / "runs"))
    document = json.loads(reproduce("--json").stdout)
    assert document["missing"] == 2 and document["cells"] == {"mock-1, average": {"done": 1, "runs": 3}}
    assert document["estimate"].startswith("2 runs to do: about ")
    assert reproduce("--quiet").stdout.strip() == "2"


def test_without_the_data_it_lists_what_there_is_to_do_and_what_to_fetch(monkeypatch, tmp_path):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "nothing"))
    arguments = ["reproduce", "sun-lu", "--dry-run", "--runs", str(tmp_path / "runs")]
    output = CliRunner().invoke(app, arguments, catch_exceptions=False).output
    assert "planted, dp, lambda 10: 4 runs" in output
    assert "heedful data fetch " in output and not list(tmp_path.iterdir())
    document = json.loads(CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert document["missing"] == sum(cell["runs"] for cell in document["cells"].values()) > 20
    with pytest.raises(DataError, match="heedful data fetch"):
        CliRunner().invoke(app, [each for each in arguments if each != "--dry-run"], catch_exceptions=False)
