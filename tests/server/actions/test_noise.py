"""Noise on a word, as the audit draws it."""

import pytest
import torch

from heedful.battery.embedding_noise import embedding_noise


@pytest.mark.parametrize("seed, scale", [(0, 0.01), (3, 2.0)])
def test_noise_is_that_of_the_audit(each, act, seed, scale):
    findings = embedding_noise(each.evidence(), torch.Generator().manual_seed(seed), radii=(scale,))
    answer = act(each, "embedding_noise", seed=seed, scale=scale)
    assert answer["jsd"] == pytest.approx(float(findings.values["js"]), abs=1e-12)
    assert answer["tvd"] == pytest.approx(float(findings.values["tvd"]), abs=1e-12)
    assert answer["is_changed"] == bool(findings.values["flips"])
    assert answer["attention"] == pytest.approx(each.real(findings.items["noisy_attention"]), abs=1e-12)
    assert answer["items"] == [place for place, noisy in enumerate(each.real(findings.items["noisy"])) if noisy]
    assert not answer["is_settable"]
