"""The authors' optimiser, followed from where theirs started."""

import numpy as np
import pytest
import torch

from heedful.battery import Evidence
from heedful.battery.adversarial_attention import search_adversary
from heedful.exact import eps_max_js
from heedful.models.trace import trace
from support.folders import needs_golden
from support.golden_models import NAMES, load_full

pytestmark = needs_golden


@pytest.fixture(params=NAMES, scope="module")
def golden(request):
    return load_full(request.param)


def evidence_of(golden) -> Evidence:
    with torch.no_grad():
        return Evidence(golden.model, trace(golden.model, golden.batch))


@pytest.mark.parametrize("steps", [1, 2, 10, 100])
def test_the_iterates_are_theirs(golden, steps):
    evidence = evidence_of(golden)
    start = torch.tensor(golden.results["adv_init_logits_f64"])
    result = search_adversary(evidence.decode, evidence.attention, evidence.items, start, steps=steps)
    wanted = golden.results[f"adv_logits_after{steps}_f64"]
    np.testing.assert_allclose(result.scores.numpy(), wanted, atol=1e-6, rtol=0)


@pytest.mark.slow
def test_the_end_is_theirs_and_below_the_exact_answer(golden):
    evidence = evidence_of(golden)
    start = torch.tensor(golden.results["adv_init_logits_f64"])
    result = search_adversary(evidence.decode, evidence.attention, evidence.items, start, steps=500)
    np.testing.assert_allclose(result.attention.numpy(), golden.results["adv_attn_f64"], atol=1e-6, rtol=0)
    np.testing.assert_allclose(result.tvd.numpy(), golden.results["adv_dy_f64"], atol=1e-6, rtol=0)
    np.testing.assert_allclose(result.js.numpy(), golden.results["adv_jsd_f64"], atol=1e-6, rtol=0)
    best, _ = result.best(0.01)
    np.testing.assert_allclose(best.numpy(), golden.results["emax_jsd_eps0.01_f64"], atol=1e-6, rtol=0)
    assert evidence.item_logits is not None
    exact = eps_max_js(evidence.attention, evidence.item_logits, evidence.items, 0.01)
    assert (exact.js >= best - 1e-9).all()
