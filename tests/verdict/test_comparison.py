"""Models side by side: values, differences, and which of them are significant."""

import polars as pl
import pytest
import torch

from heedful.verdict.comparison import compare

TEXTS = 40


def rows(mean, seed=0, spread=0.1, texts=TEXTS):
    draw = torch.Generator().manual_seed(seed)
    measured = {
        ("permutation", "median_tvd"): mean + spread * torch.randn(texts, generator=draw),
        ("permutation", "worst_tvd"): torch.ones(texts),
        ("without_question", "value"): torch.zeros(texts),
    }
    return pl.concat(
        [
            pl.DataFrame({"example": range(texts), "value": values.double().tolist()}).with_columns(
                test=pl.lit(test), measure=pl.lit(name), item=pl.lit(None, pl.Int32)
            )
            for (test, name), values in measured.items()
        ]
    )


def sides(**groups):
    return next(each for each in compare(groups) if each.name == "permutation").sides


def test_the_first_model_is_what_the_others_are_held_against():
    first, second = sides(a=[rows(0.2)], b=[rows(0.5, seed=1)])
    assert first.difference_from_first is None
    assert second.difference_from_first.value == pytest.approx(second.value.value - first.value.value)
    assert second.is_significant


def test_a_difference_that_may_be_zero_is_not_significant():
    assert not sides(a=[rows(0.2)], b=[rows(0.2, seed=1)])[1].is_significant


def test_a_difference_that_may_be_due_to_the_seeds_is_not_significant():
    first = [rows(0.2, seed=seed) for seed in range(2)]
    second = [rows(0.8, seed=5), rows(0.3, seed=6)]
    # Over the texts alone the difference of 0.35 is beyond doubt.
    assert not sides(a=first, b=second)[1].is_significant
    assert sides(a=first, b=[rows(0.55, seed=5), rows(0.55, seed=6)])[1].is_significant


def test_seeds_without_a_partner_count_in_the_value_alone():
    side = sides(a=[rows(0.2)], b=[rows(0.5, spread=0.0), rows(0.9, spread=0.0)])[1]
    assert side.value.value == pytest.approx(0.7)
    assert side.difference_from_first.value == pytest.approx(0.3, abs=0.05)


def test_models_on_other_texts_are_shown_without_a_difference():
    assert sides(a=[rows(0.2)], b=[rows(0.5, texts=30)])[1].difference_from_first is None


def test_a_question_that_a_model_was_not_asked_is_empty():
    only = rows(0.2).filter(pl.col("test") != "permutation")
    assert sides(a=[rows(0.2)], b=[only])[1] is None
