"""How well rankings agree: by hand, against scipy, and with scores from outside."""

import pytest
import torch
from scipy.stats import kendalltau

from heedful.battery import Evidence
from heedful.battery.evidence import RANKINGS
from heedful.battery.ranking_agreement import ranking_agreement
from support.evidence import evidence_of_kind, seeded
from support.models import LENGTHS, TIME


def with_given(kind="recurrent", **given):
    plain = evidence_of_kind(kind)
    return Evidence(plain.model, plain.trace, plain.context, given=given)


def scores(seed):
    return torch.randn(3, TIME, generator=seeded(seed), dtype=torch.float64)


def test_every_pair_of_rankings_has_the_tau_of_scipy():
    evidence = evidence_of_kind("recurrent")
    values = ranking_agreement(evidence, seeded()).values
    assert len(values) == len(RANKINGS) * (len(RANKINGS) - 1) // 2
    for row, length in enumerate(LENGTHS.tolist()[:2]):
        first, second = (evidence.importance(name)[row, :length] for name in ("gradient_x_input", "leave_one_out"))
        wanted = kendalltau(first, second).statistic
        assert values["tau_gradient_x_input_leave_one_out"][row].item() == pytest.approx(wanted, abs=1e-9)


def test_a_text_without_scores_is_undefined_for_them_alone():
    missing = scores(1)
    missing[0] = torch.nan
    values = ranking_agreement(with_given(mine=missing), seeded()).values
    assert values["tau_attention_mine"][0].isnan() and not values["tau_attention_mine"][1].isnan()
    assert not values["tau_attention_weight_gradient"][0].isnan()
