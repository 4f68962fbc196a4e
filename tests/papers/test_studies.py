"""Every study: its runs can be done, and its tables, claims and figures can be made from rows."""

import re
from dataclasses import replace
from itertools import product
from math import isnan, log10
from pathlib import Path
from runpy import run_path

import pytest

from heedful.battery import BATTERY
from heedful.battery.leave_one_out_agreement import FLOOR
from heedful.jobs.planning import resolve
from heedful.papers import SCALES, STUDIES
from heedful.papers.claim_rule import claims_of, judge_claims, paper_effects, word_on_paper
from heedful.papers.published import PAPERS
from heedful.papers.reproduction import Results
from heedful.papers.study_report import study_notes, table_cells
from heedful.settings import key_of
from heedful.settings.validation import bind_options, update_settings
from support.synthetic_results import drawn, known, outcomes_of, results_of

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


def test_a_study_is_described():
    """Results are stated by `remarks` and claims, which are made from the numbers: not by notes."""
    for name, study in STUDIES.items():
        assert set(study.scales) == set(SCALES)
        assert (study.folder in PAPERS) == (name != "embedding-start")
        about, differences, errors = study_notes(study)
        assert len(" ".join(about)) > 200 and differences
        assert all(paragraph.startswith("**") for paragraph in (*differences, *errors))
        assert not [word for word in ("replicated", "](") if word in " ".join((*about, *differences, *errors))]


NO_TEXT = ("wiegreffe_pinter", "rationales", "mohankumar")
"""Papers whose texts were not available: nothing of theirs is quoted."""


def test_claims_say_whose_they_are_and_why_their_margins_are_what_they_are():
    for study in STUDIES.values():
        for name, claim in claims_of(study.folder).items():
            assert name.isidentifier() and len(name) <= 50
            assert claim.statement.endswith(".") and claim.place and claim.unit and claim.sets, name
            assert claim.margin > 0 and len(claim.margin_reason) > 10 and claim.fixed.year, name
            assert {*claim.excepts, *claim.stand_ins} <= {*claim.sets, *study_sets(study)}, name
            assert (claim.origin == "quote") <= (bool(claim.quote) and not claim.scope), name
            assert (claim.origin == "reading") <= bool(claim.scope), name
            assert (claim.baseline != 0) <= (claim.kind == "share"), name
            assert study.folder not in NO_TEXT or claim.origin != "quote"
            is_named = claim.measure in {*study.columns, *study.measures}
            assert is_named or re.fullmatch(r"[a-z_]+\.[A-Za-z0-9_\[\].]+", claim.measure), name
            assert not set(claim.of) - {"encoder", "method", "role"}
            assert not set(claim.minus) - {"encoder", "method", "role", "measure"}


def study_sets(study):
    return {each.data for scale in SCALES for each in study.runs_at(scale)}


def test_each_claim_is_replicated_on_the_paper_s_own_numbers_or_says_why_not():
    """A claim that the paper's own numbers do not replicate is misread; a margin must not exceed half of an effect."""
    checked = 0
    for study in STUDIES.values():
        for name, claim in claims_of(study.folder).items() if study.folder in PAPERS else ():
            effects = paper_effects(claim, study.folder)
            assert ("of" in claim.paper) == bool(effects) and (effects or claim.paper["why"]), name
            if effects:
                word = word_on_paper(claim, study.folder)
                assert (word == "replicated") == ("why" not in claim.paper), (name, word)
                checked += 1
            if claim.kind not in ("no_loss", "same"):
                distances = [value - claim.baseline for data, value in effects.items() if data not in claim.excepts]
                counted = [distance for distance in distances if distance >= claim.margin]
                assert claim.margin <= min(counted, default=2 * claim.margin) / 2 + 1e-9, name
    assert checked >= 30


def test_the_paper_s_effects_by_hand():
    jain_wallace, sun_lu, seat = (claims_of(folder) for folder in ("jain_wallace", "sun_lu", "seat"))
    effects = paper_effects(jain_wallace["average_agrees_more_with_gradient"], "jain_wallace")
    assert effects["sst2"] == pytest.approx(0.69 - (0.40 + 0.38) / 2) and effects["snli"] == pytest.approx(0.16)
    assert paper_effects(jain_wallace["gradient_agreement_is_modest"], "jain_wallace")["cnn"] == pytest.approx(0.3)
    effects = paper_effects(sun_lu["small_scaling_hurts"], "sun_lu")
    assert list(effects.values()) == pytest.approx([0.269, 0.38, 0.337, 0.616])
    best = paper_effects(seat["steadier_predictions_than_best_seat_code"], "seat")
    assert best["sst2"] == pytest.approx((log10(1.13 / 1.099) + log10(0.81 / 0.777)) / 2, abs=1e-3)
    (trend,) = paper_effects(claims_of("attefa")["falls_with_informative_words_mlp"], "attefa").values()
    assert trend == pytest.approx(26 / 28)  # of 28 pairs of sets one rises: Mock-5, Mock-10
    below = paper_effects(claims_of("attefa")["newsgroups_above_shorter_sets"], "attefa")
    assert below == {"sst2": pytest.approx(0.4444 - 0.3645), "ag_news": pytest.approx(0.4444 - 0.3558)}
    (odds,) = paper_effects(claims_of("serrano_smith")["gradient_sooner_than_attention"], "serrano_smith").values()
    assert odds == pytest.approx(1.6 / 2.6)


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
            if name != "embedding-start":  # which varies just these
                assert run.network.embedding_start == ("uniform" if name == "sun-lu" else "normal")
                assert run.training.chosen_from is not None
            assert run.training.patience is not None
            if scale == "small":
                assert known(run.data.train_limit) <= 2_000
                assert run.text.max_tokens or run.data.source.startswith(("babi", "mock", "planted"))
        audits = {each.audit.model_dump_json(): each.audit for each in planned if each.audit is not None}
        outcomes = {each.outcome.model_dump_json(): each.outcome for each in planned if each.outcome is not None}
        assert audits and len(outcomes) == 1
        for settings in outcomes.values():
            assert settings.tests == ("outcome",) and known(settings.examples) <= 300
            assert settings.outcome.replaced_texts == settings.outcome.dev_texts == 0
        for settings in audits.values():
            assert settings.tests and set(settings.options) <= set(settings.tests) <= set(BATTERY)
            for test, options in settings.options.items():
                bind_options(BATTERY[test].function, options, f"test '{test}'")


def test_claims_hold_on_rows_in_which_they_are_plainly_true_and_not_where_they_are_plainly_false():
    for study in STUDIES.values():
        cases = run_path(str(Path(__file__).parent / study.folder / "test_claims.py"))["CLAIM_CASES"]
        assert cases.keys() <= claims_of(study.folder).keys()
        assert {name for name, claim in claims_of(study.folder).items() if claim.measure in study.columns} - {
            *cases,
            *MADE_OF_COLUMNS,
        } == set()
        for claim, results in cases.items():
            holds, fails = ({*outcomes_of(study, claim, results(true)).values()} for true in (True, False))
            assert (claim, holds) == (claim, {"holds"})
            assert fails and "holds" not in fails, claim


MADE_OF_COLUMNS = {
    *("negative_words_score_higher_additive", "positive_words_score_higher_additive", "term_C_as_derived"),
    *("positive_words_score_higher_planted", "negative_words_score_higher_planted", "indicative_words_weigh_more"),
    *("disfavored_label_below_neutral_elsewhere", "kept_small_positive_above_neutral"),
    *("cnn_agrees_more_than_bilstm", "average_is_harder_to_replace", "top_item_seldom_flips_other_models"),
    *("top_item_moves_prediction_more_other_models", "steadier_predictions_seat", "steadier_seat_all"),
    *("steadier_replaced_words_seat", "steadier_replaced_words_seat_code", "topk_term_steadies_attention"),
    *("stability_term_lowers_tvd_more", "keeps_top_words_seat_code", "distinguishes_words_seat"),
    *("guided_as_published_is_not_more_faithful", "guided_is_not_more_faithful_movies"),
    *("flat_no_encoder_needs_fewer_than_rnn", "flat_no_encoder_needs_fewer_than_conv"),
    *("hierarchical_no_encoder_needs_fewer_than_rnn", "hierarchical_no_encoder_needs_fewer_than_conv"),
    *("flat_convolution_needs_fewer_than_hierarchical_rnn", "hierarchical_convolution_needs_fewer"),
    *("product_erases_less_mass", "steadier_seat"),
}
"""Claims of other models or columns by a measure that a case of another claim has."""


NOT_ATTACKED_YET = {f"embedding_attack.{name}_answer_0.003125" for name in ("js", "tvd")}


def test_tables_claims_and_figures_are_whole_and_made_of_what_the_study_measures():
    for study in STUDIES.values():
        results, asked = results_of(study), set()
        cells = tuple(replace(cell, columns=Recorded(cell.columns, asked)) for cell in results.cells)
        recorded = Results(results.scale, cells)
        tables, claims = study.tables(recorded), judge_claims(study, recorded)
        study.figures(recorded)
        study.remarks(recorded)
        measured = {column for cell in results.cells for column in cell.columns}
        assert asked and asked - {FLOOR, *NOT_ATTACKED_YET} <= measured, (
            "a question goes without that floor unless it is measured"
        )
        for judged in claims:
            for each in judged.sets:
                assert isnan(each.effect.low) or each.effect.low <= each.effect.value <= each.effect.high
        for head, rows in map(table_cells, tables):
            assert {len(row) for row in rows} <= {len(head)}
        for table in study.tables(results_of(study, WHOLE[study.name])) if study.name in WHOLE else tables:
            for place, title in enumerate(table.columns):
                column = [entries[place] for _, entries in table.rows]
                printed = [each for each in column if each.ours is not None or each.paper is not None]
                assert printed or not table.rows, (table.name, title)


def test_a_page_can_be_made_of_any_part_of_a_study():
    for study in STUDIES.values():
        cells = results_of(study).cells
        first = tuple(replace(cell, runs=cell.runs[:1]) for cell in cells)
        parts = [cells[:1], cells[::2], cells[1::2], cells[::3], tuple(replace(cell, columns={}) for cell in cells)]
        for part in [*parts, first]:
            results = Results("small", part)
            judge_claims(study, results)
            study.figures(results)
            study.tables(results)
            study.remarks(results)


NOT_MEASURED_YET = {
    "wiegreffe-pinter": {"adversary_guides_worse", "seeds_differ_less_than_adversary"},
    "seat": {
        *("predicts_as_well_seat", "predicts_better_seat", "predicts_as_well_seat_code", "predicts_better_seat_code"),
        *("topk_term_alone_costs_accuracy", "stability_term_restores_accuracy", "stability_term_lowers_tvd_more"),
        *("steadier_attention_at_the_code_s_radius", "steadier_predictions_at_the_code_s_radius"),
    },
    "sun-lu": {
        *("indicative_words_weigh_more", "term_B_as_derived", "term_C_as_derived", "term_E_as_derived"),
        "alignment_follows_the_class_ratio",
    },
}
"""Claims whose models or columns no run of the study has, or of which random results have no column."""


def test_claims_are_tested_at_the_paper_s_scale_and_none_without_rows():
    for name, study in STUDIES.items():
        judged = judge_claims(study, results_of(study, "paper"))
        assert {each.claim.id for each in judged if each.word == "not tested"} <= NOT_MEASURED_YET.get(name, set())
        empty = Results("small", ())
        assert {each.word for each in judge_claims(study, empty)} == {"not tested"}
        assert drawn(study, empty) == {}
        assert all(
            entry.ours is None for table in study.tables(empty) for _, entries in table.rows for entry in entries
        )


def test_the_run_of_a_study_has_a_key_once_its_data_is_known():
    planned = STUDIES["jain-wallace"].runs_at("small")[0].run
    here = {"data.source": "mock-1", "data.train_limit": 20, "network.vectors": None}
    run = update_settings(planned.run, here)
    resolved = resolve([run])[0].run
    assert resolved.data.fingerprint
    assert key_of(resolved)
