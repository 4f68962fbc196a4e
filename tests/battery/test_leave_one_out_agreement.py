import pytest
import torch
from scipy.stats import kendalltau

from heedful.attribution import leave_one_out_imposed
from heedful.battery import BATTERY, Evidence
from heedful.models.trace import trace
from heedful.types import Batch
from support.by_hand import evidence_by_hand, findings_in, findings_of
from support.evidence import evidence_of_kind
from support.models import make, make_batch


def test_leave_one_out_agreement():
    # Left out, the first token (weight .75) moves the logit from 2 to -4, the second from 2 to 4.
    values = findings_of("leave_one_out_agreement", [4, -4], [0.75, 0.25])
    assert values["tau"] == 1.0 and values["tau_gradient"] == 1.0


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
    values = findings_in("leave_one_out_agreement", evidence)
    own = scores.softmax(0)
    permuted = own[evidence.permutation[0]]
    assert values["tau"] == pytest.approx(kendalltau(own, importance_of(logits, own))[0])
    assert values["tau_permuted"] == pytest.approx(kendalltau(permuted, importance_of(logits, permuted))[0])
    assert values["tau_imposed"] == values["tau"]  # in a bag attending anew changes nothing


def test_own_weights_imposed_are_not_attending_anew_in_context():
    """Each word deleted, the rest read anew, and its own weights divided by their sum."""
    evidence = evidence_of_kind("recurrent")
    batch, whole = evidence.trace.batch, evidence.probabilities[0]
    read = torch.ones(1, 6, dtype=torch.bool)
    importance = []
    for word in range(7):
        kept = [place for place in range(7) if place != word]
        shorter = Batch(batch.index[:1], batch.tokens[:1, kept], read, read, batch.labels[:1])
        weights = evidence.attention[:1, kept]
        with torch.no_grad():
            left = evidence.model.decode(trace(evidence.model, shorter).encoded, weights / weights.sum()).softmax(-1)
        importance.append((left[0] - whole).abs().sum() / 2)
    torch.testing.assert_close(evidence.imposed_leave_one_out[0], torch.stack(importance))
    assert (evidence.leave_one_out[0] - torch.stack(importance)).abs().max() > 1e-6


def test_uniform_attention_has_no_order():
    values = findings_of("leave_one_out_agreement", [1, 3, 9], [1 / 3, 1 / 3, 1 / 3])
    assert all(torch.tensor(values[name]).isnan() for name in ("tau", "tau_imposed", "tau_permuted"))


def test_words_whose_deletion_does_nothing_are_tied():
    """All say the same: what moves is the last digit, and its order is no order."""
    values = findings_of("leave_one_out_agreement", [0.7, 0.7, 0.7, 0.7], [0.47, 0.29, 0.17, 0.07], bias=0.3)
    assert all(torch.tensor(value).isnan() for value in values.values())


def test_deletions_are_encoded_once_for_all_tests(monkeypatch):
    model = make("bilstm")
    evidence = Evidence(model, trace(model, make_batch()))
    calls = []

    def counted(*given):
        calls.append(1)
        return leave_one_out_imposed(*given)

    monkeypatch.setattr("heedful.attribution.mixed_precision.leave_one_out_imposed", counted)
    for name in ("leave_one_out_agreement", "sign", "redundancy", "comprehensiveness_sufficiency"):
        BATTERY[name].function(evidence, torch.Generator().manual_seed(0))
    assert calls == [1]
