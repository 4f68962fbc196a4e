"""Numbers of tables, and the test behind a claim."""

import pytest
import torch

from heedful.settings.validation import update_settings
from heedful.studies import claims
from heedful.studies.study import Cell
from heedful.verdict.comparison import over_texts
from support.runs import RUN
from support.synthetic_results import described


def near(mean, texts=200, seeds=1, spread=0.1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return mean + spread * torch.randn(seeds, texts, generator=generator, dtype=torch.float64)


def claim_of(parts, threshold=0.0):
    return claims.test_claim("something", "Something is so.", "section 1", "a number", parts, threshold=threshold)


def verdict(**parts):
    return claim_of(parts).verdict


def test_a_claim_is_confirmed_where_the_mean_is_above_and_no_part_is_below():
    assert verdict(first=near(0.2), second=near(0.3, seed=1)) == "confirmed"


def test_a_claim_is_contradicted_where_the_mean_is_certainly_below():
    assert verdict(first=near(-0.2), second=near(-0.1, seed=1)) == "contradicted"


def test_a_claim_is_not_confirmed_where_the_interval_contains_the_threshold():
    assert verdict(first=near(0.001)) == "not confirmed"


def test_a_single_part_below_is_enough_not_to_confirm():
    assert verdict(first=near(0.5), second=near(-0.1, seed=1)) == "not confirmed"


def test_a_claim_without_values_is_not_tested():
    assert verdict() == "not tested"
    assert verdict(first=torch.full((1, 4), torch.nan)) == "not tested"


def test_a_part_without_values_is_left_out():
    claim = claim_of({"known": near(0.2), "unknown": torch.full((1, 4), torch.nan)})
    assert (claim.verdict, list(claim.parts)) == ("confirmed", ["known"])


def test_each_part_counts_the_same_however_many_texts_it_has():
    claim = claim_of({"few": near(1.0, texts=20, spread=0), "many": near(0.0, texts=500, spread=0)})
    assert claim.pooled.value == pytest.approx(0.5)


def test_the_threshold_decides():
    assert claim_of({"first": near(0.6)}, threshold=0.5).verdict == "confirmed"
    assert claim_of({"first": near(0.4)}, threshold=0.5).verdict == "contradicted"


def test_few_seeds_are_averaged_and_many_are_resampled():
    assert over_texts(near(0.0, seeds=3)).shape == (200,)
    assert over_texts(near(0.0, seeds=5)).shape == (5, 200)


def test_seeds_that_differ_widen_the_interval_once_there_are_many():
    values = torch.cat([near(float(mean), spread=0.01) for mean in range(6)])
    many, few = claims.estimate(values, "x"), claims.estimate(values[:4], "x")
    assert many.high - many.low > 1.0
    assert few.high - few.low < 0.1


def test_an_estimate_is_the_same_every_time_and_seeded_by_its_name():
    values = near(0.3)
    assert claims.estimate(values, "a") == claims.estimate(values, "a")
    assert claims.estimate(values, "a") != claims.estimate(values, "b")


def test_the_interval_of_a_claim_does_not_depend_on_its_wording():
    parts = {"first": near(0.2)}
    reworded = claims.test_claim("something", "It is so.", "section 2", "the number", parts)
    assert reworded.pooled == claim_of(parts).pooled and reworded.parts == claim_of(parts).parts


def test_scores_are_averaged_over_seeds_with_their_range():
    runs = tuple(described(update_settings(RUN, {"seed": seed})) for seed in range(3))
    cell = Cell("sst2", "bilstm", "bilstm", "", runs, {})
    score = claims.score_estimate(cell, "accuracy")
    assert (score.value, score.low, score.high) == pytest.approx((0.81, 0.8, 0.82))
    assert score.n == 3
    assert claims.score_estimate(cell, "no_such_score") is None


def test_differences_are_first_minus_second_for_the_seeds_that_both_have():
    difference = claims.paired(near(0.5, seeds=3, spread=0), near(0.2, seeds=2, spread=0))
    assert difference.shape == (2, 200)
    assert difference.mean() == pytest.approx(0.3)


def test_values_elsewhere_are_undefined():
    values = claims.only_where(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[True, False, True]]))
    assert claims.estimate(values, "x").n == 2
    assert claims.estimate(values, "x").value == 2.0


def test_an_entry_of_a_table_may_be_empty():
    assert claims.entry(None, "x", 0.3).ours is None
    assert claims.entry(None, "x", 0.3).paper == 0.3
