import pytest

from heedful.papers import STUDIES
from heedful.papers.reproduction import Results
from heedful.settings.validation import update_settings
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
        *(("dp", f"lambda {scaling}", "") for scaling in ("0.001", "1", "10", "100")),
        *((encoder, "lambda 10", "") for encoder in ("dp-a", "dp-l", "ad")),
        ("dp", "lambda 100", "V.W kept small"),
        ("dp", "lambda 10", "planted"),
    }


def test_the_paper_s_layers_are_decayed_and_the_grid_of_amounts_differs_in_nothing_else():
    cells = cells_of("medium")
    for encoder, layer in {"ad": "attention", "dp-a": "encoder", "dp-l": "encoder"}.items():
        ours = cells["sst2", encoder, "lambda 10", ""].run.run
        assert ours.training.weight_decay == {layer: 1e-3}
        for amount in ("0", "0.0001", "0.01"):
            other = cells["sst2", encoder, "lambda 10", f"L2 {amount}"].run.run
            assert other.training.weight_decay == {layer: float(amount)}
            same = {"training.weight_decay": {layer: 1e-3}, "seed": ours.seed}
            assert update_settings(other, same) == ours
    assert cells["sst2", "dp", "lambda 10", ""].run.run.training.weight_decay == 0.0


def test_synthetic_training_lasts_as_long_at_every_scale():
    """Epochs x steps an epoch x learning rate is 500 x 60 x .015, with dropout but for the second line."""
    for scale in ("small", "medium", "paper"):
        for each in STUDY.runs_at(scale):
            if each.data.startswith("planted"):
                run = each.run.run
                steps = (run.data.train_limit or 12_000) / run.training.batch_size
                assert run.training.epochs * steps * run.training.learning_rate == pytest.approx(450)
                assert run.network.embedding_dropout == (0.0 if each.role == "without dropout" else 0.5)


def test_of_three_labels_none_is_favored_by_v_w(results):
    claims = judged_claims(STUDY, results)
    assert "newsgroups_topics3" not in {each.data for each in claims["favored_label_scores_higher"].sets}
    assert claims["indicative_words_score_higher_three_labels"].sets
    scores = {about: entries for about, entries in STUDY.tables(results)[5].rows}
    assert scores["newsgroups_topics3", "dp, lambda 100"][1].ours is None


def test_every_figure_is_drawn_under_the_paper_s_number_and_in_its_order():
    results = results_of(STUDY, "medium")
    assert not [about for table in STUDY.tables(results)[4:6] for about, _ in table.rows if about[0] == "planted"]
    drawn = STUDY.figures(results)
    sources = [figure.source.removeprefix("Sun & Lu 2020, ") for figure in drawn if figure.source]
    supplement = [source.removeprefix("supplement, ") for source in sources if source.startswith("supplement")]
    assert sources[:8] == ["Figure 2"] * 2 + ["Figure 3a", "Figure 3b", "Figure 3c"] + ["Figure 4"] * 2 + ["Figure 5"]
    assert list(dict.fromkeys(supplement)) == [
        "Figure 1 (top)",
        *(f"Figure {number}" for number in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)),
        *("Figures 14 to 20", "Figures 21 to 24", "Figures 25 to 28"),
    ]
    assert [figure.name for figure in drawn if not figure.source] == [
        *("kept_small", "plain_polarity", "plain_attention", "terms")
    ]
    assert len({figure.name for figure in drawn}) == len(drawn)


def test_synthetic_sets_alone_give_trajectories_alone(results):
    planted = Results("small", tuple(cell for cell in results.cells if cell.role == "planted"))
    names = [figure.name for figure in STUDY.figures(planted)]
    assert names == [
        *("products", "planted_polarity", "planted_attention", "planted_regularized", "planted_noisy_products"),
        *("alignment", "terms"),
    ]


def test_what_the_tables_show_of_table_1_is_what_was_used(results):
    tables = {table.name: table for table in STUDY.tables(results)}
    (sst, *_) = (dict(zip(tables["Table 1"].columns, entries, strict=True)) for _, entries in tables["Table 1"].rows)
    assert sst["vocabulary"].ours.value == 12 and sst["vocabulary"].paper == 16174
    assert sst["test, label 0"].ours.value + sst["test, label 1"].ours.value == 200
    assert (sst["train, label 0"].ours, sst["train, label 0"].paper) == (None, 3310)
