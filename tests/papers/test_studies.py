"""Every study: its runs can be done, and its tables, claims and figures can be made from rows."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from runpy import run_path

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
from support.synthetic_results import drawn, judged_claims, results_of, verdict_of

WHOLE = {"sun-lu": "medium"}
"""The smallest scale at which every column of a study's tables has a number, where it is not `small`."""


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


def test_a_study_is_described_and_its_claims_say_what_they_rest_on():
    """Results are stated by `remarks` and verdicts, which are made from the numbers: not by notes."""
    for name, study in STUDIES.items():
        assert set(study.scales) == set(SCALES)
        assert (study.folder in PAPERS) == (name != "heedable")  # several papers, none about the same models
        about, differences = study_notes(study)
        assert len(about) > 200 and differences
        assert all(paragraph.startswith("**") for paragraph in differences)
        assert not [word for word in ("confirm", "contradict") if word in " ".join(differences)]
        claims = judged_claims(study, Results("small", ()))
        assert len(claims) == len(study.claims(Results("small", ())))
        for claim in claims.values():
            assert claim.id.isidentifier() and claim.id.islower() and len(claim.id) <= 45
            assert claim.margin > 0 and claim.kind in ("more", "no_less")
            assert claim.statement.endswith(".") and claim.source and claim.measured and claim.unit
            assert claim.quote or "our reading" in claim.source


def test_the_runs_of_a_cell_differ_in_the_seed_alone_and_cells_can_be_told_apart():
    for study, scale in product(STUDIES.values(), SCALES):
        planned = study.runs_at(scale)
        cells, fields, labels = {}, {}, {}
        for each in planned:
            place, own = (each.data, each.model), (each.encoder, each.method, each.role)
            alike = update_settings(each.run.run, {"seed": 0})
            assert cells.setdefault(place, alike) == alike
            assert fields.setdefault(place, own) == own
            assert labels.setdefault((each.data, *own), each.model) == each.model
        assert len({(each.data, each.model, each.run.run.seed) for each in planned}) == len(planned)


def test_recipes_fix_what_defaults_could_change_and_audits_what_the_battery_takes():
    for (name, study), scale in product(STUDIES.items(), SCALES):
        planned = study.runs_at(scale)
        for run in (run for each in planned for run in (each.run.run, each.run.base) if run and not run.finetune):
            assert run.network.embedding_start == ("uniform" if name == "sun-lu" else "normal")
            assert run.training.patience is not None and run.training.chosen_from is not None
            if scale == "small":
                assert run.data.train_limit <= 2_000
                assert run.text.max_tokens or run.data.source.startswith(("babi", "mock", "planted"))
        audits = {each.audit.model_dump_json(): each.audit for each in planned if each.audit is not None}
        assert audits
        for settings in audits.values():
            assert settings.tests and set(settings.options) <= set(settings.tests) <= set(BATTERY)
            for test, options in settings.options.items():
                bind_options(BATTERY[test].function, options, f"test '{test}'")


def test_every_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false():
    for study in STUDIES.values():
        cases = run_path(str(Path(__file__).parent / study.folder / "test_claims.py"))["CLAIM_CASES"]
        assert set(cases) == set(judged_claims(study, Results("small", ())))
        for claim, results in cases.items():
            assert (claim, verdict_of(study, claim, results(True))) == (claim, "confirmed")
            assert (claim, verdict_of(study, claim, results(False))) == (claim, "contradicted")


def test_tables_claims_and_figures_are_whole_and_made_of_what_the_study_measures():
    for study in STUDIES.values():
        results, asked = results_of(study), set()
        cells = tuple(replace(cell, columns=Recorded(cell.columns, asked)) for cell in results.cells)
        recorded = Results(results.scale, cells)
        tables, claims = study.tables(recorded), study.claims(recorded)
        study.figures(recorded, {claim.id: claim for claim in claims})
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
                printed = [entry.ours or entry.paper for entry in (entries[place] for _, entries in table.rows)]
                assert any(value is not None for value in printed), (table.name, title)


def test_claims_have_enough_trainings_at_the_paper_s_scale_and_none_without_rows():
    for study in STUDIES.values():
        for claim in study.claims(results_of(study, "paper")):
            assert claim.verdict != "not tested", claim.id
    for study in STUDIES.values():
        empty = Results("small", ())
        assert {claim.verdict for claim in study.claims(empty)} == {"not tested"}
        assert drawn(study, empty) == {}
        assert all(not table_cells(table)[1] for table in study.tables(empty))


def test_the_run_of_a_study_has_a_key_once_its_data_is_known():
    planned = STUDIES["jain-wallace"].runs_at("small")[0].run
    here = {"data.source": "mock-1", "data.train_limit": 20, "network.vectors": None}
    run = update_settings(planned.run, here)
    resolved = resolve([run])[0].run
    assert resolved.data.fingerprint
    assert key_of(resolved)
