from dataclasses import replace

import pytest
import torch

from heedful.papers import STUDIES
from heedful.papers.serrano_smith import study as serrano_smith
from support.synthetic_results import known, made_cell, made_results, results_of

STUDY = STUDIES["serrano-smith"]
TOPS = ("attention", "weight_gradient", "attention_x_gradient")
RANKINGS = ("random", "one_random", *TOPS, "minimal")
MEASURES = ("fraction", "mass", "count")


def cell(encoder="rnn", shape="flat", data="imdb_ratings", columns=None):
    """A cell with the columns that all tables need; others are given by what follows the test's name."""
    measured = {f"erase_until_flip.{what}_{name}": 0.5 for what in MEASURES for name in RANKINGS}
    measured |= {f"erase_until_flip.{name}": 0.0 for name in ("only_empty", "never")}
    measured |= {f"erase_one.{what}_{top}": 0.5 for what in ("flips", "other_flips") for top in TOPS}
    measured |= {"prediction.items": torch.full((5, 200), 10.0, dtype=torch.float64)}
    given = {
        f"erase_{'one' if 'flips' in name else 'until_flip'}.{name}": value for name, value in (columns or {}).items()
    }
    return replace(made_cell(data, encoder, shape, columns=measured | given), model=f"{shape} {encoder}")


def table(name, *cells):
    (found,) = (each for each in STUDY.tables(made_results(*cells)) if each.name == name)
    return found


def counts(attention, gradient):
    """Items that the two erase of each text, and as many by attention x gradient as by attention."""
    by = dict(zip(TOPS, (attention, gradient, attention), strict=True))
    return {f"count_{name}": torch.tensor([values], dtype=torch.float64) for name, values in by.items()}


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
    dropouts = {(each.data, each.method): each.run.run.network.logit_dropout for each in STUDY.runs_at("medium")}
    assert dropouts == {
        ("imdb_ratings", "hierarchical"): 0.2457,
        ("imdb_ratings", "flat"): 0.3457,
        ("newsgroups_20", "hierarchical"): 0.3749,
        ("newsgroups_20", "flat"): 0.4457,
        ("dbpedia14_small", "flat"): 0.4457,
    }


def test_sets_of_the_paper_that_were_fetched_are_run_at_its_scale_with_its_settings(monkeypatch):
    monkeypatch.setattr(serrano_smith, "named_sets", lambda: {"yelp_reviews": ""})
    assert not [each for each in STUDY.runs_at("medium") if each.data == "yelp"]
    runs = [each.run.run for each in STUDY.runs_at("paper") if each.data == "yelp"]
    assert len(runs) == 30 and {run.data.source for run in runs} == {"yelp_reviews"}
    assert {(run.training.learning_rate, run.network.embedding_dropout, run.network.logit_dropout) for run in runs} == {
        (1e-4, 0.7, 0.7)
    }


def test_regret_is_what_a_ranking_erases_beyond_the_minimum_by_hand():
    smallest = torch.tensor([[0.2, 0.2, 0.2, torch.nan]], dtype=torch.float64)
    attention = torch.tensor([[0.2, 0.5, 0.8, torch.nan]], dtype=torch.float64)
    columns = {f"fraction_{name}": smallest for name in RANKINGS} | {"fraction_attention": attention}
    regret = row_of(table("Regret", cell(columns=columns)))
    assert regret["attention"] == pytest.approx(0.3)
    assert regret["attention finds it"] == pytest.approx(1 / 3)
    assert regret["gradient"] == 0 and regret["gradient finds it"] == 1


def test_the_paper_s_numbers_stand_next_to_its_own_sets_alone():
    assert not [each for each in STUDY.tables(made_results()) if "stand-ins" in each.name]
    cells = [cell(data=data) for data in ("imdb_ratings", "newsgroups_20")]
    rows = {place: entry for place, (entry,) in table("Table 3", *cells).rows}
    assert len(rows) == 24 and ("newsgroups_20", "flat rnn") not in rows
    assert rows["imdb_ratings", "flat rnn"].ours and rows["imdb_ratings", "flat rnn"].paper == 0.491
    assert rows["yahoo", "flat rnn"].ours is None and rows["yahoo", "flat rnn"].paper == 0.755
    assert [(place, entry.paper) for place, (entry,) in table("Table 3, stand-ins", *cells).rows] == [
        (("newsgroups_20", "flat rnn"), None)
    ]
    han = {place[0]: entries for place, entries in table("Table 1", cell(shape="hierarchical"), *cells).rows}[
        "imdb_ratings"
    ]
    assert [known(entry.ours).value for entry in han[:4]] == [10, 0, 10, 0]
    assert [entry.paper for entry in han] == [395, 259, 16.2, 10.7, 122121, 13548, 10]


def test_the_gradient_is_sooner_later_or_tied_by_the_number_of_items():
    attention, gradient = [2.0, 2.0, 2.0 + 1e-12, torch.nan], [1.0, 4.0, 2.0, torch.nan]
    shares = row_of(table("Section 5.4", cell(columns=counts(attention, gradient))))
    for word in ("sooner", "later", "tied"):
        assert shares[f"gradient {word}"] == pytest.approx(1 / 3)


def test_statements_with_a_number_are_counted_model_by_model():
    faster, slower = counts([4, 4, 4, 4, 1], [1, 1, 1, 4, 2]), counts([4, 4, 1], [1, 4, 4])
    cells = (
        cell("rnn", columns=faster | {"flips_attention_x_gradient": 0.7, "mass_attention": 0.9}),
        cell("conv", columns=slower | {"flips_attention_x_gradient": 0.3, "flips_weight_gradient": 0.3}),
        cell("none", columns=faster | {"flips_attention": 0.6, "mass_attention": 0.7}),
    )
    rows = [
        (statement, known(entry.ours).value, entry.paper)
        for (_, statement), (entry,) in table("Sized statements", *cells).rows
    ]
    assert [(round(ours, 3), paper) for _, ours, paper in rows] == [
        (0.5, 0.625),  # of the two with an encoder: 3 of 5 texts; 1 of 3
        (1.0, 1.6),  # 3 : 1 and 1 : 1
        (1.0, 0.875),
        (0.333, 1.0),
        (0.667, 14 / 24),
        (0.2, 0.25),  # the median of .4, 0 and .2
        (0.2, 0.25),
    ]
    assert rows[0][0].endswith("(the paper: 10 of 16; ours: 1 of 2)")


def test_the_four_cases_of_a_flip_make_up_all_texts_and_every_figure_is_drawn():
    results = results_of(STUDY)
    for each in STUDY.tables(results):
        if each.name in ("Table 2, stand-ins", "Figure 9", "Figure 12", "Figure 13, stand-ins"):
            for _, entries in each.rows:
                assert sum(known(entry.ours).value for entry in entries) == pytest.approx(1)
    names = [figure.name for figure in STUDY.figures(results)]
    assert names == [f"figure_{place}" for place in (3, 4, 5, 6, 7, 8, 10, 11)]


def test_remarks_say_how_late_decisions_change_and_how_often_the_gradient_is_sooner():
    fraction = torch.tensor([[0.2, 0.7, 1.0, torch.nan]], dtype=torch.float64)
    cells = (
        cell(columns={"fraction_attention": fraction, **counts([2, 7, 9, torch.nan], [1, 7, 1, torch.nan])}),
        cell(data="newsgroups_20"),
    )
    assert STUDY.remarks(made_results(*cells)) == [
        "Flat rnn: in the median text attention erases a fraction of 0.70 (imdb_ratings), 0.50 (newsgroups_20) before "
        "the decision changes; the gradient needs fewer items in 67% (imdb_ratings), 0% (newsgroups_20) of the texts."
    ]
    assert STUDY.remarks(made_results()) == []
