"""A study from its runs to its results, done by a cluster of our own."""

import polars as pl
import pytest

from heedful.cli.reproduce import names_by_key
from heedful.jobs.planning import RunWithBase, adversary_of
from heedful.jobs.running import carry_out
from heedful.jobs.work import ensure, load_data
from heedful.papers.claim_rule import estimate
from heedful.papers.pipeline import Prepared, PreparedRun, gather, plan_study, prepare_study, shown_words
from heedful.papers.reproduction import Adversary, Study, StudyRun
from heedful.papers.study_pages import write_study
from heedful.papers.study_report import summarize
from heedful.report.audits import read_audit
from heedful.report.loading import audit
from heedful.settings import (
    AuditSettings,
    ComparisonModels,
    DataSettings,
    NetworkSettings,
    Run,
    TextSettings,
    TrainingSettings,
    key_of,
)
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from support.synthetic_audit import SIMILAR, make_audit

AUDIT = AuditSettings(tests=("permutation",), options={"permutation": {"count": 5}}, shown=0, examples=20)
SHORT = {"epochs": 2, "min_epochs": 1, "patience": 1}


def run(seed=0, attention="additive", rate=1e-3):
    return Run(
        data=DataSettings(source="mock-1", train_limit=40, test_limit=30),
        text=TextSettings(max_tokens=12),
        network=NetworkSettings(encoder="average", embed_size=4, hidden_size=4, attention=attention),
        training=TrainingSettings(epochs=1, learning_rate=rate),
        seed=seed,
    )


def study_run(model, run, base=None, **more):
    return StudyRun("mock-1", model, "average", "additive", RunWithBase(run, base), **more)


def runs(scale):
    others = (RunWithBase(run(7)), RunWithBase(run(8)))
    return [
        *(study_run("average", run(seed), audit=AUDIT) for seed in range(2)),
        study_run("against seeds", run(0), role="other seeds", audit=AUDIT, seeds=others),
        study_run("imposed", run(0, "frozen"), run(5), audit=AUDIT),
        study_run("attacked", run(1), role="attacked", audit=AUDIT, adversaries=(Adversary(3, SHORT),)),
        study_run("wild", run(0, rate=1e38), audit=AUDIT),
    ]


STUDY = Study(
    name="tiny",
    folder="jain_wallace",  # whose notes it takes
    title="A small study",
    paper="Nobody (2000)",
    scales={"small": "next to nothing", "medium": "", "paper": ""},
    runs=runs,
    tables=lambda results: [],
    figures=lambda results: [],
)


@pytest.fixture(scope="module")
def prepared():
    return prepare_study(STUDY.runs_at("small"))


@pytest.fixture(scope="module")
def done(prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    store, audits = Store(folder / "runs", folder / "audits"), folder / "audits"
    errors = carry_out(plan_study(prepared), store, workers=1)
    again: list[str | None] = []
    carry_out(plan_study(prepared), store, workers=1, report=lambda status, key, error: again.append(key))
    return store, audits, errors, again


@pytest.fixture(scope="module")
def results(prepared, done):
    store, audits, errors, _ = done
    return gather("small", prepared, store, audits, errors)


def request_of(prepared, model):
    return prepared.audits[prepared.cells["mock-1", model][0].audit]


def test_companions_are_part_of_an_audit_and_all_that_is_done_has_a_name(prepared):
    member = prepared.cells["mock-1", "imposed"][0]
    reference = prepared.runs[member.run].reference
    assert prepared.runs[reference].seed == 5
    assert request_of(prepared, "imposed").comparison_models == ComparisonModels(reference=reference)
    assert request_of(prepared, "imposed").needs == (member.run, reference)
    base = prepared.runs[prepared.cells["mock-1", "attacked"][0].run]
    adversary = adversary_of(base, 3, SHORT)
    assert request_of(prepared, "attacked").comparison_models == ComparisonModels(adversaries=(key_of(adversary),))
    assert prepared.runs[key_of(adversary)] == adversary
    assert adversary.reference == key_of(base) and base.data.fingerprint
    only = prepare_study([study_run("average", run(0))])
    assert only.audits == {} and only.cells["mock-1", "average"][0].audit is None
    names = names_by_key(prepared)
    assert set(names) == {*prepared.runs, *prepared.audits}
    member = prepared.cells["mock-1", "attacked"][0]
    (adversary,) = request_of(prepared, "attacked").comparison_models.adversaries
    assert (names[member.audit], names[adversary]) == ("audit of mock-1, attacked", "companion of mock-1, attacked")
    assert names[prepared.cells["mock-1", "wild"][0].run] == "mock-1, wild"


def test_companions_are_done_too_and_a_failed_run_takes_only_its_audit_with_it(prepared, done):
    seeds = sorted(described.run.seed for described in done[0].listing()[0].values())
    assert seeds == [0, 0, 1, 3, 5, 7, 8]
    assert len(prepared.audits) == 6
    _, audits, errors, again = done
    assert len(errors) == 2
    assert any("its base run" in error for error in errors.values())
    assert len(list(audits.iterdir())) == 5
    failing = [key for key in again if key is not None]
    assert sorted(failing) == sorted(errors)  # only what failed was tried again


def test_an_audit_by_a_worker_is_the_audit_that_would_have_been_made_here(prepared, done, tmp_path):
    trained = [ensure(run(seed), Store(tmp_path))[1] for seed in (0, 7, 8)]
    dataset = load_data(run())[1]
    here = audit(trained[0], dataset, AUDIT, ComparisonModels(seeds=tuple(trained[1:])))
    there = pl.read_parquet(done[1] / request_of(prepared, "against seeds").key / "rows.parquet")
    assert there.equals(here.rows)
    assert set(there["test"]) == {"prediction", "permutation", "seeds"}


def test_results_hold_a_cell_for_each_model_that_was_done_and_the_runs_it_was_compared_with(results):
    assert [cell.model for cell in results.cells] == ["average", "against seeds", "imposed", "attacked"]
    average, against, imposed, attacked = results.cells
    assert [file.run.seed for file in average.runs] == [0, 1] and average.seconds > 0
    assert average.columns["permutation.median_tvd"].shape == (2, 20)
    assert "seeds.max_js" in against.columns and against.role == "other seeds"
    assert estimate(imposed.columns["prediction.correct"]).n == 20
    assert "adversarial_models.tvd_1" in attacked.columns
    assert [file.run.seed for file in against.comparison_models.seeds] == [7, 8]
    assert [file.run.seed for file in attacked.comparison_models.adversaries] == [3]
    assert list(average.comparison_models) == list(imposed.comparison_models) == []


def test_the_page_says_what_failed_and_what_was_run(results, tmp_path):
    report = summarize(STUDY, results, "heedful reproduce x", 1)
    write_study(report, tmp_path)
    page = (tmp_path / "tiny.md").read_text()
    assert "Failed: " in page
    assert "| mock-1 | average | 0, 1 | 40 at most | 12 at most |" in page


def test_what_was_recorded_of_tokens_is_handed_on(tmp_path):
    store, plain = Store(tmp_path), run()
    recording = update_settings(plain, {"training.record_flow": (0, 1)})
    planned = {"plain": plain, "recording": recording}
    keys = {name: ensure(each, store)[0] for name, each in planned.items()}
    cells = {("mock-1", name): [PreparedRun(study_run(name, planned[name]), key, None)] for name, key in keys.items()}
    prepared = Prepared({key: store.read(key).run for key in keys.values()}, {}, cells)
    first, second = gather("small", prepared, store, tmp_path / "audits", {}).cells
    assert first.tokens == ()
    assert set(second.tokens[0]["epoch"]) == {0, 1}


def test_shown_texts_have_a_row_for_each_word_and_measure(tmp_path):
    audit = read_audit(make_audit(tmp_path / "audit", texts=5, shown=2))
    frame = shown_words(audit).filter(measure="replaced_attention", example=1).sort("item")
    words = audit.examples.filter(example=1)["items"].item().to_list()
    assert frame["word"].to_list() == words
    assert frame["replaced"].to_list() == [*words[:-1], SIMILAR]
    assert frame["value"].sum() == pytest.approx(1.0)
