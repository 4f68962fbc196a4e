"""Measurements of fine-tuned runs, done by a cluster of our own and gathered as cells."""

import pytest
from distributed import Client

from heedful.cli.reproduce import names_by_key
from heedful.jobs.planning import RunWithBase
from heedful.settings import DataSettings, FinetuneSettings, Run
from heedful.store.store import Store
from heedful.studies.measurements import Measurement, measurement_problem
from heedful.studies.pipeline import do_study, gather, missing_of, prepare_study
from heedful.studies.study import StudyRun
from heedful.studies.transformers.measuring import measure
from support.tiny_transformers import save_tiny_encoder

SETTINGS = {"imposed": 4, "deleted": 3, "dev": 2}


@pytest.fixture(scope="module")
def study_runs(tmp_path_factory):
    encoder = save_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")
    data = DataSettings(source="mock-1", train_limit=20, test_limit=8)
    return [
        StudyRun(
            "mock-1",
            "tiny",
            "transformer",
            "fine-tuned",
            RunWithBase(Run(data=data, finetune=FinetuneSettings(model=encoder, epochs=1), seed=seed)),
            measurement=Measurement("t", 1, measure, SETTINGS),
        )
        for seed in range(2)
    ]


def test_runs_are_fine_tuned_measured_and_found_again(study_runs, tmp_path, make_report):
    store, folder = Store(tmp_path / "runs"), tmp_path / "audits"
    prepared = prepare_study(study_runs)
    assert len(prepared.measurements) == 2 and len(missing_of(prepared, store, folder)) == 4
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        assert do_study(prepared, store, folder, client) == {}
    assert missing_of(prepared, store, folder) == []
    assert all(measurement_problem(folder / key) is None for key in prepared.measurements)
    (cell,) = gather("small", prepared, store, folder, {}).cells
    assert cell.columns["prediction.correct"].shape == (2, 4) and cell.columns["agreement.rollout"].shape == (2, 3)
    assert cell.seconds > 0 and len(cell.runs) == 2
    assert set(names_by_key(prepared).values()) == {"mock-1, tiny", "audit of mock-1, tiny"}
    (ran,) = make_report(results=gather("small", prepared, store, folder, {})).ran
    assert ran["words per text"] == "128 pieces at most" and ran["epochs"].endswith("of 1") and ran["audit"] != "-"
    next(iter(folder.glob("*/rows.parquet"))).unlink()
    assert len(missing_of(prepared, store, folder)) == 1
