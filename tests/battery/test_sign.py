import pytest
import torch

from support.by_hand import evidence_by_hand, findings_in, findings_of


def test_a_signed_importance_agrees_where_the_word_moves_the_probability_its_way():
    # The bias decides: -3 x .6 + 1 x .4 + 2 = .6. The largest magnitude is that of the first, which speaks against.
    values = findings_of("sign", [-3, 1], [0.6, 0.4], bias=2.0)
    assert (
        values["speaks_for"] == 0
        and values["agrees_weight_gradient"] == 1
        and values["agrees_attention_x_gradient"] == 1
    )


def test_of_words_that_share_the_first_place_the_mean_counts():
    # 4 x .4 - 2 x .4 + 1 x .2 = 1: the first speaks for the decision, the second against it, the third is neither.
    values = findings_of("sign", [4, -2, 1], [0.4, 0.4, 0.2])
    assert values["speaks_for"] == pytest.approx(0.5) and values["others_speak_for"] == pytest.approx(1 / 3)


def test_rounding_speaks_for_nothing():
    """Words that all say the same: without any of them the rest says it still, but for the last digit."""
    values = findings_of("sign", [0.7, 0.7, 0.7, 0.7], [0.47, 0.29, 0.17, 0.07], bias=0.3)
    assert values["speaks_for"] == values["others_speak_for"] == values["some_speaks_for"] == 0


def test_a_prediction_too_sure_for_its_probability_to_move_has_log_odds_that_do():
    values = findings_of("sign", [400, 300, 200], [0.5, 0.3, 0.2])
    assert values["speaks_for"] == 1 and values["others_speak_for"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_deleting_each_word_does(seed):
    """Against softmax by softmax: the share of words without which the probability of the decision is lower."""
    draw = torch.Generator().manual_seed(seed)
    logits, scores = torch.randn(2, 7, generator=draw).double()
    values = findings_in("sign", evidence_by_hand(logits.tolist(), scores=scores.tolist()))
    whole = (scores.softmax(0) * logits).sum()
    direction = whole.sign()
    lowers = []
    for word in range(7):
        left = torch.arange(7) != word
        lowers.append((direction * (scores[left].softmax(0) * logits[left]).sum() < direction * whole).item())
    assert values["speaks_for"] == lowers[scores.argmax()]
    assert values["others_speak_for"] == pytest.approx(sum(lowers) / 7) and values["some_speaks_for"] == any(lowers)
