"""Models side by side: values, differences, and which of them are significant."""

import polars as pl
import pytest
import torch

from heedful.verdict.comparison import compare, over_texts

TEXTS = 40


def rows(mean, seed=0, spread=0.1, texts=TEXTS, measure="tau"):
    draw = torch.Generator().manual_seed(seed)
    measured = {
        ("gradient_agreement", measure): mean + spread * torch.randn(texts, generator=draw),
        ("leave_one_out_agreement", "tau"): torch.full((texts,), 0.2),
        ("leave_one_out_agreement", "tau_gradient"): torch.full((texts,), 0.6),
    }
    return pl.concat(
        [
            pl.DataFrame({"example": range(texts), "value": values.double().tolist()}).with_columns(
                test=pl.lit(test), measure=pl.lit(name), item=pl.lit(None, pl.Int32)
            )
            for (test, name), values in measured.items()
        ]
    )


def agreement(**groups):
    return next(each for each in compare(groups) if each.name == "gradient_agreement").sides


def test_the_first_model_is_what_the_others_are_held_against():
    first, second = agreement(a=[rows(0.2)], b=[rows(0.5, seed=1)])
    assert first.difference_from_first is None
    assert second.difference_from_first.value == pytest.approx(second.value.value - first.value.value)
    assert second.is_significant


def test_a_difference_that_may_be_zero_is_not_significant():
    assert not agreement(a=[rows(0.2)], b=[rows(0.2, seed=1)])[1].is_significant


def test_a_difference_on_which_seeds_do_not_agree_is_not_significant():
    first = [rows(0.2, seed=seed) for seed in range(2)]
    second = [rows(0.8, seed=5), rows(0.1, seed=6)]
    side = agreement(a=first, b=second)[1]
    assert side.difference_from_first.low > 0
    assert not side.is_significant


def test_models_on_other_texts_are_shown_without_a_difference():
    assert agreement(a=[rows(0.2)], b=[rows(0.5, texts=30)])[1].difference_from_first is None


def test_a_question_that_a_model_was_not_asked_is_empty():
    only = rows(0.2).filter(pl.col("test") != "gradient_agreement")
    assert agreement(a=[rows(0.2)], b=[only])[1] is None


def test_many_seeds_are_resampled_and_few_are_averaged():
    values = torch.arange(6.0)[:, None].expand(6, 10)
    assert over_texts(values).shape == (6, 10)
    assert over_texts(values[:4]).tolist() == [1.5] * 10
