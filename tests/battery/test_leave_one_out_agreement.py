import pytest
import torch
from scipy.stats import kendalltau

from heedful.attribution.leave_one_out import leave_one_out_to_rank
from heedful.battery import BATTERY, Evidence
from heedful.models.trace import trace
from support.by_hand import evidence_by_hand, findings_of, sigmoid
from support.evidence import evidence_of_kind, seeded
from support.models import make, make_batch


def importance_of(logits, weights):
    """How far the probability moves without each word of a bag."""
    whole = (weights * logits).sum().sigmoid()
    left = ~torch.eye(len(logits), dtype=torch.bool)
    without = torch.stack([(weights[kept] * logits[kept]).sum() / weights[kept].sum() for kept in left])
    return (without.sigmoid() - whole).abs()


@pytest.mark.parametrize("seed", range(5))
def test_the_floor_is_that_of_the_permuted_weights(seed):
    logits, scores = torch.randn(2, 7, generator=torch.Generator().manual_seed(seed)).double()
    evidence = evidence_by_hand(logits.tolist(), scores=scores.tolist(), seed=seed)
    values = BATTERY["leave_one_out_agreement"].function(evidence, seeded(), permuted=True).values
    own = scores.softmax(0)
    permuted = own[evidence.permutation[0]]
    assert values["tau"].item() == pytest.approx(kendalltau(own, importance_of(logits, own))[0])
    wanted = kendalltau(permuted, importance_of(logits, permuted))[0]
    assert values["tau_permuted"].item() == pytest.approx(wanted)


def test_the_floor_is_that_of_a_random_order_unless_permuted_weights_are_measured():
    (question,) = BATTERY["leave_one_out_agreement"].questions
    evidence = evidence_of_kind("recurrent")
    for permuted in (False, True):
        found = BATTERY["leave_one_out_agreement"].function(evidence, seeded(), permuted=permuted).values
        columns = {f"leave_one_out_agreement.{name}": value[None] for name, value in found.items()}
        _, floor, _ = question.measured(columns)
        wanted = found["tau_permuted"] if permuted else torch.zeros_like(found["tau"])
        torch.testing.assert_close(floor[0], wanted, equal_nan=True)
        assert ("tau_permuted" in found) == permuted


def test_leave_one_out_as_a_ranking_has_a_sign():
    """Without a word against the prediction it is more probable; its distance is that of one for it."""
    # 4 x .3 - 2 x .5 + 1 x .2 = .4; without the first -.8 / .7, the second 1.4 / .5, the third .2 / .8.
    evidence = evidence_by_hand([4, -2, 1], [0.3, 0.5, 0.2])
    wanted = [sigmoid(0.4) - sigmoid(without) for without in (-0.8 / 0.7, 1.4 / 0.5, 0.2 / 0.8)]
    assert evidence.leave_one_out[0].tolist() == pytest.approx(wanted)
    assert evidence.leave_one_out_tvd[0].tolist() == pytest.approx([abs(each) for each in wanted])
    assert evidence.ranking("leave_one_out").tolist() == [[0, 2, 1]]


def test_words_whose_deletion_does_nothing_are_tied():
    """All say the same: what moves is the last digit, and its order is no order."""
    values = findings_of("leave_one_out_agreement", [0.7, 0.7, 0.7, 0.7], [0.47, 0.29, 0.17, 0.07], bias=0.3)
    assert all(torch.tensor(value).isnan() for value in values.values())


def test_deletions_are_encoded_once_for_all_tests(monkeypatch):
    model = make("bilstm")
    evidence = Evidence(model, trace(model, make_batch()))
    calls = []

    def counted(*given, **named):
        calls.append(1)
        return leave_one_out_to_rank(*given, **named)

    monkeypatch.setattr("heedful.battery.evidence.leave_one_out_to_rank", counted)
    for name in ("leave_one_out_agreement", "sign", "redundancy", "comprehensiveness_sufficiency"):
        BATTERY[name].function(evidence, torch.Generator().manual_seed(0))
    assert calls == [1]
