from itertools import combinations
from math import isnan

import pytest
import torch

from heedful.battery import Evidence
from heedful.battery.erase_until_flip import RandomOrders, erase_until_flip
from support.by_hand import evidence_by_hand, findings_in, findings_of
from support.evidence import evidence_of
from support.evidence import seeded as draw
from support.four_verbs import FourVerbs
from support.models import make, make_batch


def by_running(evidence: Evidence) -> Evidence:
    """The same text through the four verbs alone: the head is not known to be linear."""
    return Evidence(FourVerbs(evidence.model), evidence.trace)


def test_erasing_until_the_decision_flips():
    # 3 x .4 + 3 x .3 - 4 x .3 = .9; both positive items must go unless -4 alone is left with too much of one.
    values = findings_of("erase_until_flip", [3, 3, -4], [0.4, 0.3, 0.3])
    assert values["count_minimal"] == 1  # without the first: (.9 - 1.2) / .6 < 0
    assert values["count_attention"] == 1
    assert values["fraction_attention"] == pytest.approx(1 / 3)
    assert values["mass_attention"] == pytest.approx(0.4)
    assert 1 <= values["count_random"] <= 3


def test_a_decision_that_only_the_empty_text_flips_is_undefined():
    """Every word says class 1 and the bias alone says class 0: erasing everything would test the bias."""
    evidence = evidence_by_hand([3, 3, 4], [0.4, 0.3, 0.3], bias=-1.0)
    for seen in (evidence, by_running(evidence)):
        assert all(torch.tensor(value).isnan() for value in findings_in("erase_until_flip", seen).values())


def test_until_the_text_is_empty_the_last_word_goes_too():
    """Serrano and Smith, section 5.3: two words say class 1, the bias class 0; then a bias that says 1, too."""
    evidence, stands = (evidence_by_hand([3, 4], [0.4, 0.6], bias=bias) for bias in (-1.0, 1.0))
    for seen in (evidence, by_running(evidence)):
        values = findings_in("erase_until_flip", seen, until_empty=True)
        for name in ("attention", "weight_gradient", "random", "one_random", "minimal"):
            assert values[f"count_{name}"] == 2 and values[f"fraction_{name}"] == 1.0 == values[f"mass_{name}"]
        assert values["only_empty"] == 1 and values["never"] == 0
    assert erase_until_flip(evidence, draw(), until_empty=True).items["minimal_set"].tolist() == [[1, 1]]
    for seen in (stands, by_running(stands)):
        values = findings_in("erase_until_flip", seen, until_empty=True)
        assert isnan(values["count_attention"]) and isnan(values["count_minimal"])
        assert values["only_empty"] == 0 and values["never"] == 1


def first_change(evidence: Evidence, erasures) -> int | None:
    """How many words go in the first of these that changes the decision; without any word the bias decides."""
    for gone in erasures:
        weights = evidence.attention.clone()
        weights[0, list(gone)] = 0
        if evidence.decode(weights / weights.sum().clamp_min(1e-12)).argmax() != evidence.predicted:
            return len(gone)
    return None


def test_until_the_text_is_empty_the_smallest_set_is_that_of_all_subsets():
    sizes = []
    for seed in range(40):
        *words, bias = torch.randn(5, generator=draw(seed)).tolist()
        evidence = evidence_by_hand([word + seed % 3 for word in words], scores=words[::-1], bias=bias)
        values = findings_in("erase_until_flip", evidence, until_empty=True)
        smallest = first_change(evidence, (gone for n in range(1, 5) for gone in combinations(range(4), n)))
        order = evidence.ranking("attention")[0].tolist()
        by_attention = first_change(evidence, (order[:n] for n in range(1, 5)))
        assert values["only_empty"] == (smallest == 4) and values["never"] == (smallest is None)
        if smallest is None:
            assert isnan(values["count_minimal"]) and isnan(values["count_attention"])
        else:
            assert values["count_minimal"] == smallest and values["count_attention"] == (by_attention or 4)
        sizes.append(smallest)
    assert {1, 2, 4, None} <= set(sizes)


def test_where_one_word_has_all_the_weight_nothing_is_defined():
    evidence = evidence_by_hand([4, -4, 1], [1.0, 0.0, 0.0], bias=-1.0)
    for seen in (evidence, by_running(evidence)):
        assert all(torch.tensor(value).isnan() for value in findings_in("erase_until_flip", seen).values())


def test_a_ranking_that_misses_counts_as_everything_erased():
    # Erasing the second flips (logit -1 of what is left), but attention erases the first and keeps class 1 to the end.
    values = findings_of("erase_until_flip", [-1, 3], [0.6, 0.4], bias=0.2)
    assert values["count_minimal"] == 1
    assert values["count_attention"] == 2 and values["fraction_attention"] == 1.0 and values["mass_attention"] == 1.0


def test_words_that_share_a_place_are_erased_in_random_order():
    # 4 x .4 - 1 x .4 - 1 x .2 = 1. The first flips at once; after the second it takes the first, too: 1.5 in the mean.
    values = findings_of("erase_until_flip", [4, -1, -1], [0.4, 0.4, 0.2], rankings=1000)
    assert values["count_attention"] == pytest.approx(1.5, abs=0.08)  # five standard errors of 1000 coins
    assert values["count_attention_x_gradient"] == 1


def test_a_very_sharp_attention_leaves_a_rest_with_its_shape():
    # The second is nothing beside the first, and the third nothing beside the second: 1, then 1, then -4.
    evidence = evidence_by_hand([1, 1, -4], scores=[5000.0, 2500.0, 0.0])
    for seen in (evidence, by_running(evidence)):
        values = findings_in("erase_until_flip", seen)
        assert values["count_attention"] == 2 == values["count_minimal"]
        assert values["mass_attention"] == pytest.approx(1.0)


def test_the_smallest_set_is_marked():
    evidence = evidence_by_hand([3, 3, -4], [0.4, 0.3, 0.3])
    assert erase_until_flip(evidence, torch.Generator()).items["minimal_set"].tolist() == [[1, 0, 0]]
    assert not erase_until_flip(by_running(evidence), torch.Generator()).items


def test_without_floors_the_other_rankings_are_what_they_were():
    evidence = evidence_of(make(), make_batch())
    whole, some = (erase_until_flip(evidence, draw(), **options).values for options in ({}, {"floors": False}))
    assert {name for name in whole if name not in some} == {
        f"{part}_{name}" for part in ("count", "fraction", "mass") for name in ("random",)
    }
    for name, value in some.items():
        torch.testing.assert_close(value, whole[name], rtol=0, atol=0, equal_nan=True)


def test_only_texts_with_ties_need_random_orders(monkeypatch):
    sorted_texts = []
    of = RandomOrders.of
    monkeypatch.setattr(RandomOrders, "of", lambda orders, texts: sorted_texts.append(texts) or of(orders, texts))
    evidence = evidence_by_hand([3, 3, -4], [0.4, 0.35, 0.25])
    erase_until_flip(evidence, draw(), by=("attention",), floors=False)
    assert not sorted_texts
    tied = evidence_by_hand([3, 3, -4], [0.4, 0.3, 0.3])
    erase_until_flip(tied, draw(), by=("attention",), floors=False)
    assert [texts.tolist() for texts in sorted_texts] == [[0]]
