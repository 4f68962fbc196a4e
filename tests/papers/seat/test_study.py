import pytest

from heedful.papers import STUDIES, reproduction
from heedful.papers.published import published
from heedful.papers.reproduction import Entry, Results
from support import synthetic_results
from support.synthetic_results import known, made_cell, made_results, results_of

STUDY = STUDIES["seat"]
METHODS = ("vanilla", "seat_code", "seat")
RADII = (0.001, 0.003125, 0.005, 0.01, 0.05)


def runs_of(method, role="", data="sst2", encoder="bilstm", scale="small"):
    asked = (method, role, data, encoder)
    return [each for each in STUDY.runs_at(scale) if (each.method, each.role, each.data, each.encoder) == asked]


def trained(study_run):
    training = study_run.run.run.training
    return training.method, training.options


def test_the_baselines_and_seat_are_trained_as_the_paper_has_them():
    vanilla = runs_of("vanilla")
    runs = [each.run.run for each in vanilla]
    assert [run.seed for run in runs] == [0, 1, 2] and [each.seeds for each in vanilla] == [(), (), ()]
    defined = {"lambda1": 1.0, "lambda2": 1000.0, "k": 7, "radius": 0.001}
    in_training = {
        "word_at": ("word_at", {"radius": 0.01}),
        "word_iat": ("word_iat", {"radius": 0.01, "dictionary": 64}),
        "attention_at": ("attention_at_weights", {"radius": 0.001}),
        "attention_iat": ("attention_iat_weights", {"radius": 0.001}),
        "seat": ("seat_fresh", defined),
        "seat_code": ("seat_code", {**defined, "radius": 0.01}),
        "seat_code without stability": ("seat_code", {**defined, "radius": 0.01, "lambda1": 0.0}),
    }
    assert {method: trained(runs_of(method)[0]) for method in in_training} == in_training
    assert [each.run.base for each in runs_of("seat")] == runs, "the definition starts from the vanilla run of its seed"
    assert [each.run.run.seed for each in runs_of("seat")] == [10, 11, 12], "not where vanilla's attention started"
    assert all(each.run.base is None for each in runs_of("word_at"))
    assert [each.seeds[0] for each in runs_of("attention_at")] == [each.run for each in vanilla]
    assert all(run.training.metric == "macro_f1" for run in runs)
    assert not runs_of("seat_code without stability", data="rotten_tomatoes"), "the paper ablates on SST"


def test_each_role_asks_what_its_tables_show():
    options = known(runs_of("seat")[0].audit).options
    assert options["embedding_noise"] == options["embedding_attack"] == {"radii": RADII}
    nearest = {"synonyms": "vectors", "min_similarity": -4.0}
    assert options["word_substitution"] == {"counts": (1, 2, 3), **nearest}
    (compared,) = runs_of("seat", "other seeds")
    audit = known(compared.audit)
    assert audit.options == {"embedding_noise": {"radii": (0.05,)}, "word_substitution": nearest}
    assert audit.shown == 50 and len(compared.seeds) == 2
    searched = runs_of("seat", "sensitivity")
    assert [each.run for each in searched] == [each.run for each in runs_of("seat")]
    assert {known(each.audit).examples for each in searched} == {50}
    whole = runs_of("word_at", "all test texts")
    assert {known(each.audit).examples for each in whole} == {None}
    assert [[other.run.seed for other in each.seeds] for each in whole] == [[1, 2], [0, 2], [0, 1]]
    clamped = {
        method: known(runs_of(method, "clamped")[0].audit).options["embedding_attack"]
        for method in ("vanilla", "word_at")
    }
    assert clamped["vanilla"] == {"radii": (0.001, 0.005, 0.01, 0.05), "clamp": True}
    assert clamped["word_at"] == {"radii": (0.003125,), "clamp": True}


def test_hate_is_trained_on_whole_and_at_the_paper_s_scale_radii_are_trained_one_by_one():
    (hate, *_) = runs_of("vanilla", data="tweeteval_hate", encoder="rnn", scale="medium")
    (sst, *_) = runs_of("vanilla", encoder="rnn", scale="medium")
    assert (hate.run.run.data.train_limit, sst.run.run.data.train_limit) == (None, 3_000)
    assert not runs_of("vanilla", data="tweeteval_hate", scale="medium")
    (own, *_) = runs_of("word_at", "trained at 0.003125", scale="paper")
    assert trained(own) == ("word_at", {"radius": 0.003125})
    assert known(own.audit).options["embedding_attack"]["radii"] == (0.003125,)
    assert own.run.run.training.learning_rate == 0.01


def test_the_definition_is_tried_from_both_starts_and_with_the_paper_s_divergence():
    variants = {each.method: trained(each) for each in STUDY.runs_at("medium") if each.role == "definition"}
    assert len(variants) == 16
    assert variants["from vanilla, radius 1"] == (
        "seat",
        {"lambda1": 1.0, "lambda2": 1000.0, "k": 7, "radius": 1},
    )
    method, options = variants["at random, radius 0.1, lambda2 0, divergence bce"]
    assert (method, options["lambda2"], options["divergence"]) == ("seat_fresh", 0, "bce")
    again = [each.run for each in STUDY.runs_at("medium") if each.method == "at random, radius 0.001"]
    assert again == [each.run for each in runs_of("seat", encoder="rnn", scale="medium")], "trained once"


def rows_of(results, name):
    (table,) = [each for each in STUDY.tables(results) if each.name == name]
    columns = dict(zip(table.columns, range(len(table.columns)), strict=True))
    return {about: lambda column, entries=entries: entries[columns[column]] for about, entries in table.rows}


def test_tables_come_in_the_paper_s_order_and_show_all_that_it_prints(results):
    tables = STUDY.tables(results)
    assert [each.name for each in tables][:10] == [f"Table {n}" for n in (*range(1, 8), 8, 9, 10)]
    printed = published("seat").group_by("item").len()
    shown = {
        each.name: sum(entry.paper is not None for _, entries in each.rows for entry in entries) for each in tables
    }
    for item in ("Table 2", "Table 3", "Table 4", "Table 5", "Table 6", "Table 7", "Table 9", "Table 10"):
        assert shown[item] == printed.filter(item=item)["len"].item(), item
    jsd = {each.name: sum(entries[0].paper is not None for _, entries in each.rows) for each in tables}
    assert (jsd["Table 1"], jsd["Table 8"]) == (84, 252)
    assert shown["Sized statements"] == 4 == 2 * printed.filter(item="Figure 5")["len"].item()


def test_the_paper_s_seat_is_shown_next_to_what_its_code_trains(results):
    rows = rows_of(results, "Table 1")
    assert rows["sst2", "bilstm", "seat_code"]("JSD").paper == 1.80e-8
    assert rows["sst2", "bilstm", "seat"]("JSD").paper is None
    assert rows["tweeteval_hate", "bilstm", "word_at"]("JSD") == Entry(None, 0.084)


def test_what_the_code_attacks_is_clamped_and_not_at_the_printed_radius():
    cells = [
        made_cell(
            "sst2", "bilstm", "word_at", columns={f"embedding_attack.js_answer{end}": js for end, js in own.items()}
        )
        for own in ({"": 0.1, "_0.003125": 0.2, "_0.005": 0.3},)
    ]
    cells.append(made_cell("sst2", "bilstm", "word_at", columns={"embedding_attack.js_answer": 0.5}, role="clamped"))
    cells.append(
        made_cell("sst2", "bilstm", "word_at", columns={"embedding_attack.js_answer": 0.4}, role="trained at 0.005")
    )
    cells.append(made_cell("sst2", "bilstm", "vanilla", columns={"embedding_attack.js_answer_0.005": 0.6}))
    results = made_results(*cells)
    vanilla = rows_of(results, "Table 8")["0.005", "sst2", "bilstm", "vanilla"]
    assert known(vanilla("JSD, the code's radius").ours).value == pytest.approx(0.6), "vanilla's is the printed radius"
    expected = {"0.001": (0.1, 0.2, 0.5), "0.005": (0.4, 0.2, 0.5)}
    for name, radius in {"Table 1": "0.001", "Table 8": "0.005"}.items():
        about = ("sst2", "bilstm", "word_at")
        row = rows_of(results, name)[about if name == "Table 1" else (radius, *about)]
        ours = [row(column).ours for column in ("JSD", "JSD, the code's radius", "JSD, and its clamp")]
        assert [known(each).value for each in ours] == pytest.approx(expected[radius])


def test_the_ablation_is_of_what_the_repository_trains():
    cells = [
        made_cell("sst2", "rnn", method, columns={"embedding_attack.js_answer_0.01": js})
        for method, js in {"word_at": 0.2, "seat_code without stability": 0.3, "seat": 0.4}.items()
    ]
    rows = rows_of(made_results(*cells), "Table 6")
    jsd = {about[2]: row("JSD") for about, row in rows.items() if about[1] == "rnn"}
    assert {method: each.paper for method, each in jsd.items()} == {
        "vanilla": 0.025, "word_at": 0.017, "seat_code without stability": 8.21e-8, "seat_code": 6.98e-8
    }  # fmt: skip
    assert known(jsd["word_at"].ours).value == pytest.approx(0.2)
    assert known(jsd["seat_code without stability"].ours).value == pytest.approx(0.3)


def test_minilm_stands_beside_the_paper_s_bert_and_begins_with_no_vectors():
    (first, *_) = runs_of("vanilla", encoder="minilm")
    network = first.run.run.network
    assert (network.encoder, network.vectors, network.finetune) == ("hf:minilm", None, False)
    assert known(first.audit).options["word_substitution"]["vectors"] == "glove_6b_100d"
    rows = rows_of(results_of(STUDY), "Table 1")
    printed = {method: rows["sst2", "minilm (paper: bert)", method]("macro F1").paper for method in METHODS}
    assert printed == {"vanilla": 0.912, "seat_code": 0.907, "seat": None}


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
        "figure_5_top_k_gap",
        "figure_5_top_k_overlap",
        "noise_bilstm",
        "noise_minilm",
        "certified",
    }
    assert set(figures) == others | {"heat_sst2", "heat_rotten_tomatoes"}


def test_a_model_compared_with_other_seeds_does_not_stand_for_the_model_itself(results):
    compared = [cell for cell in results.cells if cell.role == "other seeds"]
    assert set(drawn(compared)) == {"heat_sst2", "heat_rotten_tomatoes"}
    alone = [cell for cell in results.cells if cell.role not in ("other seeds", "all test texts")]
    assert set(drawn(alone)) & {"heat_sst2", "figure_2_bilstm"} == set()
