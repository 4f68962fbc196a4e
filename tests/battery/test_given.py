"""Scores from outside in the tests that rank items: they are treated as any other ranking, and change no other's."""

import pytest
import torch

from heedful.battery import BATTERY, Evidence
from heedful.battery.evidence import RANKINGS
from support.evidence import evidence_of_kind, seeded
from support.models import BATCH

TESTS = ("erase_until_flip", "comprehensiveness_sufficiency", "plausibility", "ranking_agreement")


def at_random(evidence):
    return torch.rand(evidence.items.shape, generator=seeded()).double()


def found(name, kind="recurrent", given=None):
    plain = evidence_of_kind(kind)
    scores = {own: importance(plain) for own, importance in (given or {}).items()}
    evidence = Evidence(plain.model, plain.trace, plain.context, given=scores)
    with torch.no_grad():
        return BATTERY[name].function(evidence, seeded()).values


def test_scores_that_are_a_known_ranking_s_get_its_numbers_and_change_no_other_s():
    for kind in ["token-wise", "recurrent", "not linear", "sentences", "five classes", "frozen"]:
        for name in TESTS:
            values = found(name, kind, {"mine": RANKINGS["leave_one_out"], "other": at_random})
            for measure, value in found(name, kind).items():
                if "minimal" not in measure or kind != "not linear":  # there the minimum is the best of the rankings
                    torch.testing.assert_close(value, values[measure], atol=1e-12, rtol=0, equal_nan=True)
            pairs = {
                measure: measure.replace("mine", "leave_one_out") for measure in values if measure.endswith("_mine")
            }
            pairs = {mine: own for mine, own in pairs.items() if own in values and not mine.startswith("tau")}
            assert pairs or name == "ranking_agreement"
            for mine, own in pairs.items():
                torch.testing.assert_close(values[mine], values[own], atol=1e-9, rtol=0, equal_nan=True)


@pytest.mark.parametrize("name", TESTS)
def test_a_text_without_scores_is_undefined_for_them_alone(name):
    def missing(evidence):
        scores = at_random(evidence)
        scores[0] = torch.nan
        return scores

    values = found(name, "five classes", {"mine": missing})
    own = {measure: value for measure, value in values.items() if measure.endswith("_mine")}
    assert own and all(value.shape == (BATCH,) and value[0].isnan() for value in own.values())
    assert any(not value[1].isnan() for value in own.values())
    assert any(not value[0].isnan() for measure, value in values.items() if measure not in own)
