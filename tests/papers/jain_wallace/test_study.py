from heedful.papers import STUDIES, reproduction
from heedful.papers.jain_wallace.study import near_cap
from heedful.papers.reproduction import Results
from support.synthetic_results import drawn, judged_claims, made_cell, near, results_of

STUDY = STUDIES["jain-wallace"]


def outcomes(results):
    """The outcome of every claim on every dataset."""
    return {name: [each.outcome for each in judged.sets] for name, judged in judged_claims(STUDY, results).items()}


def test_models_are_named_by_encoder_and_attention_and_small_for_questions():
    fields = {each.model: (each.encoder, each.method, each.role) for each in STUDY.runs_at("medium")}
    assert fields["cnn dot"] == ("cnn", "dot", "")
    assert fields["bilstm additive"] == ("bilstm", "additive", "")
    for each in STUDY.runs_at("medium"):
        network = each.run.run.network
        named = "hf:minilm" if each.encoder == "minilm" else each.encoder
        assert (network.encoder, network.attention) == (named, each.method)
    babi = [each.run.run for each in STUDY.runs_at("small") if each.data == "babi_task1"]
    assert {run.network.hidden_size for run in babi} == {30, 60, 8}
    assert {run.text.max_tokens for run in babi} == {None}


def test_minilm_is_beside_the_paper_s_encoders_on_some_sets_and_in_no_claim(monkeypatch):
    own = [each for each in STUDY.runs_at("medium") if each.encoder == "minilm"]
    assert {(each.data, each.method) for each in own} == {("sst2", "additive"), ("ag_news", "additive")}
    assert {each.run.run.network.vectors for each in own} == {None}
    results = results_of(STUDY)
    without = Results("small", tuple(cell for cell in results.cells if cell.encoder != "minilm"))
    assert outcomes(without) == outcomes(results) and len(without.cells) < len(results.cells)
    assert STUDY.remarks(results) == []
    (remark,) = STUDY.remarks(without)
    assert "a pretrained transformer beside the paper's encoders is missing" in remark
    monkeypatch.setattr(reproduction, "has_minilm", lambda: False)
    assert not [each for each in STUDY.runs_at("paper") if each.encoder == "minilm"]


def test_questions_are_not_split_and_parts_that_were_not_measured_are_missing():
    agreement = STUDY.tables(results_of(STUDY))[1]
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
    assert list(figures) == ["figure_2", "figure_3_4", "figure_5", "figure_6", "figure_7", "figure_8"]
    assert "average - BiLSTM" in figures["figure_5"] and "average - BiLSTM" not in figures["figure_3_4"]
    assert "tau of attention and leave-one-out" in figures["figure_3_4"]
