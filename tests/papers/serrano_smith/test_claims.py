"""Each claim of Serrano and Smith on rows in which its sentence is plainly true, and plainly false."""

import torch

from heedful.papers import STUDIES
from support.synthetic_results import TEXTS, judged_claims, made_cell, made_results, near, share, word_on

STUDY = STUDIES["serrano-smith"]


def erased(encoder="rnn", shape="flat", data="imdb_ratings", *, flips=0.1, extra=0.1, gap=0.3, mass=0.4, **fractions):
    """What each ranking erases; the share of predictions that the top item flips; its extra effect and weight."""
    rankings = ("random", "attention", "weight_gradient", "attention_x_gradient", "minimal")
    before = {**dict.fromkeys(rankings, 0.5), **fractions}
    columns = {f"erase_until_flip.fraction_{ranking}": fraction for ranking, fraction in before.items()}
    columns |= {"erase_one.flips_attention": share(flips), "erase_one.other_flips_attention": share(0.05)}
    columns |= {"erase_one.delta_js_attention": extra, "erase_one.delta_attention_attention": gap}
    columns |= {"erase_until_flip.mass_attention": 0.5, "erase_until_flip.mass_weight_gradient": mass}
    return made_cell(data, encoder, shape, columns=columns)


def one(encoder="rnn", shape="flat", **fractions):
    return made_results(erased(encoder, shape, **fractions))


def two(encoder, other, shape="flat", *, true):
    """The second encoder needs more erasures than the first; or fewer."""
    first, second = (0.1, 0.5) if true else (0.5, 0.1)
    return made_results(erased(encoder, shape, attention=first), erased(other, shape, attention=second))


HAN = {"shape": "hierarchical"}
CLAIM_CASES = {
    "gradient_sooner_than_attention": lambda true: one(weight_gradient=0.4, attention=0.8 if true else 0.1),
    "attention_sooner_than_random": lambda true: one(random=0.4, attention=0.1 if true else 0.8),
    "flat_convolution_needs_fewer_than_flat_rnn": lambda true: two("conv", "rnn", true=true),
    "product_finds_smaller_sets": lambda true: one(attention_x_gradient=0.4, attention=0.8 if true else 0.1),
    "attention_misses_smallest_set": lambda true: one(attention=0.7 if true else 0.2, minimal=0.2),
    "top_item_seldom_flips": lambda true: one(**HAN, flips=0.05 if true else 0.95),
    "top_item_moves_prediction_more": lambda true: one(**HAN, extra=0.3 if true else -0.3),
    "flips_occur_late": lambda true: one(attention=0.8 if true else 0.2),
    "gradient_erases_less_mass": lambda true: one(mass=0.1 if true else 0.6),
    "single_items_flip_more_without_encoder": lambda true: made_results(
        erased("none", flips=0.8 if true else 0.1), erased("rnn", flips=0.4)
    ),
    "large_gaps_may_move_little": lambda true: one(**HAN, gap=0.4, extra=0.01 if true else 0.3),
    "negative_differences_are_small": lambda true: one(**HAN, extra=-0.01 if true else -0.3),
    "negative_differences_are_near_ties": lambda true: one(**HAN, extra=-0.01, gap=0.1 if true else 0.6),
}


def test_claims_about_models_with_an_encoder_leave_out_those_without_and_ties_do_not_count():
    for claim in ("gradient_sooner_than_attention", "product_finds_smaller_sets", "attention_misses_smallest_set"):
        assert word_on(STUDY, claim, made_results(erased("none"))) == "not tested"
    tied = near(0.5).where(torch.arange(TEXTS) < 100, near(0.5) + 0.1)
    results = one(weight_gradient=near(0.5), attention=tied)
    (each,) = judged_claims(STUDY, results)["gradient_sooner_than_attention"].sets
    assert (each.effect.value, each.effect.n) == (1.0, 100)
