"""Numbers of tables, and the test behind a claim."""

import pytest
import torch

from heedful.studies.claims import entry, estimate, judge, only_where, paired, score_estimate
from heedful.studies.study import Cell
from heedful.verdict.comparison import over_texts
from support.runs import changed
from support.synthetic_results import described


def near(mean, texts=200, seeds=1, spread=0.1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return mean + spread * torch.randn(seeds, texts, generator=generator, dtype=torch.float64)


def verdict(**parts):
    return judge("Something is so.", "section 1", "a number", parts).verdict


def test_a_claim_is_confirmed_where_the_mean_and_no_part_is_on_the_other_side():
    assert verdict(one=near(0.2), two=near(0.3, seed=1)) == "confirmed"


def test_a_claim_is_contradicted_where_the_mean_is_surely_below():
    assert verdict(one=near(-0.2), two=near(-0.1, seed=1)) == "contradicted"


def test_a_claim_is_not_confirmed_where_the_interval_holds_the_threshold():
    assert verdict(one=near(0.001)) == "not confirmed"


def test_one_part_that_says_the_opposite_is_enough_not_to_confirm():
    assert verdict(one=near(0.5), two=near(-0.1, seed=1)) == "not confirmed"


def test_a_claim_without_values_is_not_tested():
    assert verdict() == "not tested"
    assert verdict(one=torch.full((1, 4), torch.nan)) == "not tested"


def test_each_part_counts_alike_however_many_texts_it_has():
    found = judge("So.", "1", "n", {"few": near(1.0, texts=20, spread=0), "many": near(0.0, texts=500, spread=0)})
    assert found.pooled.value == pytest.approx(0.5)


def test_the_threshold_decides():
    assert judge("So.", "1", "n", {"one": near(0.6)}, threshold=0.5).verdict == "confirmed"
    assert judge("So.", "1", "n", {"one": near(0.4)}, threshold=0.5).verdict == "contradicted"


def test_few_seeds_are_averaged_and_many_are_resampled():
    assert over_texts(near(0.0, seeds=3)).shape == (200,)
    assert over_texts(near(0.0, seeds=5)).shape == (5, 200)


def test_seeds_that_differ_widen_the_interval_once_they_are_many():
    values = torch.cat([near(float(mean), spread=0.01) for mean in range(6)])
    assert estimate(values, "x").high - estimate(values, "x").low > 1.0
    assert estimate(values[:4], "x").high - estimate(values[:4], "x").low < 0.1


def test_an_estimate_is_the_same_every_time():
    values = near(0.3)
    assert estimate(values, "a") == estimate(values, "a")
    assert estimate(values, "a") != estimate(values, "b")


def test_scores_are_averaged_over_seeds_with_their_range():
    cell = Cell("sst2", "bilstm", tuple(described(changed(seed=seed)) for seed in range(3)), {})
    found = score_estimate(cell, "accuracy")
    assert (found.value, found.low, found.high) == pytest.approx((0.81, 0.8, 0.82))
    assert found.n == 3
    assert score_estimate(cell, "roc_auc") is None


def test_pairs_are_of_the_seeds_that_both_have():
    assert paired(near(0.5, seeds=3), near(0.2, seeds=2)).shape == (2, 200)


def test_values_elsewhere_are_undefined():
    values = only_where(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[True, False, True]]))
    assert estimate(values, "x").n == 2
    assert estimate(values, "x").value == 2.0


def test_a_cell_of_a_table_may_be_empty():
    assert entry(None, "x", 0.3).ours is None
    assert entry(None, "x", 0.3).paper == 0.3
