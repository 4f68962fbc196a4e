"""Each claim of Serrano and Smith on rows in which its sentence is plainly true, and plainly false."""

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, share, verdict_of

STUDY = STUDIES["serrano-smith"]


def erased(encoder="rnn", shape="flat", data="imdb_ratings", *, flips=0.1, extra=0.1, **fractions):
    """The fraction that each ranking erases; the share of decisions that the top item flips; its extra effect."""
    rankings = ("random", "attention", "weight_gradient", "attention_x_gradient", "minimal")
    before = {**dict.fromkeys(rankings, 0.5), **fractions}
    columns = {f"erase_until_flip.fraction_{ranking}": fraction for ranking, fraction in before.items()}
    columns |= {"erase_one.flips_attention": share(flips), "erase_one.delta_js_attention": extra}
    return made_cell(data, encoder, shape, columns=columns)


def one(**fractions):
    return made_results(erased(**fractions))


def two(encoder, other, shape="flat", *, true):
    """The second encoder needs more erasures than the first; or fewer."""
    first, second = (0.1, 0.5) if true else (0.5, 0.1)
    return made_results(erased(encoder, shape, attention=first), erased(other, shape, attention=second))


CLAIM_CASES = {
    "gradient_sooner_than_attention": lambda true: one(weight_gradient=0.4, attention=0.8 if true else 0.1),
    "attention_sooner_than_random": lambda true: one(random=0.4, attention=0.1 if true else 0.8),
    "convolution_needs_fewer_erasures_flat": lambda true: two("conv", "rnn", true=true),
    "convolution_needs_fewer_erasures_han": lambda true: two("conv", "rnn", "hierarchical", true=true),
    "no_encoder_needs_fewest_erasures": lambda true: two("none", "conv", true=true),
    "product_sooner_than_attention": lambda true: one(attention_x_gradient=0.4, attention=0.8 if true else 0.1),
    "attention_misses_smallest_set": lambda true: one(attention=0.7 if true else 0.2, minimal=0.2),
    "top_item_seldom_flips": lambda true: one(flips=0.05 if true else 0.95),
    "top_item_moves_prediction_more": lambda true: one(extra=0.3 if true else -0.3),
}


def test_claims_about_models_with_an_encoder_leave_out_those_without():
    for claim in ("gradient_sooner_than_attention", "product_sooner_than_attention", "attention_misses_smallest_set"):
        assert verdict_of(STUDY, claim, made_results(erased("none"))) == "not tested"


def test_without_an_encoder_is_compared_with_the_encoder_that_needs_fewer():
    cells = erased("none", attention=0.3), erased("conv", attention=0.6), erased("rnn", attention=0.2)
    assert verdict_of(STUDY, "no_encoder_needs_fewest_erasures", made_results(*cells)) == "contradicted"
