"""Every study: its runs can be done, and its tables, claims and figures can be made from rows."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from runpy import run_path

import pytest

from heedful.battery import BATTERY
from heedful.battery.leave_one_out_agreement import FLOOR
from heedful.jobs.planning import resolve
from heedful.papers import SCALES, STUDIES
from heedful.papers.claim_rule import FEWEST_TRAININGS
from heedful.papers.published import PAPERS
from heedful.papers.reproduction import Results
from heedful.papers.study_pages import study_notes, table_cells
from heedful.settings import key_of
from heedful.settings.validation import bind_options, update_settings
from support.synthetic_results import results_of

every_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)

WHOLE = {"sun-lu": "medium"}
"""The smallest scale at which every column of a study's tables has a number, where it is not `small`."""


WITHOUT_NUMBERS = {"transformers", "heedable"}
"""Studies of several papers, none of whose numbers is about the same models."""


class Recorded(dict):
    """Columns that note which of them are asked for."""

    def __init__(self, columns, asked):
        super().__init__(columns)
        self.asked = asked

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        self.asked.add(name)
        return super().__contains__(name)

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


def by_id(claims):
    return {claim.id: claim for claim in claims}


@every_study
def test_a_study_describes_each_scale_and_has_its_paper_s_numbers(study):
    assert set(study.scales) == set(SCALES)
    assert (study.folder in PAPERS) == (study.name not in WITHOUT_NUMBERS)


@pytest.fixture(scope="module", params=product(STUDIES, SCALES), ids="-".join)
def planned(request):
    name, scale = request.param
    return STUDIES[name].runs_at(scale)


def test_runs_of_a_cell_differ_in_the_seed_alone(planned):
    cells, fields = {}, {}
    for each in planned:
        place = (each.data, each.model)
        alike = update_settings(each.run.run, {"seed": 0})
        assert cells.setdefault(place, alike) == alike
        own = (each.encoder, each.method, each.role)
        assert fields.setdefault(place, own) == own
    assert len({(each.data, each.model, each.run.run.seed) for each in planned}) == len(planned)


def test_recipes_fix_the_start_of_embeddings_and_when_training_stops(planned, request):
    """So no default of the package changes what a paper's models are."""
    runs = [run for each in planned for run in (each.run.run, each.run.base) if run and not run.finetune]
    start = "uniform" if "sun-lu" in request.node.name else "normal"
    assert {run.network.embedding_start for run in runs} <= {start}
    assert all(run.training.patience is not None and run.training.chosen_from == 1 for run in runs)


def test_cells_can_be_told_apart_by_their_fields(planned):
    labels = {}
    for each in planned:
        place = (each.data, each.encoder, each.method, each.role)
        assert labels.setdefault(place, each.model) == each.model


@every_study
def test_small_means_two_thousand_texts_and_a_limit_on_their_length(study):
    for each in study.runs_at("small"):
        run = each.run.run
        assert run.data.train_limit <= 2_000
        cut = run.finetune.max_tokens if run.finetune else run.text.max_tokens
        assert cut or run.data.source.startswith(("babi", "mock", "planted"))


def test_the_tests_that_a_study_asks_for_exist_and_take_its_options(planned):
    audits = [each.audit for each in planned if each.audit is not None]
    assert audits or all(each.measurement for each in planned)
    for settings in audits:
        assert settings.tests
        assert set(settings.options) <= set(settings.tests) <= set(BATTERY)
        for test, options in settings.options.items():
            bind_options(BATTERY[test].function, options, f"test '{test}'")


@every_study
def test_notes_and_claims_do_not_state_results(study):
    """Results are stated by `remarks` and verdicts, which are made from the numbers."""
    _, differences = study_notes(study)
    assert not [word for word in ("confirm", "contradict") if word in " ".join(differences)]


@every_study
def test_tables_claims_and_figures_are_whole_and_made_of_what_the_study_measures(study):
    results, asked = results_of(study), set()
    cells = tuple(replace(cell, columns=Recorded(cell.columns, asked)) for cell in results.cells)
    recorded = Results(results.scale, cells)
    tables, claims = study.tables(recorded), study.claims(recorded)
    study.figures(recorded, by_id(claims))
    study.remarks(recorded)
    measured = {column for cell in results.cells for column in cell.columns}
    assert asked and asked - {FLOOR} <= measured, "a question goes without that floor unless it is measured"
    assert claims and all(claim.parts for claim in claims)
    for claim in claims:
        assert (claim.verdict == "not tested") == (claim.trainings < FEWEST_TRAININGS)
        assert claim.pooled.low <= claim.pooled.value <= claim.pooled.high
    for head, rows in map(table_cells, tables):
        assert {len(row) for row in rows} == {len(head)}
    for table in study.tables(results_of(study, WHOLE[study.name])) if study.name in WHOLE else tables:
        for place, title in enumerate(table.columns):
            assert any(entries[place].ours is not None for _, entries in table.rows), (table.name, title)


@every_study
def test_notes_say_what_the_paper_claims_and_where_we_differ(study):
    about, differences = study_notes(study)
    assert len(about) > 200
    assert differences and all(paragraph.startswith("**") for paragraph in differences)


@every_study
def test_at_the_paper_s_scale_every_claim_has_enough_trainings(study):
    for claim in study.claims(results_of(study, "paper")):
        assert claim.verdict != "not tested", claim.id


@every_study
def test_every_claim_says_what_it_rests_on_and_has_a_name_as_short_as_a_variable_s(study):
    claims = study.claims(Results("small", ()))
    assert len(by_id(claims)) == len(claims)
    for claim in claims:
        assert claim.id.isidentifier() and claim.id.islower() and len(claim.id) <= 45
        assert claim.margin > 0
        assert claim.statement.endswith(".") and claim.source and claim.measured and claim.unit
        assert claim.quote or "our reading" in claim.source


@every_study
def test_every_claim_has_rows_that_make_it_true_and_rows_that_make_it_false(study):
    cases = run_path(str(Path(__file__).parent / study.folder / "test_claims.py"))["CLAIM_CASES"]
    assert set(cases) == {claim.id for claim in study.claims(Results("small", ()))}


@every_study
def test_without_rows_nothing_is_claimed_or_drawn(study):
    empty = Results("small", ())
    claims = study.claims(empty)
    assert {claim.verdict for claim in claims} == {"not tested"}
    assert study.figures(empty, by_id(claims)) == []
    assert all(not table_cells(table)[1] for table in study.tables(empty))


def test_the_run_of_a_study_has_a_key_once_its_data_is_known():
    planned = STUDIES["jain-wallace"].runs_at("small")[0].run
    here = {"data.source": "mock-1", "data.train_limit": 20, "network.vectors": None}
    run = update_settings(planned.run, here)
    resolved = resolve([run])[0].run
    assert resolved.data.fingerprint
    assert key_of(resolved)
