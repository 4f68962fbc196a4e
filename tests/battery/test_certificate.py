import math

import pytest
import torch

from heedful.attacks import Ball, draw
from heedful.battery.certificate import certificate
from support.by_hand import findings_of
from support.evidence import evidence_of_kind as evidence_of


def test_radii_by_hand():
    # s = 4, -4; u = 2: free 2 / 8, 2 / sqrt(32), 2 / 4; keeping the sum 2 / 8, 2 / sqrt(32), 2 / 4 (half the range).
    values = findings_of("certificate", [4, -4], [0.75, 0.25])
    assert values["linf_free"] == values["linf_zero_sum"] == pytest.approx(0.25)
    assert values["l2_free"] == pytest.approx(2 / math.sqrt(32)) and values["l1_free"] == pytest.approx(0.5)
    assert values["l1_zero_sum"] == pytest.approx(0.5)


def test_a_radius_among_distributions_by_hand():
    # u = 0.9. All of the second item (0.1) goes to the third, which takes 0.5 of u, and 0.2 of the first the rest.
    values = findings_of("certificate", [1, 4, -1], [0.7, 0.1, 0.2])
    assert values["l1_simplex"] == pytest.approx(0.6) and values["linf_simplex"] == pytest.approx(0.3)
    assert values["l2_simplex"] == pytest.approx(math.hypot(0.2, 0.1, 0.3))
    assert values["l1_zero_sum"] == pytest.approx(0.36) and values["linf_zero_sum"] == pytest.approx(0.18)


@pytest.mark.parametrize("kind", ["recurrent", "five classes", "query"])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_no_change_inside_the_radius_changes_the_decision(kind, norm):
    evidence = evidence_of(kind)
    radius = certificate(evidence, torch.Generator()).values[f"{norm}_free"].nan_to_num(0.1)
    for seed in range(100):
        ball, generator = Ball(0.999 * radius, norm), torch.Generator().manual_seed(seed)
        change = draw(evidence.items, ball, generator, torch.float64)
        with torch.no_grad():
            decided = evidence.decode(evidence.attention + change).argmax(-1)
        assert torch.equal(decided[:2], evidence.predicted[:2])
