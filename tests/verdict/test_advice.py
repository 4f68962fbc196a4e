"""Which ranking to show instead of attention."""

import math

import pytest
import torch

from heedful.verdict.advice import advise
from support.columns import TEXTS, column


def fractions(attention: float, product: float, other: float = 0.9) -> dict[str, torch.Tensor]:
    by_ranking = {"attention": attention, "product": product, "input_gradient": other, "leave_one_out": other}
    return {f"erase_until_flip.fraction_{name}": column(value) for name, value in by_ranking.items()}


def test_the_ranking_to_show_is_chosen_on_dev_and_reported_on_test():
    advice = advise(fractions(0.5, 0.2), fractions(0.6, 0.3))
    assert advice.ranking == "product"
    assert advice.fractions["product"] == pytest.approx(0.3) and "30%" in advice.sentence and "60%" in advice.sentence


def test_attention_stays_where_nothing_is_better_beyond_doubt():
    noise = 0.2 * torch.randn(TEXTS, generator=torch.Generator().manual_seed(0)).double()[None]
    dev = fractions(0.5, 0.499)
    dev["erase_until_flip.fraction_product"] = dev["erase_until_flip.fraction_product"] + noise - noise.mean()
    assert advise(dev, fractions(0.6, 0.6)).ranking == "attention"


@pytest.mark.parametrize(("saved", "ranking"), [(0.009, "attention"), (0.011, "product")])
def test_a_ranking_must_save_more_than_a_hundredth_of_a_text(saved, ranking):
    advice = advise(fractions(0.5, 0.5 - saved), fractions(0.6, 0.6 - saved))
    assert advice.ranking == ranking


def test_what_only_test_says_decides_nothing():
    advice = advise(fractions(0.5, 0.9), fractions(0.6, 0.1))
    assert advice.ranking == "attention" and "60%" in advice.sentence


def test_without_any_flip_there_is_no_advice():
    never = fractions(math.nan, math.nan, math.nan)
    assert advise(never, never) is None
