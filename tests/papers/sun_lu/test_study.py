import pytest

from heedful.papers import STUDIES
from heedful.papers.reproduction import Results
from support.synthetic_results import judged_claims, results_of

STUDY = STUDIES["sun-lu"]


@pytest.fixture(scope="module")
def results():
    return results_of(STUDY)


def cells_of(scale):
    return {(each.data, each.encoder, each.method, each.role): each for each in STUDY.runs_at(scale)}


def test_models_are_selected_by_name_factor_and_role_and_lambda_divides_their_scores():
    cells = cells_of("small")
    assert cells["sst2", "dp", "lambda 0.001", ""].model == "dp, lambda 0.001"
    kept_small = cells["sst2", "dp", "lambda 100", "V.W kept small"]
    assert kept_small.model == "dp, V.W kept small, lambda 100"
    assert kept_small.run.run.training.method == "alignment"
    assert cells["planted", "dp", "lambda 10", "planted"].audit is None
    cells = cells_of("medium")
    assert cells["sst2", "dp-a", "lambda 10", ""].run.run.network.scale == 10.0
    additive = cells["sst2", "ad", "lambda 10", ""].run.run.network
    assert (additive.scale, additive.temperature) == (None, 10.0)


def test_scores_are_recorded_of_the_models_that_are_drawn(results):
    recorded = {(cell.encoder, cell.method, cell.role) for cell in results.cells if cell.tokens}
    assert recorded == {
        ("dp", "lambda 10", ""),
        ("ad", "lambda 10", ""),
        ("dp", "lambda 100", ""),
        ("dp", "lambda 100", "V.W kept small"),
        ("dp", "lambda 10", "planted"),
    }


def test_of_three_labels_none_is_favored_by_v_w(results):
    claims = judged_claims(STUDY, results)
    assert "newsgroups_topics3" not in {each.data for each in claims["favored_label_scores_higher"].sets}
    assert claims["indicative_words_score_higher_three_labels"].sets
    scores = {about: entries for about, entries in STUDY.tables(results)[1].rows}
    assert scores["newsgroups_topics3", "dp, lambda 100"][1].ours is None


def test_every_figure_is_drawn_and_synthetic_sets_alone_give_trajectories_alone(results):
    assert not [about for table in STUDY.tables(results) for about, _ in table.rows if about[0].startswith("planted")]
    real = ["polarity", "attention", "polarity_large", "attention_large", "additive", "weights"]
    names = [figure.name for figure in STUDY.figures(results)]
    assert names[:6] == real and len(names) == 12
    planted = Results("small", tuple(cell for cell in results.cells if cell.role == "planted"))
    assert [figure.name for figure in STUDY.figures(planted)] == names[6:]
