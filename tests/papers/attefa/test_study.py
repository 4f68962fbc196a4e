from heedful.papers import STUDIES
from heedful.papers.reproduction import Results
from support.synthetic_results import judged_claims, results_of

STUDY = STUDIES["attefa"]


def outcomes(results):
    """The outcome of every claim on every dataset."""
    return {name: [each.outcome for each in judged.sets] for name, judged in judged_claims(STUDY, results).items()}


def test_a_model_by_lambda_has_an_adversary_for_each_lambda_and_the_same_base():
    runs = {(each.data, each.encoder, each.role): each for each in STUDY.runs_at("small")}
    base, by_lambda = runs["sst2", "mlp", ""], runs["sst2", "mlp", "by lambda"]
    assert by_lambda.model == "mlp, by lambda" and by_lambda.run == base.run
    weights = [adversary.changes["options"]["weight"] for adversary in by_lambda.adversaries]
    assert weights == [1e-4, 1e-3, 1e-2, 1e-1]
    assert {adversary.changes["method"] for adversary in by_lambda.adversaries} == {"adversary_kl"}
    assert [adversary.seed for adversary in base.adversaries] == [10, 50]


def test_future_work_is_kept_apart_and_changes_one_thing_each():
    future = {each.model: each.run.run for each in STUDY.runs_at("medium") if each.role == "future work"}
    assert len(future) == 10 and {"cnn", "bilstm, temperature 3", "mlp, 4 classes", "transformer"} < set(future)
    four = future["mlp, 4 classes"]
    assert (four.network.encoder, four.training.metric) == ("average", "accuracy")
    assert future["bilstm, words at the end"].data.positions == "end"
    assert {each.model for each in STUDY.runs_at("small") if each.role == "future work"} == {"transformer"}


def test_a_transformer_is_asked_all_of_the_paper_s_questions_and_is_in_no_claim():
    own = [each for each in STUDY.runs_at("small") if each.encoder == "transformer"]
    assert {(each.data, each.role) for each in own} == {
        ("sst2", "future work"),
        ("sst2", "future work, by lambda"),
    }
    assert {each.run.run.network.encoder for each in own} == {"transformer"}
    assert [len(each.adversaries) for each in own] == [2, 4]
    results = results_of(STUDY)
    without = Results("small", tuple(cell for cell in results.cells if cell.encoder != "transformer"))
    assert outcomes(without) == outcomes(results) and len(without.cells) == len(results.cells) - 2
    *others, table = STUDY.tables(results_of(STUDY, "medium"))
    assert [about for about, _ in table.rows] == [
        (data,) for data in ("mock-1", "mock-5", "mock-1q", "mock-4q", "sst2")
    ]
    assert all(entry.ours is not None for _, entries in table.rows for entry in entries[:-1])
    assert not [about for other in others for about, _ in other.rows if "lambda" in about[1]]


def test_each_adversary_has_a_value_and_lines_by_lambda_have_the_colors_of_the_base_models():
    results = results_of(STUDY)
    table = STUDY.tables(results)[2]
    assert table.columns == ("seed 10", "seed 50")
    assert all(entry.ours is not None for _, entries in table.rows for entry in entries)
    chart = STUDY.figures(results)[1].chart.to_json()
    assert '"by lambda"' not in chart and '"kind": "line"' in chart
    cells = tuple(cell for cell in results.cells if "by lambda" not in cell.role)
    _, plane = STUDY.figures(Results("small", cells))
    assert "By lambda" not in plane.alt
