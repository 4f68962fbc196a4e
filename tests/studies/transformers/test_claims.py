"""Each claim about transformers on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

import pytest

from heedful.studies import STUDIES
from heedful.studies.transformers.claims import remarks
from support.synthetic_results import made_cell, made_results, near, share, verdict_of

STUDY = STUDIES["transformers"]
SETS = ("sst2", "rotten_tomatoes", "tweeteval_hate", "ag_news")


def measured(columns):
    return made_results(*(made_cell(data, "transformer", "fine-tuned", columns=columns) for data in SETS))


def larger(first, second, true):
    """Rows in which the first column is larger than the second; or smaller."""
    return measured({first: 0.5 if true else 0.2, second: 0.3})


def as_accurate(place, true):
    """Rows in which uniform attention in that place costs nothing; or a quarter of the texts."""
    return measured({f"{place}.uniform_correct": share(0.9 if true else 0.65), "prediction.correct": share(0.9)})


def costs(true):
    return measured({"all_rows.uniform_correct": share(0.6 if true else 0.95), "prediction.correct": share(0.9)})


def better(ranking):
    return partial(larger, f"agreement.{ranking}", "agreement.attention")


CLAIM_CASES = {
    "top_word_matters": partial(larger, "top_word.attention", "top_word.random"),
    "uniform_row_costs_nothing": partial(as_accurate, "row"),
    "uniform_row_in_all_layers_costs_nothing": partial(as_accurate, "row_all_layers"),
    "uniform_attention_everywhere_costs": costs,
    "rollout_agrees_better": better("rollout"),
    "value_norm_agrees_better": better("value_norm"),
    "best_head_agrees_better": better("best_head"),
    "product_agrees_better": better("product"),
    "attention_lacks_polarity": partial(larger, "polarity.product", "polarity.attention"),
    "words_leak_through_other_rows": partial(larger, "row_all_layers.blind_correct", "all_rows.blind_correct"),
    "last_row_bounds_the_last_hop_only": partial(larger, "row.blind_correct", "row_all_layers.blind_correct"),
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_models_that_have_not_learnt_are_left_out():
    columns = {"prediction.correct": share(0.5), "prediction.label": share(0.5), "row.uniform_correct": share(0.5)}
    claims = {claim.id: claim for claim in STUDY.claims(measured(columns))}
    assert set(claims["uniform_row_costs_nothing"].left_out) == set(SETS)


def test_the_best_heads_are_named_by_seed():
    layers = near(0.0, 3) * 0 + 5
    layers[2] = 4
    cell = made_cell("sst2", "transformer", columns={"best_head.layer": layers, "best_head.head": layers * 0 + 9})
    assert remarks(made_results(cell)) == [
        "The best head on dev by seed (layer.head, from 0): sst2: 5.9 (2 times), 4.9."
    ]
    assert remarks(made_results(made_cell("sst2", "transformer"))) == []
