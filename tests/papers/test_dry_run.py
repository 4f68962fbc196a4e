"""`heedful reproduce`: what is done of a study, what the rest takes, pages from a part of it, and a cluster for it."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import DataError
from heedful.jobs.planning import RunWithBase
from heedful.jobs.work import ensure
from heedful.papers import STUDIES
from heedful.papers.pipeline import plan_study, prepare_study
from heedful.papers.reproduction import Study, StudyRun
from heedful.settings import AuditSettings, Run
from heedful.store.store import Store
from support.cluster import cluster
from support.runs import changed


def run(seed, size):
    data = {"data__source": "mock-1", "data__train_limit": 40, "data__test_limit": 20}
    return changed(**data, network__hidden_size=size, training__epochs=1, seed=seed)


AUDIT = AuditSettings(tests=("permutation",), shown=0, examples=10)


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """The command's answer on a study of two models of two seeds each, both audited."""
    study = Study(
        name="tiny",
        folder="attefa",
        title="Tiny study",
        paper="Nobody (2000)",
        scales={"small": "four models"},
        runs=lambda scale: [
            StudyRun("mock-1", model, "average", "additive", RunWithBase(run(seed, size)), audit=AUDIT)
            for model, size in (("wide", 8), ("narrow", 4))
            for seed in range(2)
        ],
        tables=lambda results: [],
        figures=lambda results: [],
    )
    monkeypatch.setitem(STUDIES, "tiny", study)

    def invoke(*flags):
        places = [word for name in ("runs", "audits") for word in (f"--{name}", str(tmp_path / name))]
        places += ["--workers", "1"] if "--scheduler" not in flags else []
        out = [] if "--dry-run" in flags else ["--out", str(tmp_path / "pages")]
        return CliRunner().invoke(app, ["reproduce", "tiny", *places, *out, *flags], catch_exceptions=False)

    return invoke


def hours(output):
    """Models, audits and core-hours to do."""
    found = re.search(r"(\d+) models and (\d+) audits to do: at most about ([\d.]+) core-hours", output)
    assert found, output
    return int(found[1]), int(found[2]), float(found[3])


def test_before_the_first_run_a_probe_tells_the_time_and_nothing_is_stored(reproduce, tmp_path):
    output = reproduce("--dry-run").output
    assert "mock-1, wide: 0 of 2 runs done" in output
    assert hours(output)[:2] == (4, 4) and "unknown" not in output
    document = json.loads(reproduce("--dry-run", "--json").stdout)
    assert document["training"] > 0 and document["auditing"] > 0
    assert not list(tmp_path.iterdir())


def test_recorded_times_count_before_a_probe(reproduce, tmp_path):
    trained = ensure(run(0, 8), Store(tmp_path / "elsewhere"))[1]
    Store(tmp_path / "runs").save(replace(trained, seconds=36_000.0))
    output = reproduce("--dry-run").output
    assert "mock-1, wide: 1 of 2 runs done" in output
    assert hours(output) == (3, 4, 10.0)
    assert reproduce("--dry-run", "--quiet").stdout.strip() == "7"


def test_a_page_is_written_from_what_is_done_and_says_what_is_missing(reproduce, tmp_path):
    first = ensure(run(0, 8), Store(tmp_path / "runs"))[0]
    output = reproduce("--only-finished").output
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [first]
    page = (tmp_path / "pages" / "tiny.md").read_text()
    for cell in ("mock-1, wide: 1 of 2 runs, 0 of 2 audits", "mock-1, narrow: 0 of 2 runs, 0 of 2 audits"):
        assert f"Not whole: {cell}" in output and cell in page
    assert "Not whole" not in reproduce().output
    assert "Not done yet" not in (tmp_path / "pages" / "tiny.md").read_text()


def test_runs_are_done_in_the_order_of_the_study_each_model_with_its_audit(reproduce, tmp_path):
    plan = plan_study(prepare_study(STUDIES["tiny"].runs_at("small")))
    jobs = list(plan.missing(Store(tmp_path / "runs", tmp_path / "audits")).values())
    assert [job.kind for job in jobs] == ["train", "audit"] * 4
    sizes = [Run.model_validate_json(job.settings).network.hidden_size for job in jobs if job.kind == "train"]
    assert sizes == [8, 8, 4, 4]


def test_a_cluster_does_a_study(reproduce, tmp_path):
    with cluster(tmp_path / "dask", 1) as own:
        output = reproduce("--scheduler", own.address).output
    assert "Not whole" not in output and len(list((tmp_path / "audits").iterdir())) == 4


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
