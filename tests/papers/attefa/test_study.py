from heedful.jobs.planning import adversary_of
from heedful.papers import STUDIES
from heedful.papers.reproduction import Results
from heedful.settings.validation import update_settings
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


def test_each_of_the_paper_s_cells_has_nine_adversaries_and_none_starts_where_its_base_does():
    own = [each for each in STUDY.runs_at("medium") if not each.role]
    assert len(own) == 24 and {len(each.adversaries) for each in own} == {9}
    for scale in ("small", "medium", "paper"):
        for each in (each for each in STUDY.runs_at(scale) if each.encoder != "transformer"):
            assert each.run.run.seed not in {adversary.seed for adversary in each.adversaries}
    mock = next(each.run.run for each in own if each.data == "mock-1")
    assert mock.data.lexicon == "hu_liu" and mock.data.train_limit is None and mock.network.vectors is not None
    assert mock.training.learning_rate == 1e-3


def test_at_the_paper_s_scale_an_adversary_stops_after_ten_epochs_without_improvement_however_early():
    base = next(each for each in STUDY.runs_at("paper") if not each.role)
    run = update_settings(base.run.run, {"data.fingerprint": "f", "network.vectors_fingerprint": "v"})
    training = adversary_of(run, 10, base.adversaries[0].changes).training
    assert (training.epochs, training.patience, training.min_epochs, training.selection) == (80, 10, 1, "paper")


def test_future_work_is_kept_apart_and_changes_one_thing_each():
    runs = {(each.data, each.model): each.run.run for each in STUDY.runs_at("medium") if each.role == "future work"}
    four = runs["mock-5", "mlp, 4 classes"]
    assert (four.network.encoder, four.training.metric) == ("average", "accuracy")
    assert {f"bilstm, words {where}" for where in ("at the start", "in the middle", "at the end")} < {
        model for _, model in runs
    }
    own = {(each.data, each.model): each.run.run for each in STUDY.runs_at("medium") if not each.role}
    # Cooler attention where informative words are rare, warmer where they are frequent: as the paper conjectures.
    for source, temperature in (("mock-1", 0.3), ("mock-2", 0.3), ("mock-3q", 3.0), ("mock-4q", 3.0)):
        for encoder in ("mlp", "bilstm"):
            run = runs[source, f"{encoder}, temperature {temperature}"]
            assert run == update_settings(own[source, encoder], {"network.temperature": temperature})
    assert runs["mock-5", "mlp, dot attention"].network.attention == "dot"
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
    chart = STUDY.figures(results, {})[1].chart.to_json()
    assert '"by lambda"' not in chart and '"kind": "line"' in chart
    cells = tuple(cell for cell in results.cells if "by lambda" not in cell.role)
    _, plane = STUDY.figures(Results("small", cells), {})
    assert "By lambda" not in plane.alt
