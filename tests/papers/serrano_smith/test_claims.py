"""Each claim of Serrano and Smith on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

import pytest

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, share, verdict_of

STUDY = STUDIES["serrano-smith"]


def erased(encoder="rnn", shape="flat", data="imdb_ratings", *, flips=0.1, extra=0.1, **fractions):
    """The fraction that each ranking erases; the share of decisions that the top item flips; its extra effect."""
    before = {
        "random": 0.5,
        "attention": 0.5,
        "weight_gradient": 0.5,
        "attention_x_gradient": 0.5,
        "minimal": 0.5,
        **fractions,
    }
    columns = {f"erase_until_flip.fraction_{ranking}": fraction for ranking, fraction in before.items()}
    columns |= {"erase_one.flips_attention": share(flips), "erase_one.delta_js_attention": extra}
    return made_cell(data, encoder, shape, columns=columns)


def gradient_sooner_than_attention(true):
    gradient, attention = (0.2, 0.6) if true else (0.6, 0.2)
    return made_results(erased(weight_gradient=gradient, attention=attention))


def attention_sooner_than_random(true):
    attention, at_random = (0.2, 0.8) if true else (0.8, 0.2)
    return made_results(erased(attention=attention, random=at_random))


def product_sooner_than_attention(true):
    product, attention = (0.2, 0.6) if true else (0.6, 0.2)
    return made_results(erased(attention_x_gradient=product, attention=attention))


def convolution_needs_fewer_erasures(shape, true):
    conv, rnn = (0.2, 0.6) if true else (0.6, 0.2)
    return made_results(erased("conv", shape, attention=conv), erased("rnn", shape, attention=rnn))


def no_encoder_needs_fewest_erasures(true):
    none, conv = (0.1, 0.4) if true else (0.4, 0.1)
    return made_results(erased("none", attention=none), erased("conv", attention=conv))


def attention_misses_smallest_set(true):
    return made_results(erased(attention=0.7 if true else 0.2, minimal=0.2))


def top_item_seldom_flips(true):
    return made_results(erased(flips=0.05 if true else 0.95))


def top_item_moves_prediction_more(true):
    return made_results(erased(extra=0.3 if true else -0.3))


CLAIM_CASES = {
    "gradient_sooner_than_attention": gradient_sooner_than_attention,
    "attention_sooner_than_random": attention_sooner_than_random,
    "convolution_needs_fewer_erasures_flat": partial(convolution_needs_fewer_erasures, "flat"),
    "convolution_needs_fewer_erasures_han": partial(convolution_needs_fewer_erasures, "hierarchical"),
    "no_encoder_needs_fewest_erasures": no_encoder_needs_fewest_erasures,
    "product_sooner_than_attention": product_sooner_than_attention,
    "attention_misses_smallest_set": attention_misses_smallest_set,
    "top_item_seldom_flips": top_item_seldom_flips,
    "top_item_moves_prediction_more": top_item_moves_prediction_more,
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


@pytest.mark.parametrize(
    "claim", ["gradient_sooner_than_attention", "product_sooner_than_attention", "attention_misses_smallest_set"]
)
def test_claims_about_models_with_an_encoder_leave_out_those_without(claim):
    assert verdict_of(STUDY, claim, made_results(erased("none"))) == "not tested"


def test_without_an_encoder_is_compared_with_the_encoder_that_needs_fewer():
    cells = erased("none", attention=0.3), erased("conv", attention=0.6), erased("rnn", attention=0.2)
    assert verdict_of(STUDY, "no_encoder_needs_fewest_erasures", made_results(*cells)) == "contradicted"


def test_remarks_are_made_from_the_numbers():
    sets = {"imdb_ratings": (0.6, 0.4), "newsgroups_20": (0.3, 0.5)}
    cells = [
        erased(encoder, data=data, attention=fraction, minimal=0.1)
        for data, fractions in sets.items()
        for encoder, fraction in zip(("rnn", "conv"), fractions, strict=True)
    ]
    assert STUDY.remarks(made_results(*cells)) == [
        "Ranked by attention, the flat models erase 0.200 (newsgroups_20, rnn) to 0.500 (imdb_ratings, rnn) of a text "
        "more than the smallest set.",
        "With convolution the flat models need, on average, fewer erasures than with recurrence on imdb_ratings; no "
        "fewer on newsgroups_20.",
    ]
    assert STUDY.remarks(made_results()) == []
