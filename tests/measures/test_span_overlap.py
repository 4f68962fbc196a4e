"""IOU by its two definitions against sets and loops, and against what ERASER's own script printed."""

from statistics import mean

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.measures.average_precision import top_k_probabilities
from heedful.measures.span_overlap import (
    best_eraser_iou,
    best_hatexplain_iou,
    eraser_iou,
    expected_eraser_iou,
    f1_of_means,
    hatexplain_iou,
    run_numbers,
)
from support.marked import (
    golden_posts,
    marked_scores,
    needs_golden_posts,
    orders_of,
    rows_of,
    runs_of,
    spans_matched,
    subsets_of,
)
from support.strategies import padded

ALL_ORDERS_OF = 5
"""Items of which all orders are listed."""


def close(actual, wanted):
    torch.testing.assert_close(actual, torch.as_tensor(wanted, dtype=torch.float64), atol=1e-12, rtol=0, equal_nan=True)


def shares(matched, chosen, marked):
    return [matched / chosen if chosen else torch.nan, matched / marked if marked else torch.nan]


@given(marked_scores(), st.sampled_from([0.3, 0.5, 1.0]))
def test_erasers_spans_are_matched_as_sets_one_by_one(drawn, threshold):
    scores, marks, mask = drawn
    chosen = scores > 0
    actual = torch.stack(eraser_iou(chosen, marks, mask, threshold), 1)
    for value, (own, flags) in zip(actual, rows_of(chosen, marks, mask), strict=True):
        spans, marked = runs_of(own), runs_of(flags)
        close(value, shares(spans_matched(spans, marked, threshold), len(spans), len(marked)))


@given(marked_scores(), st.sampled_from([0.3, 0.5, 1.0]))
def test_hatexplains_spans_are_single_items(drawn, threshold):
    scores, marks, mask = drawn
    chosen = scores > 0
    actual = torch.stack(hatexplain_iou(chosen, marks, mask, threshold), 1)
    for value, (own, flags) in zip(actual, rows_of(chosen, marks, mask), strict=True):
        spans, marked = [(i, i + 1) for i, flag in enumerate(own) if flag], runs_of(flags)
        close(value, shares(spans_matched(spans, marked, threshold), len(spans), len(marked)))


@given(marked_scores(), st.integers(1, 7))
def test_hatexplains_iou_of_the_top_k_is_the_mean_over_all_orders(drawn, k):
    scores, marks, mask = drawn
    actual = torch.stack(hatexplain_iou(top_k_probabilities(scores, mask, k), marks, mask), 1)
    for value, (values, flags) in zip(actual, rows_of(scores, marks, mask), strict=True):
        if len(values) <= ALL_ORDERS_OF:
            tops = [[(item, item + 1) for item in order[:k]] for order in orders_of(values)]
            each = [shares(spans_matched(top, runs_of(flags)), len(top), len(runs_of(flags))) for top in tops]
            close(value, torch.tensor(each, dtype=torch.float64).mean(0))


@given(marked_scores(), st.integers(1, 7))
def test_the_best_of_hatexplains_iou_is_the_best_of_all_sets(drawn, k):
    _, marks, mask = drawn
    best = torch.stack(best_hatexplain_iou(marks, mask, k), 1)
    for value, (flags,) in zip(best, rows_of(marks, mask), strict=True):
        if len(flags) <= 8:
            sets = subsets_of(len(flags), min(k, len(flags)))
            precision, recall = hatexplain_iou(sets, torch.tensor(flags).expand_as(sets))
            close(value, [precision.max(), recall.max()])


@given(marked_scores())
def test_the_marks_reach_the_best_of_hatexplains_iou_where_all_of_them_are_taken(drawn):
    _, marks, mask = drawn
    k = (marks & mask).sum(1)
    own = hatexplain_iou(top_k_probabilities(marks.double(), mask, k), marks, mask)
    for value, best in zip(own, best_hatexplain_iou(marks, mask, k), strict=True):
        close(value, best)


@given(marked_scores())
def test_padding_changes_nothing(drawn):
    scores, marks, mask = drawn
    wide = [padded(part) for part in (scores, marks, mask)]
    for narrow, other in zip(eraser_iou(scores > 0, marks, mask), eraser_iou(wide[0] > 0, *wide[1:]), strict=True):
        close(other, narrow)
    for narrow, other in zip(
        hatexplain_iou(scores > 0, marks, mask), hatexplain_iou(wide[0] > 0, *wide[1:]), strict=True
    ):
        close(other, narrow)


def test_a_long_span_is_out_of_reach_of_single_items_and_a_short_one_is_matched_twice():
    long, short = torch.tensor([[True, True, True, False]]), torch.tensor([[True, True, False, False]])
    assert [part.item() for part in hatexplain_iou(long, long)] == [0.0, 0.0]
    assert [part.item() for part in hatexplain_iou(short, short)] == [1.0, 2.0]
    assert [part.item() for part in eraser_iou(long, long)] == [1.0, 1.0]


def test_f1_is_of_the_means_and_not_the_mean_of_f1s():
    """Means of 1/2 and 1/4: F1 is 1/3; of the second text alone nothing is defined."""
    precision, recall = torch.tensor([1.0, torch.nan, 0.0]), torch.tensor([0.5, torch.nan, 0.0])
    assert f1_of_means(precision, recall) == pytest.approx(1 / 3)
    assert f1_of_means(torch.zeros(2), torch.zeros(2)) == 0.0


def test_runs_are_numbered_from_the_left():
    assert run_numbers(torch.tensor([[False, True, True, False, True]])).tolist() == [[0, 1, 1, 0, 2]]


@needs_golden_posts
def test_the_published_models_iou_is_what_erasers_script_printed():
    """Each of the top 5 tokens is a span; floor and ceiling of it were known to be .094 (drawn once) and .282."""
    posts = golden_posts()
    scores, marks, chosen, mask = posts.padded()
    precision, recall = hatexplain_iou(chosen, marks, mask)
    printed = posts.official["iou_scores"][0]["macro"]
    assert precision.mean().item() == pytest.approx(printed["p"], abs=1e-3)
    assert recall.mean().item() == pytest.approx(printed["r"], abs=1e-3)
    assert f1_of_means(precision, recall) == pytest.approx(printed["f1"], abs=1e-3)
    assert f1_of_means(
        *hatexplain_iou(top_k_probabilities(torch.zeros(mask.shape), mask, 5), marks, mask)
    ) == pytest.approx(0.094, abs=0.01)
    assert f1_of_means(*best_hatexplain_iou(marks, mask, 5)) == pytest.approx(0.282, abs=1e-3)
    each = []
    for flags, top in zip(posts.marks, posts.chosen, strict=True):
        spans = runs_of(flags)
        each.append(shares(spans_matched([(item, item + 1) for item in top], spans), len(top), len(spans)))
    p, r = (mean(part) for part in zip(*each, strict=True))
    assert f1_of_means(precision, recall) == pytest.approx(2 * p * r / (p + r), abs=1e-12)
    close(hatexplain_iou(top_k_probabilities(scores, mask, 5), marks, mask)[0], precision)


# What chosen spans get at random and at best, against the list of all sets.


def of_all_sets(flags, k, threshold):
    sets = subsets_of(len(flags), min(k, len(flags)))
    return eraser_iou(sets, torch.tensor(flags).expand_as(sets), threshold=threshold)


@given(marked_scores(), st.integers(1, 6), st.sampled_from([0.5, 0.7, 1.0]))
def test_the_floor_is_the_mean_and_the_best_the_largest_of_all_sets(drawn, k, threshold):
    _, marks, mask = drawn
    floor = torch.stack(expected_eraser_iou(marks, mask, k, threshold), 1)
    best = torch.stack(best_eraser_iou(marks, mask, k, threshold), 1)
    for row, (flags,) in enumerate(rows_of(marks, mask)):
        if len(flags) <= 8:
            precision, recall = of_all_sets(flags, k, threshold)
            close(floor[row], [precision.mean(), recall.mean()])
            close(best[row], [precision.max(), recall.max()])


@given(marked_scores())
def test_the_marks_themselves_reach_the_best(drawn):
    _, marks, mask = drawn
    marks = marks & mask
    best = best_eraser_iou(marks, mask, marks.sum(1))
    for own, reached in zip(eraser_iou(marks, marks, mask), best, strict=True):
        close(own, reached)


@pytest.mark.parametrize(("flags", "k"), [("00010111", 6), ("0111101000", 8), ("1111001000", 8), ("0001010111", 7)])
def test_the_best_precision_may_need_other_items_than_the_best_recall(flags, k):
    """More spans are matched by items that also make a span that is not."""
    marked = [flag == "1" for flag in flags]
    precision, recall = of_all_sets(marked, k, 0.5)
    both = (precision == precision.max()) & (recall == recall.max())
    assert not both.any()
    best = torch.stack(best_eraser_iou(torch.tensor([marked]), None, k), 1)[0]
    close(best, [precision.max(), recall.max()])


def test_each_text_may_have_its_own_size_and_padding_counts_for_nothing():
    marks = torch.tensor([[True, True, False, False, True], [False, True, False, False, False]])
    mask = torch.tensor([[True, True, True, False, True], [True, True, True, True, True]])
    sizes = torch.tensor([2, 3])
    for measure in (expected_eraser_iou, best_eraser_iou):
        together = torch.stack(measure(marks, mask, sizes))
        close(torch.stack(measure(padded(marks), padded(mask), sizes)), together)
        alone = [measure(marks[[row]][:, mask[row]], None, int(sizes[row])) for row in range(2)]
        close(torch.cat([torch.stack(part) for part in alone], 1), together)


@pytest.mark.parametrize("measure", [expected_eraser_iou, best_eraser_iou])
def test_nothing_chosen_has_no_precision_and_nothing_marked_no_recall(measure):
    precision, recall = measure(torch.tensor([[True, False], [False, False]]), None, torch.tensor([0, 1]))
    assert precision.isnan().tolist() == [True, False] and recall.isnan().tolist() == [False, True]
    assert precision[1] == 0 and recall[0] == 0


def test_a_long_text_is_no_trouble():
    """Three spans of two among 120 items of which 30 are drawn; the mean over 2,000 draws is within its error."""
    marks = torch.zeros(1, 120, dtype=torch.bool)
    marks[0, [3, 4, 50, 51, 90, 91]] = True
    floor = expected_eraser_iou(marks, None, 30)
    order = torch.rand(2000, 120, generator=torch.Generator().manual_seed(0)).argsort(1)
    drawn = torch.zeros(2000, 120, dtype=torch.bool).scatter(1, order[:, :30], True)
    for exact, sample in zip(floor, eraser_iou(drawn, marks.expand_as(drawn)), strict=True):
        assert abs(sample.mean() - exact).item() < 4 * sample.std().item() / 2000**0.5
    assert [part.item() for part in best_eraser_iou(marks, None, 6)] == [1.0, 1.0]
