import pytest
import torch

from heedful.papers import STUDIES
from support.synthetic_results import known, made_cell, made_results, results_of

STUDY = STUDIES["serrano-smith"]
RANKINGS = ("random", "attention", "weight_gradient", "attention_x_gradient", "minimal")


def erased(**fractions):
    columns = {f"erase_until_flip.{what}_{name}": 0.5 for what in ("fraction", "mass") for name in RANKINGS}
    columns |= {f"erase_until_flip.fraction_{name}": value for name, value in fractions.items()}
    return made_results(made_cell("imdb_ratings", "rnn", "flat", columns=columns))


def row_of(table):
    ((_, entries),) = table.rows
    return {title: known(entry.ours).value for title, entry in zip(table.columns, entries, strict=True)}


def test_models_are_named_by_shape_and_encoder_and_ask_the_paper_s_rankings():
    fields = {each.model: (each.encoder, each.method) for each in STUDY.runs_at("small")}
    assert fields["hierarchical none"] == ("none", "hierarchical") and fields["flat rnn"] == ("rnn", "flat")
    networks = {each.model: each.run.run.network for each in STUDY.runs_at("small")}
    assert networks["hierarchical conv"].encoder == "hierarchical" and networks["hierarchical conv"].words == "cnn"
    assert networks["flat conv"].encoder == "cnn"
    (options,) = {str(known(each.audit).options) for each in STUDY.runs_at("small")}
    by = ("attention", "weight_gradient", "attention_x_gradient")
    assert options == str({"erase_until_flip": {"by": by, "until_empty": True}})
    labels = {each.data: each.run.run.data.label for each in STUDY.runs_at("medium")}
    assert labels == {"imdb_ratings": "rating", "dbpedia14_small": None, "newsgroups_20": None}


def test_settings_are_the_paper_s_by_shape_and_texts_of_two_sentences_have_no_attention_over_sentences():
    dropouts = {(each.data, each.method): each.run.run.network.logit_dropout for each in STUDY.runs_at("paper")}
    assert dropouts == {
        ("imdb_ratings", "hierarchical"): 0.2457,
        ("imdb_ratings", "flat"): 0.3457,
        ("newsgroups_20", "hierarchical"): 0.3749,
        ("newsgroups_20", "flat"): 0.4457,
        ("dbpedia14_small", "flat"): 0.4457,
    }


def test_regret_is_what_a_ranking_erases_beyond_the_minimum_by_hand():
    smallest = torch.tensor([[0.2, 0.2, 0.2, torch.nan]], dtype=torch.float64)
    attention = torch.tensor([[0.2, 0.5, 0.8, torch.nan]], dtype=torch.float64)
    columns = erased(
        random=smallest, weight_gradient=smallest, attention_x_gradient=smallest, minimal=smallest, attention=attention
    )
    regret = row_of(STUDY.tables(columns)[-1])
    assert regret["attention"] == pytest.approx(0.3)
    assert regret["attention finds it"] == pytest.approx(1 / 3)
    assert regret["gradient"] == 0 and regret["gradient finds it"] == 1


def test_the_four_cases_of_a_flip_make_up_all_texts_and_every_figure_is_drawn():
    results = results_of(STUDY)
    for _, entries in STUDY.tables(results)[1].rows:
        assert sum(known(entry.ours).value for entry in entries) == pytest.approx(1)
    names = [figure.name for figure in STUDY.figures(results, {})]
    assert names == ["figure_3_7", "figure_4_8", "figure_5_6_10", "figure_11"]
