from dataclasses import replace

import torch

from heedful.papers import STUDIES
from heedful.papers.jain_wallace.study import FIXED, data_of, near_cap, text_of
from heedful.papers.reproduction import Results
from heedful.settings import NetworkSettings, TextSettings, TrainingSettings
from support.synthetic_results import drawn, judged_claims, known, made_cell, made_results, near, results_of

STUDY = STUDIES["jain-wallace"]
FIGURES = ("figure_2", "figure_3_4", "figure_5", "figure_6", "figure_7", "figure_7_search", "figure_8")


def outcomes(results):
    """The outcome of every claim on every dataset."""
    return {name: [each.outcome for each in judged.sets] for name, judged in judged_claims(STUDY, results).items()}


def test_every_setting_that_a_default_could_change_is_fixed():
    """Others are set for each run, are of other encoders or optimizers, or have no value unless they are set."""
    per_run = {
        "encoder",
        "attention",
        "embed_size",
        "vectors",
        "attention_size",
        "scale",
        "longer_than",
        "shorter_than",
    }
    elsewhere = {"words", "sentences", "layers", "heads", "encoder_dropout", "sentence_dropout", "finetune"}
    unset = {"options", "clip_norm", "clip_value", "record_flow", "max_tokens", "finetune_learning_rate"}
    found = {"vectors_fingerprint", "encoder_fingerprint"}
    for name, kind in {"text": TextSettings, "network": NetworkSettings, "training": TrainingSettings}.items():
        left = set(kind.model_fields) - set(FIXED[name]) - per_run - unset - found
        assert left <= (elsewhere if name == "network" else set())


def test_models_have_the_sizes_and_heads_of_the_paper_and_its_code():
    for each in STUDY.runs_at("medium"):
        network, babi = each.run.run.network, each.data.startswith("babi")
        assert (network.encoder, network.attention) == (each.encoder, each.method)
        sizes = {"bilstm": 30 if babi else 128, "average": 256, "cnn": 8 if babi else 64}
        assert network.hidden_size == sizes[each.encoder]
        assert network.head == ("tanh" if (babi or each.data == "snli") and not each.role else "linear")
        assert each.audit is not None
        # A head that is not linear would have its adversary found by search, three times for every text.
        assert ("adversarial_attention" in each.audit.tests) == (network.head == "linear")


def test_sets_are_whole_in_words_and_punctuation_marks_and_questions_have_the_default_rate():
    seeds = {}
    for each in STUDY.runs_at("medium"):
        run = each.run.run
        assert run.data.train_limit is run.data.test_limit is run.text.max_tokens is None
        assert (run.text.words, run.text.digits) == (
            ("alphanumeric", "keep") if each.data in ("sst2", "imdb") else ("punctuation", "map")
        )
        assert run.training.learning_rate == 1e-3
        seeds.setdefault((each.data, each.model), []).append(run.seed)
    for data in ("sst2", "newsgroups_sports", "babi_task1", "babi_task2", "babi_task3"):
        assert len(seeds[data, "bilstm additive"]) == len(seeds[data, "average additive"]) == 5
    assert [each.data for each in STUDY.runs_at("medium")][:20] == ["sst2"] * 10 + ["newsgroups_sports"] * 10
    assert data_of("imdb", "medium").train_limit == 3_000 and text_of("imdb", "medium").max_tokens == 120


def test_the_main_table_has_deviations_and_the_authors_later_runs():
    tau = torch.tensor([[0.1, 0.3, torch.nan]]).expand(2, 3).double()
    columns = {"gradient_agreement.tau": tau, "leave_one_out_agreement.tau": tau}
    columns |= {"gradient_agreement.p": tau, "leave_one_out_agreement.p": tau}
    columns |= {"prediction.predicted": torch.zeros(2, 3), "prediction.items": torch.ones(2, 3)}
    cell = replace(made_cell("sst2", "bilstm", "additive", columns=columns), model="bilstm additive")
    results = made_results(cell)
    table = next(table for table in STUDY.tables(results) if table.name == STUDY.main)
    entries = dict(table.rows)["sst2", "bilstm additive", "class 0"]
    assert [entry.paper for entry in entries] == [0.40, 0.21, 0.59, 0.34, 0.20, 0.47, 0.34, 0.27]
    ours = [None if entry.ours is None else round(entry.ours.value, 6) for entry in entries]
    assert ours == [0.2, 0.1, 0, 0.2, 0.1, 0, None, None]
    first, second = STUDY.remarks(results)
    assert "over 1 cells of Table 2: ours 0.20, the authors' own later runs 0.06." in first
    assert "ours 0.14, the authors' own later runs 0.07." in second


def test_the_search_stands_next_to_the_exact_adversary_of_the_same_texts():
    js, found = torch.tensor([[0.5, 0.6, 0.0]]).double(), torch.tensor([[0.499, 0.3, 0.0]]).double()
    columns = {"adversarial_attention.js": js, "adversarial_attention.js_search": found}
    results = made_results(made_cell("sst2", "bilstm", "additive", role="search", columns=columns))
    table = next(table for table in STUDY.tables(results) if table.name == "Figure 7, by search")
    ((_, entries),) = table.rows
    assert known(entries[2].ours).value == 0.5 and known(entries[2].ours).n == 2
    assert {figure.name for figure in drawn(STUDY, results).values()} >= {"figure_7_search"}


def test_captions_numbers_are_means_over_sets():
    def agreement(data, encoder, leave_one_out):
        taus = {"gradient_agreement.tau": 0.1, "leave_one_out_agreement.tau": leave_one_out}
        taus |= {"leave_one_out_agreement.tau_gradient": 0.5, "prediction.predicted": 0.0}
        taus |= {"gradient_agreement.p": 0.5, "leave_one_out_agreement.p": 0.5}
        return made_cell(data, encoder, "additive", columns=taus)

    results = made_results(
        agreement("sst2", "bilstm", 0.2), agreement("sst2", "average", 0.8), agreement("imdb", "bilstm", 0.4)
    )
    sized = next(table for table in STUDY.tables(results) if table.name == "Sized statements")
    values = [(round(known(entry.ours).value, 2), entry.paper) for _, (entry,) in sized.rows]
    assert values == [(0.2, 0.2), (0.4, 0.25), (0.6, 0.375)]


def test_questions_are_not_split_and_parts_that_were_not_measured_are_missing():
    agreement = next(table for table in STUDY.tables(results_of(STUDY)) if table.name == "Table 2")
    predicted = {(data, label) for (data, _, label), _ in agreement.rows}
    assert ("babi_task1", "all") in predicted and ("babi_task1", "class 0") not in predicted
    assert {("sst2", "class 0"), ("sst2", "class 1")} <= predicted
    results = results_of(STUDY)
    cells = tuple(cell for cell in results.cells if cell.encoder != "average" or cell.data != "sst2")
    claims = judged_claims(STUDY, Results("small", cells))
    assert "sst2" not in {each.data for each in claims["average_agrees_more_with_gradient"].sets}
    assert "sst2" in {each.data for each in claims["gradient_agreement_is_modest"].sets}


def test_a_text_whose_attention_cannot_differ_is_neither_near_its_cap_nor_far():
    cap = near(0.6)
    cap[0, :2] = 0.0
    cell = made_cell("sst2", "bilstm", columns={"adversarial_attention.js": 0.59, "adversarial_attention.cap": cap})
    assert near_cap(cell)[0, :2].isnan().all() and (near_cap(cell)[0, 2:] == 1).all()


def test_every_figure_of_the_paper_is_drawn_from_the_claims_it_is_about():
    figures = {name: figure.chart.to_json() for name, figure in drawn(STUDY, results_of(STUDY)).items()}
    assert list(figures) == ["figure_1", *FIGURES]
    assert "average - BiLSTM" in figures["figure_5"] and "average - BiLSTM" not in figures["figure_3_4"]
    assert "tau of attention and leave-one-out" in figures["figure_3_4"]
