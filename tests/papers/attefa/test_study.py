from heedful.papers import STUDIES
from heedful.papers.reproduction import Results
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
        "transformer",
    }
    assert future["mlp, 4 classes"].run.run.network.encoder == "average"
    assert future["mlp, 4 classes"].run.run.training.metric == "accuracy"
    assert future["bilstm, words at the end"].run.run.data.positions == "end"
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
    assert STUDY.claims(without) == STUDY.claims(results) and len(without.cells) == len(results.cells) - 2
    table = STUDY.tables(results_of(STUDY, "medium"))[-1]
    assert [about for about, _ in table.rows] == [
        (data,) for data in ("mock-1", "mock-5", "mock-1q", "mock-4q", "sst2")
    ]
    assert [entries[-1].ours is not None for _, entries in table.rows] == [False, False, False, False, True]
    assert all(entry.ours is not None for _, entries in table.rows for entry in entries[:-1])


def test_tables_hold_future_work_after_the_paper_s_models_and_nothing_by_lambda():
    results = results_of(STUDY, "medium")
    *others, transformer = STUDY.tables(results)
    assert transformer.name == "Future work"
    for table in others:
        models = [about[1] for about, _ in table.rows]
        assert models[-6:] == ["mlp, 4 classes", *["transformer"] * 5] and models[0] == "bilstm"
        assert not [model for model in models if "lambda" in model]


def test_each_adversary_has_a_value_and_those_with_fewer_are_padded():
    results = results_of(STUDY)
    table = STUDY.tables(results)[2]
    assert table.columns == ("seed 10", "seed 50")
    assert all(entry.ours is not None for _, entries in table.rows for entry in entries)


def test_lines_by_lambda_have_the_colors_of_the_base_models():
    chart = STUDY.figures(results_of(STUDY), {})[1].chart.to_json()
    assert '"by lambda"' not in chart
    assert '"kind": "line"' in chart


def test_without_lambdas_there_are_points_and_no_lines():
    results = results_of(STUDY)
    cells = tuple(cell for cell in results.cells if "by lambda" not in cell.role)
    figures = STUDY.figures(Results("small", cells), {})
    assert len(figures) == 2
    assert "By lambda" not in figures[1].alt
