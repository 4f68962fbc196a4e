import pytest

from heedful.battery.affordable import affordable
from support.evidence import evidence_of_kind


@pytest.mark.parametrize("kind", ["token-wise", "not linear"])
def test_a_model_of_ours_affords_all(kind):
    assert affordable(evidence_of_kind(kind), 100) == 100


@pytest.mark.parametrize(("is_cheap", "count", "wanted"), [(True, 100, 100), (False, 100, 10), (False, 7, 2)])
def test_a_transformer_that_is_run_anew_for_each_affords_a_tenth(monkeypatch, is_cheap, count, wanted):
    evidence = evidence_of_kind("token-wise")
    monkeypatch.setattr(f"{affordable.__module__}.MultiHeadModel", type(evidence.model))
    monkeypatch.setattr(type(evidence.model), "is_cheap", is_cheap, raising=False)
    assert affordable(evidence, count) == wanted
