"""A study from its runs to its pages, done by a cluster of our own."""

import polars as pl
import pytest
from distributed import Client

from heedful.auditing.audit import audit
from heedful.auditing.companions import Company
from heedful.runs.store import Store
from heedful.runs.worker import ensure, load_data
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.studies.claims import estimate, judge
from heedful.studies.page import write_study
from heedful.studies.pipeline import Prepared, do_study, gather, prepare_study, text_frame
from heedful.studies.render import tell
from heedful.studies.study import Study, Wanted

AUDIT = AuditSettings(tests=("permutation",), permutations=5, shown=0, examples=20)


def run(seed=0, attention="additive", rate=1e-3):
    return Run(
        data=DataSettings(source="mock-1", train_limit=40, test_limit=30),
        text=TextSettings(max_tokens=12),
        network=NetworkSettings(encoder="average", embed_size=4, hidden_size=4, attention=attention),
        training=TrainingSettings(epochs=1, learning_rate=rate),
        seed=seed,
    )


def wanted(scale):
    beside = (run(7), run(8))
    return [
        *(Wanted("mock-1", "average", run(seed), audit=AUDIT) for seed in range(2)),
        Wanted("mock-1", "against seeds", run(0), audit=AUDIT, seeds=beside),
        Wanted("mock-1", "imposed", run(0, "frozen"), base=run(5), audit=AUDIT),
        Wanted("mock-1", "wild", run(0, rate=1e38), audit=AUDIT),
    ]


STUDY = Study(
    name="jain-wallace",  # whose words it takes
    title="A small one",
    paper="Nobody (2000)",
    scales={"small": "next to nothing", "medium": "", "paper": ""},
    wanted=wanted,
    tables=lambda results: [],
    claims=lambda results: [
        judge(
            "Permuting changes something.",
            "section 1",
            "median change",
            {cell.model: cell.columns["permutation.median_tvd"] for cell in results.having("permutation.median_tvd")},
        )
    ],
    figures=lambda results: [],
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    store, audits = Store(folder / "runs"), folder / "audits"
    prepared = prepare_study(STUDY.runs("small"))
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        errors = do_study(prepared, store, audits, client)
        again: list[str | None] = []
        do_study(prepared, store, audits, client, report=lambda standing, key, error: again.append(key))
    return store, audits, prepared, errors, again


def test_runs_beside_and_base_runs_are_done_too(done):
    store, _, prepared, _, _ = done
    seeds = sorted(described.run.seed for described in store.listing()[0].values())
    assert seeds == [0, 0, 1, 5, 7, 8]
    assert len(prepared.audits) == 5


def test_a_failed_run_takes_its_audit_with_it_and_nothing_else(done):
    _, audits, prepared, errors, again = done
    assert len(errors) == 2
    assert any("its base run" in error for error in errors.values())
    assert len(list(audits.iterdir())) == 4
    failing = [key for key in again if key is not None]
    assert sorted(failing) == sorted(errors)  # only what failed was tried again


def test_an_audit_by_a_worker_is_the_audit_that_would_have_been_made_here(done, tmp_path):
    _, audits, prepared, _, _ = done
    asked = next(one for one in prepared.audits.values() if one.seeds)
    trained = [ensure(run(seed), Store(tmp_path))[1] for seed in (0, 7, 8)]
    dataset = load_data(run())[1]
    here = audit(trained[0], dataset, AUDIT, Company(seeds=tuple(trained[1:])))
    there = pl.read_parquet(audits / asked.key / "rows.parquet")
    assert there.equals(here.rows)
    assert set(there["test"]) == {"prediction", "permutation", "seeds"}


def test_results_hold_a_cell_for_each_model_that_was_done(done):
    store, audits, prepared, errors, _ = done
    results = gather("small", prepared, store, audits, errors)
    assert list(results.cells) == [("mock-1", "average"), ("mock-1", "against seeds"), ("mock-1", "imposed")]
    assert results.cells["mock-1", "average"].columns["permutation.median_tvd"].shape == (2, 20)
    assert "seeds.max_js" in results.cells["mock-1", "against seeds"].columns
    assert estimate(results.cells["mock-1", "imposed"].columns["prediction.correct"], "x").n == 20
    frame = text_frame(results, {"permutation.median_tvd": "value"}, model="average")
    assert len(frame) == 40
    assert text_frame(results, {"no.such": "value"}).is_empty()


def test_the_page_tells_what_failed_and_what_was_run(done, tmp_path):
    store, audits, prepared, errors, _ = done
    told = tell(STUDY, gather("small", prepared, store, audits, errors), "heedful reproduce x", 1)
    text = (write_study(told, tmp_path).parent / "jain-wallace.md").read_text()
    assert "Failed: " in text
    assert "| mock-1 | average | 0, 1 | 40 at most | 12 at most |" in text
    assert told.claims[0].verdict in text


def test_what_was_recorded_of_tokens_is_handed_on(tmp_path):
    store, plain = Store(tmp_path), run()
    recording = plain.training.model_copy(update={"record_flow": (0, 1)})
    keys = [ensure(one, store)[0] for one in (plain, plain.model_copy(update={"training": recording}))]
    cells = {("mock-1", name): [(key, None)] for name, key in zip(("plain", "recording"), keys, strict=True)}
    prepared = Prepared({key: store.read(key).run for key in keys}, {}, cells)
    found = gather("small", prepared, store, tmp_path / "audits", {}).cells
    assert found["mock-1", "plain"].tokens == ()
    assert set(found["mock-1", "recording"].tokens[0]["epoch"]) == {0, 1}
