from heedful.papers import STUDIES, reproduction
from support.synthetic_results import known, results_of

STUDY = STUDIES["seat"]
RADII = (0.001, 0.005, 0.01, 0.05)


def runs_of(method, role="", data="sst2", encoder="bilstm"):
    asked = (method, role, data, encoder)
    return [each for each in STUDY.runs_at("small") if (each.method, each.role, each.data, each.encoder) == asked]


def test_a_method_that_starts_from_vanilla_does_so_from_the_same_seed():
    vanilla = [each.run.run for each in runs_of("vanilla")]
    assert [run.seed for run in vanilla] == [0, 1, 2]
    assert [each.run.base for each in runs_of("seat without topk")] == vanilla
    assert all(each.run.base is None for each in runs_of("word_at"))


def test_every_method_is_compared_with_vanilla_seed_by_seed():
    vanilla = [each.run for each in runs_of("vanilla")]
    assert [each.seeds for each in runs_of("vanilla")] == [(), (), ()]
    assert [each.seeds[0] for each in runs_of("attention_at")] == vanilla


def test_ablations_are_seat_without_a_term():
    (run, *_) = runs_of("seat without stability")
    assert run.model == "bilstm seat without stability"
    assert (run.run.run.training.method, run.run.run.training.options) == ("seat", {"lambda1": 0.0})


def test_radii_and_numbers_of_words_are_those_of_the_paper():
    options = known(runs_of("seat")[0].audit).options
    assert options["embedding_noise"] == options["embedding_attack"] == {"radii": RADII}
    nearest = {"synonyms": "vectors", "min_similarity": -4.0}
    assert options["word_substitution"] == {"counts": (1, 2, 3), **nearest}
    (compared,) = runs_of("seat", "other seeds")
    audit = known(compared.audit)
    assert audit.options == {"embedding_noise": {"radii": (0.05,)}, "word_substitution": nearest}
    assert audit.shown == 50 and len(compared.seeds) == 2


def test_sensitivity_is_searched_for_the_first_seed_on_fewer_texts():
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


def test_below_the_paper_s_scale_minilm_has_the_methods_that_claims_are_about():
    for scale, sets, methods in (
        ("small", {"sst2"}, 4),
        ("medium", {"sst2"}, 4),
        ("paper", None, 11),
    ):
        cells = [each for each in STUDY.runs_at(scale) if each.encoder == "minilm"]
        assert {each.data for each in cells} == (sets or {each.data for each in STUDY.runs_at(scale)})
        assert len({each.method for each in cells}) == methods


def test_without_minilm_the_study_says_what_is_missing(monkeypatch):
    assert STUDY.remarks(results_of(STUDY)) == []
    monkeypatch.setattr(reproduction, "has_minilm", lambda: False)
    assert not [each for each in STUDY.runs_at("medium") if each.encoder == "minilm"]
    (remark,) = STUDY.remarks(results_of(STUDY))
    assert remark.startswith("MiniLM was not at hand") and "HEEDFUL_MINILM" in remark
