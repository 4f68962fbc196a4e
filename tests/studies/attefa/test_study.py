from heedful.studies import STUDIES
from heedful.studies.study import Results
from support.synthetic_results import results_of

STUDY = STUDIES["attefa"]


def test_a_model_by_lambda_has_an_adversary_for_each_lambda_and_the_same_base():
    runs = {(each.data, each.encoder, each.role): each for each in STUDY.runs_at("small")}
    base, by_lambda = runs["sst2", "mlp", ""], runs["sst2", "mlp", "by lambda"]
    assert by_lambda.model == "mlp, by lambda" and by_lambda.run == base.run
    weights = [adversary.changes["options"]["weight"] for adversary in by_lambda.adversaries]
    assert weights == [1e-4, 1e-3, 1e-2, 1e-1]
    assert {adversary.changes["method"] for adversary in by_lambda.adversaries} == {"adversary_kl"}
    assert [adversary.seed for adversary in base.adversaries] == [10, 50]


def test_future_work_is_kept_apart_and_changes_one_thing_each():
    future = {each.model: each for each in STUDY.runs_at("medium") if each.role == "future work"}
    assert set(future) == {
        "cnn",
        "gru",
        "identity",
        "bilstm, temperature 3",
        "bilstm, words at the start",
        "bilstm, words at the end",
        "bilstm, words that agree by .7",
        "bilstm, 4 classes",
        "mlp, 4 classes",
    }
    assert future["mlp, 4 classes"].run.run.network.encoder == "average"
    assert future["mlp, 4 classes"].run.run.training.metric == "accuracy"
    assert future["bilstm, words at the end"].run.run.data.positions == "end"
    assert not [each for each in STUDY.runs_at("small") if each.role == "future work"]


def test_tables_hold_future_work_after_the_paper_s_models_and_nothing_by_lambda():
    results = results_of(STUDY, "medium")
    for table in STUDY.tables(results):
        models = [about[1] for about, _ in table.rows]
        assert models[-1] == "mlp, 4 classes" and models[0] == "bilstm"
        assert not [model for model in models if "lambda" in model]


def test_each_adversary_has_a_value_and_those_with_fewer_are_padded():
    results = results_of(STUDY)
    table = STUDY.tables(results)[2]
    assert table.columns == ("seed 10", "seed 50")
    assert all(entry.ours is not None for _, entries in table.rows for entry in entries)


def test_lines_by_lambda_have_the_colours_of_the_base_models():
    chart = STUDY.figures(results_of(STUDY), {})[1].chart.to_json()
    assert '"by lambda"' not in chart
    assert '"kind": "line"' in chart


def test_without_lambdas_there_are_points_and_no_lines():
    results = results_of(STUDY)
    cells = tuple(cell for cell in results.cells if cell.role != "by lambda")
    figures = STUDY.figures(Results("small", cells), {})
    assert len(figures) == 2
    assert "By lambda" not in figures[1].alt
