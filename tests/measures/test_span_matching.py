"""What chosen spans get at random and at best, against the list of all sets."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.measures.span_matching import best_eraser_iou, expected_eraser_iou
from heedful.measures.span_overlap import eraser_iou
from support.marked import marked_scores, rows_of, subsets_of
from support.strategies import padded


def close(actual, wanted):
    torch.testing.assert_close(actual, torch.as_tensor(wanted, dtype=torch.float64), atol=1e-12, rtol=0, equal_nan=True)


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
