"""What to show: attention, another ranking, or nothing."""

import math

import pytest
import torch

from heedful.verdict.advice import advise, can_advise, can_choose, fraction
from support.columns import TEXTS, column


def fractions(attention: float, product: float, other: float = 0.9, **bounds: float) -> dict[str, torch.Tensor]:
    """Columns of every ranking; a random order needs all but .95, the smallest set .1, but for the given ones."""
    by_ranking = {
        "attention": attention,
        "attention_x_gradient": product,
        "gradient_x_input": other,
        "leave_one_out": other,
    }
    by_ranking |= {"random": 0.95, "minimal": 0.1, **bounds}
    return {fraction(name): column(value) for name, value in by_ranking.items()}


def advice_on(dev, test, answer="no"):
    return advise(dev, test, answer, chosen_on="dev texts")


def test_the_ranking_to_show_is_chosen_on_dev_and_reported_on_test():
    advice = advice_on(fractions(0.5, 0.2), fractions(0.6, 0.3))
    assert (advice.action, advice.ranking, advice.chosen_on) == ("instead", "attention_x_gradient", "dev texts")
    assert (
        advice.fractions["attention_x_gradient"] == pytest.approx(0.3)
        and "30%" in advice.sentence
        and "60%" in advice.sentence
    )
    assert advice.score == pytest.approx((0.7 - 0.05) / (0.9 - 0.05)) and "the smallest set" in advice.sentence


def test_attention_that_may_be_shown_is():
    advice = advice_on(fractions(0.5, 0.2), fractions(0.6, 0.3), "yes")
    assert (advice.action, advice.ranking) == ("attention", "attention")
    assert "attention x gradient finds a change of the decision sooner" in advice.sentence
    assert "no other ranking" in advice_on(fractions(0.2, 0.5), fractions(0.2, 0.5), "yes").sentence


@pytest.mark.parametrize("answer", ["no", "in part", "undecided"])
def test_nothing_is_shown_where_nothing_is_better_than_attention(answer):
    noise = 0.2 * torch.randn(TEXTS, generator=torch.Generator().manual_seed(0)).double()[None]
    dev = fractions(0.5, 0.499)
    dev[fraction("attention_x_gradient")] = dev[fraction("attention_x_gradient")] + noise - noise.mean()
    advice = advice_on(dev, fractions(0.6, 0.6), answer)
    assert advice.action == "nothing" and "no other ranking is surely better" in advice.sentence


@pytest.mark.parametrize(("saved", "action"), [(0.009, "nothing"), (0.011, "instead")])
def test_a_ranking_must_save_more_than_a_hundredth_of_a_text(saved, action):
    assert advice_on(fractions(0.3, 0.3 - saved), fractions(0.3, 0.3 - saved)).action == action


@pytest.mark.parametrize(("product", "action"), [(0.52, "instead"), (0.53, "nothing")])
def test_a_ranking_must_itself_get_half_way_to_the_smallest_set(product, action):
    advice = advice_on(fractions(0.9, 0.2), fractions(0.9, product))
    assert advice.action == action
    assert action == "instead" or "not even attention x gradient" in advice.sentence


def test_what_only_test_says_decides_nothing():
    advice = advice_on(fractions(0.5, 0.9), fractions(0.6, 0.1))
    assert advice.action == "nothing" and "60%" in advice.sentence


def test_without_any_flip_there_is_no_advice():
    never = fractions(math.nan, math.nan, math.nan)
    assert advice_on(never, never) is None


def test_a_choice_needs_no_floors():
    known = {name: own for name, own in fractions(0.5, 0.2).items() if not name.endswith(("random", "minimal"))}
    assert can_choose(known) and not can_advise(known)
    assert not any(can_choose({name: own for name, own in known.items() if name != left_out}) for left_out in known)


def test_every_ranking_must_have_been_tested():
    known = fractions(0.5, 0.2)
    assert can_advise(known)
    assert not any(can_advise({name: own for name, own in known.items() if name != left_out}) for left_out in known)
