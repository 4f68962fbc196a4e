import pytest

from heedful.papers import STUDIES, reproduction
from heedful.papers.reproduction import Results
from support import synthetic_results
from support.synthetic_results import known, results_of

STUDY = STUDIES["seat"]
RADII = (0.001, 0.005, 0.01, 0.05)


def runs_of(method, role="", data="sst2", encoder="bilstm"):
    asked = (method, role, data, encoder)
    return [each for each in STUDY.runs_at("small") if (each.method, each.role, each.data, each.encoder) == asked]


def test_methods_start_from_vanilla_s_seed_at_the_paper_s_radii():
    vanilla = runs_of("vanilla")
    runs = [each.run.run for each in vanilla]
    assert [run.seed for run in runs] == [0, 1, 2] and [each.seeds for each in vanilla] == [(), (), ()]
    assert [each.run.base for each in runs_of("seat without topk")] == runs
    assert all(each.run.base is None for each in runs_of("word_at"))
    assert [each.seeds[0] for each in runs_of("attention_at")] == [each.run for each in vanilla]
    (run, *_) = runs_of("seat without stability")
    assert run.model == "bilstm seat without stability"
    assert (run.run.run.training.method, run.run.run.training.options) == ("seat", {"lambda1": 0.0})
    options = known(runs_of("seat")[0].audit).options
    assert options["embedding_noise"] == options["embedding_attack"] == {"radii": RADII}
    nearest = {"synonyms": "vectors", "min_similarity": -4.0}
    assert options["word_substitution"] == {"counts": (1, 2, 3), **nearest}
    (compared,) = runs_of("seat", "other seeds")
    audit = known(compared.audit)
    assert audit.options == {"embedding_noise": {"radii": (0.05,)}, "word_substitution": nearest}
    assert audit.shown == 50 and len(compared.seeds) == 2
    (searched,) = runs_of("seat", "sensitivity")
    assert searched.model == "bilstm seat, sensitivity"
    assert (searched.run, known(searched.audit).examples) == (runs_of("seat")[0].run, 50)


def test_the_paper_s_seat_is_shown_beside_both_versions_of_it():
    noise = STUDY.tables(results_of(STUDY))[0]
    printed = {about[1]: entries[1].paper for about, entries in noise.rows if about[::2] == ("sst2", "0.01")}
    assert printed["bilstm seat"] is not None
    assert printed["bilstm seat"] == printed["bilstm seat_code"]
    assert printed["bilstm seat_all"] is None


def test_minilm_stands_beside_the_paper_s_bert_and_begins_with_no_vectors():
    (first, *_) = runs_of("vanilla", encoder="minilm")
    network = first.run.run.network
    assert (network.encoder, network.vectors, network.finetune) == ("hf:minilm", None, False)
    assert known(first.audit).options["word_substitution"]["vectors"] == "glove_6b_100d"
    assert known(runs_of("seat", "other seeds", encoder="minilm")[0].audit).options["word_substitution"]["vectors"]
    noise = STUDY.tables(results_of(STUDY))[0]
    printed = {about[1]: entries[4].paper for about, entries in noise.rows if about[::2] == ("sst2", "0.001")}
    assert printed["minilm vanilla"] == 0.912 and printed["minilm seat_code"] == printed["minilm seat"] == 0.907


def test_without_minilm_the_study_says_what_is_missing(monkeypatch):
    assert STUDY.remarks(results_of(STUDY)) == []
    monkeypatch.setattr(reproduction, "has_minilm", lambda: False)
    assert not [each for each in STUDY.runs_at("medium") if each.encoder == "minilm"]
    (remark,) = STUDY.remarks(results_of(STUDY))
    assert remark.startswith("MiniLM was not at hand") and "HEEDFUL_MINILM" in remark


# What is drawn, and of which cells.


@pytest.fixture(scope="module")
def results():
    return results_of(STUDY)


def drawn(cells):
    return synthetic_results.drawn(STUDY, Results("small", tuple(cells)))


def test_a_short_text_in_which_a_word_was_replaced_is_drawn_for_each_data_set(results):
    figures = drawn(results.cells)
    for data in ("sst2", "rotten_tomatoes"):
        assert "seat_code, a similar word: <b> 0.12" in figures[f"heat_{data}"].alt
    others = {
        "figure_2_bilstm",
        "figure_2_minilm",
        "figure_5_top_k_gap",
        "figure_5_top_k_overlap",
        "noise_bilstm",
        "noise_minilm",
        "certified",
    }
    assert set(figures) == others | {"heat_sst2", "heat_rotten_tomatoes"}


def test_a_model_compared_with_other_seeds_does_not_stand_for_the_model_itself(results):
    compared = [cell for cell in results.cells if cell.role == "other seeds"]
    assert set(drawn(compared)) == {"heat_sst2", "heat_rotten_tomatoes", "figure_2_bilstm", "figure_2_minilm"}
    alone = [cell for cell in results.cells if cell.role != "other seeds"]
    assert set(drawn(alone)) & {"heat_sst2", "figure_2_bilstm"} == set()
