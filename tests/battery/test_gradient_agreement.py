import pytest
import torch
from scipy.stats import kendalltau

from support.by_hand import evidence_by_hand, findings_in, findings_of


def test_gradient_agreement_is_one_where_attention_times_token_is_in_attentions_order():
    assert findings_of("gradient_agreement", [1, 1, 1], [0.5, 0.3, 0.2])["tau"] == pytest.approx(1.0)
    assert findings_of("gradient_agreement", [1, 3, 9], [0.5, 0.3, 0.2])["tau"] == pytest.approx(-1.0)


@pytest.mark.parametrize("seed", range(5))
def test_weights_that_know_nothing_agree_too_where_all_words_say_the_same(seed):
    """A weight that is used matters: permuted weights rank words as their own gradient does, so the floor is 1."""
    values = findings_in("gradient_agreement", evidence_by_hand([1, 1, 1, 1], [0.4, 0.3, 0.2, 0.1], seed=seed))
    assert values["tau"] == pytest.approx(1.0) and values["tau_permuted"] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_floor_is_that_of_the_permuted_weights(seed):
    """Of a bag of words the gradient is proportional to weight x logit."""
    logits, scores = torch.randn(2, 7, generator=torch.Generator().manual_seed(seed)).double()
    evidence = evidence_by_hand(logits.tolist(), scores=scores.tolist(), seed=seed)
    permuted = scores.softmax(0)[evidence.permutation[0]]
    wanted = kendalltau(permuted, (permuted * logits).abs())[0]
    assert sorted(permuted.tolist()) == pytest.approx(sorted(scores.softmax(0).tolist()))
    assert findings_in("gradient_agreement", evidence)["tau_permuted"] == pytest.approx(wanted)
