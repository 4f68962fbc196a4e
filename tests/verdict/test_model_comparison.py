"""Models side by side: values, differences, and which of them are significant."""

import polars as pl
import pytest
import torch

from heedful.schema import Verdict
from heedful.verdict.model_comparison import are_same_texts, compare

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


def sides(on_other_texts=(), **groups):
    comparisons = compare(groups, on_other_texts=on_other_texts)
    return next(each for each in comparisons if each.name == "permutation").sides


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


def test_models_that_are_said_to_be_on_other_texts_have_no_difference():
    first, second, third = sides(("b",), a=[rows(0.2)], b=[rows(0.5)], c=[rows(0.5)])
    assert second.difference_from_first is None and second.change == ""
    assert third.difference_from_first is not None and first.value.value == pytest.approx(0.2, abs=0.05)


def test_a_larger_value_is_better_and_what_may_be_chance_is_neither():
    changes = [sides(a=[rows(0.2)], b=[rows(mean, seed=1)])[1].change for mean in (0.5, 0.2, 0.05)]
    assert changes == ["better", "", "worse"]
    assert sides(a=[rows(0.2)], b=[rows(0.2)])[0].change == ""


def verdict(fingerprint="", limit=None, recorded="", split="test"):
    run = {"data": {"fingerprint": fingerprint, "test_limit": limit}} if fingerprint else None
    settings = {"run": run}
    return Verdict(
        run="r", data="d", fingerprint=recorded, split=split, texts=3, labels=("a", "b"), settings=settings, lines=()
    )


def labelled(*labels, first=0):
    numbers = range(first, first + len(labels))
    frame = pl.DataFrame({"example": numbers, "value": [float(label) for label in labels]})
    constants = {"test": "prediction", "measure": "label", "item": None}
    return frame.with_columns(**{name: pl.lit(value) for name, value in constants.items()})


SAME = (verdict("f"), labelled(0, 1, 1))


@pytest.mark.parametrize(
    ("other", "rows", "is_same"),
    [
        (verdict("f"), labelled(0, 1, 1), True),
        (verdict("g"), labelled(0, 1, 1), False),
        (verdict("g", recorded="f"), labelled(0, 1, 1), True),
        (verdict("f", recorded="g"), labelled(0, 1, 1), False),
        (verdict("f", limit=3), labelled(0, 1, 1), False),
        (verdict("f", split="dev"), labelled(0, 1, 1), False),
        (verdict("f"), labelled(0, 1), False),
        (verdict("f"), labelled(0, 1, 1, first=1), False),
        (verdict("f"), labelled(1, 0, 1), False),
        (verdict(), labelled(0, 1, 1), True),
        (verdict(), labelled(1, 1, 1), False),
    ],
    ids=[
        "the same",
        "other data",
        "another run on the same data",
        "the same run on other data",
        "another sample",
        "another split",
        "fewer",
        "other numbers",
        "other labels",
        "nobody knows the data",
        "nobody knows the data, other labels",
    ],
)
def test_texts_are_the_same_where_data_split_numbers_and_labels_are(other, rows, is_same):
    assert are_same_texts(*SAME, other, rows) is is_same
    assert are_same_texts(other, rows, *SAME) is is_same


def test_several_seeds_read_each_text_once():
    both = pl.concat([labelled(0, 1, 1), labelled(0, 1, 1)])
    assert are_same_texts(verdict("f"), both, *SAME)
