import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from heedful.exact import expectation_over_others, first_flip, prefix_logits, single_erasure_logits
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows


def erased(gone: list[int], weight: Tensor, logits: Tensor, empty: Tensor) -> Tensor:
    """Literally: zero the weights, renormalise the rest, decode; the empty logits where nothing is left."""
    left = weight.clone()
    left[gone] = 0
    return left / left.sum() @ logits if left.sum() > 0 else empty


def some_ranking(rows: LinearBatch, seed: int) -> Tensor:
    """A random order of the places, items first."""
    keys = torch.rand(rows.items.shape, generator=torch.Generator().manual_seed(seed))
    return (keys + 2 * ~rows.items).argsort(-1)


@pytest.mark.parametrize("classes", [2, 5])
@given(data=st.data(), seed=st.integers(0, 99))
def test_each_prefix_is_what_erasing_one_by_one_gives(classes, data, seed):
    rows = data.draw(any_rows(classes))
    ranking = some_ranking(rows, seed)
    result = prefix_logits(rows.attention, rows.item_logits, rows.empty_logits, ranking)
    for row, (weight, logits, empty, places) in enumerate(rows.texts()):
        rank = [places.tolist().index(place) for place in ranking[row, : len(weight)].tolist()]
        plain = torch.stack([erased(rank[: m + 1], weight, logits, empty) for m in range(len(weight))])
        assert_close(result[row, : len(weight)], plain, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 5])
@given(data=st.data())
def test_each_single_erasure_is_what_erasing_that_item_gives(classes, data):
    rows = data.draw(any_rows(classes))
    result = single_erasure_logits(rows.attention, rows.item_logits, rows.empty_logits)
    for row, (weight, logits, empty, places) in enumerate(rows.texts()):
        plain = torch.stack([erased([item], weight, logits, empty) for item in range(len(weight))])
        assert_close(result[row, places], plain, atol=1e-12, rtol=1e-12)
        nowhere = (~rows.items[row]).nonzero().flatten()
        assert_close(result[row, nowhere], (weight @ logits).expand(len(nowhere), classes), atol=1e-12, rtol=1e-12)


def test_no_digits_are_lost_where_one_item_has_nearly_all_the_weight():
    weight = torch.tensor([[1 - 3e-11, 1e-11, 2e-11]], dtype=torch.float64)
    logits = torch.tensor([[[0.0, 7.0], [0.0, 1.0], [0.0, 4.0]]]).double()
    result = single_erasure_logits(weight, logits, torch.zeros(1, 2))
    assert_close(result[0, 0, 1], torch.tensor(3.0).double(), atol=1e-14, rtol=0)


def test_only_weights_below_the_floor_left_is_nothing_left():
    weight, logits = torch.tensor([[1.0, 1e-13]]).double(), torch.tensor([[[0.0, 7.0], [0.0, 5.0]]])
    empty = torch.tensor([[0.25, 0.5]])
    assert prefix_logits(weight, logits, empty, torch.tensor([[0, 1]])).tolist() == [[[0.25, 0.5]] * 2]
    assert single_erasure_logits(weight, logits, empty)[0, 0].tolist() == [0.25, 0.5]


@pytest.mark.parametrize("classes", [2, 3])
@given(data=st.data(), seed=st.integers(0, 99))
def test_the_first_flip_is_where_erasing_one_by_one_first_changes_the_argmax(classes, data, seed):
    rows = data.draw(any_rows(classes))
    ranking = some_ranking(rows, seed)
    result = first_flip(rows.attention, rows.item_logits, rows.empty_logits, ranking, rows.items)
    prefixes = prefix_logits(rows.attention, rows.item_logits, rows.empty_logits, ranking)
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        n, decision = len(weight), (weight @ logits).argmax()
        flips = [m + 1 for m in range(n) if prefixes[row, m].argmax() != decision]
        if not flips:
            assert all(part[row].isnan() for part in (result.count, result.fraction, result.mass))
            continue
        assert result.count[row] == flips[0]
        assert_close(result.fraction[row], torch.tensor(flips[0] / n).double(), atol=1e-7, rtol=0)
        assert_close(result.mass[row], rows.attention[row, ranking[row, : flips[0]]].sum(), atol=1e-14, rtol=0)


def test_a_long_text_flips_where_the_step_by_step_loop_in_float32_does():
    rows = random_rows(batch=11, count=200, classes=7, seed=1, peak=1.5)
    ranking = rows.attention.argsort(-1, descending=True)
    result = first_flip(rows.attention, rows.item_logits, rows.empty_logits, ranking, rows.items)
    for row, (weight, logits, empty, _) in enumerate(rows.texts()):
        left, count = weight.float(), 0
        decision = (left @ logits.float()).argmax()
        while count < 200:
            left[ranking[row, count]] = 0
            left, count = left / left.sum().clamp_min(1e-12), count + 1
            if (left @ (logits - empty).float() + empty.float()).argmax() != decision:
                break
        assert result.count[row] == count


def test_a_ranking_that_erases_nothing_before_something_is_refused():
    items = torch.tensor([[True, True, True], [False, True, True]])
    ranking = torch.tensor([[0, 1, 2], [0, 1, 2]])
    weight = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    with pytest.raises(ValueError, match="ranking must name the positions of items before the others; row 1 does not."):
        first_flip(weight, torch.zeros(2, 3, 2), torch.zeros(2, 2), ranking, items)


@given(any_rows(classes=3), st.integers(0, 99))
def test_padding_and_other_rows_change_nothing(rows, seed):
    ranking, width, columns = some_ranking(rows, seed), rows.items.shape[1], 3
    wide, beyond = padded(rows, columns), torch.arange(width, width + columns).expand(len(rows.items), columns)
    longer = torch.cat([ranking, beyond], 1)
    result = prefix_logits(*rows.full()[:3], ranking)
    assert_close(prefix_logits(*wide.full()[:3], longer)[:, :width], result, atol=1e-12, rtol=1e-12)
    singles = single_erasure_logits(*rows.full()[:3])
    assert_close(single_erasure_logits(*wide.full()[:3])[:, :width], singles, atol=1e-12, rtol=1e-12)
    flip = first_flip(*rows.full()[:3], ranking, rows.items)
    assert_close(first_flip(*wide.full()[:3], longer, wide.items).fraction, flip.fraction, equal_nan=True)
    for row in range(len(rows.items)):
        alone = one_row(rows, row)
        assert_close(prefix_logits(*alone.full()[:3], ranking[row : row + 1])[0], result[row], atol=1e-12, rtol=1e-12)


@given(any_rows())
def test_the_expectation_over_others_is_the_mean_over_each_other_item(rows):
    n = rows.items.sum(-1)
    chosen = rows.items.int().argmax(-1)
    values = torch.arange(rows.items.numel()).reshape(rows.items.shape).double() ** 2
    result = expectation_over_others(values, chosen, rows.items)
    for row in range(len(n)):
        others = [float(values[row, t]) for t in range(values.shape[1]) if rows.items[row, t] and t != chosen[row]]
        if others:
            assert float(result[row]) == pytest.approx(sum(others) / len(others))
        else:
            assert result[row].isnan()
