"""Agreement of annotators against counts by loops."""

from itertools import combinations
from statistics import mean

import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.measures.annotators import (
    against_others,
    annotator_count,
    annotator_f1,
    cohen_kappa,
    others_marks,
    union_of,
)
from heedful.measures.average_precision import average_precision
from support.strategies import masks, padded


@st.composite
def annotated(draw):
    """Marks of up to four annotators, some of whom did not see a text; junk beyond the mask; and the mask."""
    mask = draw(masks())
    shape = (len(mask), draw(st.integers(1, 4)), mask.shape[1])
    size = shape[0] * shape[1] * shape[2]
    marks = torch.tensor(draw(st.lists(st.booleans(), min_size=size, max_size=size))).double().reshape(shape)
    absent = torch.tensor(draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])))
    return marks.masked_fill(absent.reshape(*shape[:2], 1), torch.nan), mask


def texts_of(marks, mask):
    """The marks of those who saw each text."""
    for own, real in zip(marks, mask, strict=True):
        yield [row[real].tolist() for row in own if not row[real].isnan().any()]


def close(actual, wanted):
    torch.testing.assert_close(actual, torch.tensor(wanted, dtype=torch.float64), atol=1e-12, rtol=0, equal_nan=True)


def mean_or_nan(values):
    defined = [value for value in values if value == value]
    return mean(defined) if defined else torch.nan


def plain_f1(first, second):
    either = sum(first) + sum(second)
    return 2 * sum(a and b for a, b in zip(first, second, strict=True)) / either if either else torch.nan


def plain_kappa(first, second):
    """From the counts of (0, 0), (0, 1), (1, 0) and (1, 1)."""
    n, pairs = len(first), list(zip(first, second, strict=True))
    observed = sum(a == b for a, b in pairs) / n
    expected = sum(first.count(value) * second.count(value) for value in (0.0, 1.0)) / n**2
    return (observed - expected) / (1 - expected) if expected < 1 else torch.nan


@given(annotated())
def test_f1_and_kappa_are_means_over_pairs(drawn):
    f1, kappa = annotator_f1(*drawn), cohen_kappa(*drawn)
    close(annotator_count(*drawn), [float(len(rows)) for rows in texts_of(*drawn)])
    for row, rows in enumerate(texts_of(*drawn)):
        pairs = list(combinations(rows, 2))
        close(f1[row], mean_or_nan([plain_f1(a, b) for a, b in pairs]))
        close(kappa[row], mean_or_nan([plain_kappa(a, b) for a, b in pairs]))


@given(annotated())
def test_an_annotator_is_held_against_the_union_of_the_others(drawn):
    marks, mask = drawn
    actual = against_others(None, marks, mask)
    scores = torch.arange(mask.shape[1]).double().expand(mask.shape)
    of_scores = against_others(scores, marks, mask)
    for row, rows in enumerate(texts_of(marks, mask)):
        own, ranked = [], []
        for number, flags in enumerate(rows):
            others = [other for place, other in enumerate(rows) if place != number]
            if others:
                truth = torch.tensor([[any(column) for column in zip(*others, strict=True)]])
                own.append(average_precision(torch.tensor([flags]), truth).item())
                ranked.append(average_precision(scores[[row]][:, mask[row]], truth).item())
        close(actual[row], mean_or_nan(own))
        close(of_scores[row], mean_or_nan(ranked))


@given(annotated())
def test_padding_changes_nothing(drawn):
    marks, mask = drawn
    wide = padded(marks), padded(mask)
    for measure in (annotator_count, annotator_f1, cohen_kappa):
        torch.testing.assert_close(measure(*wide), measure(*drawn), atol=1e-12, rtol=0, equal_nan=True)


def test_who_agrees_in_all_agrees_wholly_and_absent_annotators_mark_nothing():
    marks = torch.tensor([[[1.0, 0, 0], [1, 0, 0], [torch.nan] * 3]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    assert annotator_f1(marks, mask).item() == cohen_kappa(marks, mask).item() == 1
    assert against_others(None, marks, mask).item() == 1
    assert union_of(marks).tolist() == [[True, False, False]]
    assert others_marks(marks)[0, 2].tolist() == [True, False, False]
    lone = marks[:, :1]
    assert annotator_f1(lone, mask).isnan().all() and against_others(None, lone, mask).isnan().all()
