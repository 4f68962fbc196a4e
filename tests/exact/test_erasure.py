import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import heedful.exact.log_space as log_space
from heedful.exact import (
    erasure,
    first_flip,
    first_flips,
    log_weights,
    prefix_logits,
    single_erasure_logits,
)
from support.exact_strategies import DecimalText, LogBatch, any_rows, in_logs, log_rows, random_rows, sharp_rows

CLOSE = {"atol": 1e-11, "rtol": 1e-11, "equal_nan": True}


def some_ranking(items: Tensor, seed: int) -> Tensor:
    """A random order of the places, items first."""
    keys = torch.rand(items.shape, generator=torch.Generator().manual_seed(seed))
    return (keys + 2 * ~items).argsort(-1)


def wider(rows: LogBatch, columns: int) -> LogBatch:
    """The same rows with more positions on the right that hold only junk."""
    batch, _, classes = rows.item_logits.shape
    return LogBatch(
        torch.cat([rows.log_attention, torch.full((batch, columns), -torch.inf).double()], 1),
        torch.cat([rows.item_logits, torch.full((batch, columns, classes), torch.nan).double()], 1),
        torch.cat([rows.items, torch.zeros(batch, columns, dtype=torch.bool)], 1),
    )


@pytest.mark.parametrize("classes", [2, 5])
@given(data=st.data(), seed=st.integers(0, 99))
def test_each_prefix_is_what_erasing_one_by_one_gives(classes, data, seed):
    rows = data.draw(log_rows(classes))
    ranking = some_ranking(rows.items, seed)
    result = prefix_logits(rows.log_attention, rows.item_logits, ranking)
    for row, (log_weight, logits, places) in enumerate(rows.texts()):
        text, n = DecimalText(log_weight, logits), len(places)
        rank = [places.tolist().index(place) for place in ranking[row, :n].tolist()]
        plain = torch.stack([text.logits_without(set(rank[: m + 1])) for m in range(n)])
        assert_close(result[row, :n], plain, **CLOSE)
        assert result[row, n:].isnan().all()


@pytest.mark.parametrize("classes", [2, 5])
@given(data=st.data())
def test_each_single_erasure_is_what_erasing_that_item_gives(classes, data):
    rows = data.draw(log_rows(classes))
    result = single_erasure_logits(rows.log_attention, rows.item_logits)
    for row, (log_weight, logits, places) in enumerate(rows.texts()):
        text = DecimalText(log_weight, logits)
        plain = torch.stack([text.logits_without({item}) for item in range(len(places))])
        assert_close(result[row, places], plain, **CLOSE)
        nowhere = (~rows.items[row]).nonzero().flatten()
        assert_close(result[row, nowhere], text.logits_without(set()).expand(len(nowhere), classes), **CLOSE)


def test_no_digits_are_lost_where_one_item_has_nearly_all_the_weight():
    weight = torch.tensor([[1 - 3e-11, 1e-11, 2e-11]], dtype=torch.float64)
    logits = torch.tensor([[[0.0, 7.0], [0.0, 1.0], [0.0, 4.0]]]).double()
    result = single_erasure_logits(log_weights(weight), logits)
    assert_close(result[0, 0, 1], torch.tensor(3.0).double(), atol=1e-13, rtol=0)


def test_what_is_left_of_a_very_sharp_attention_has_its_shape():
    scores = torch.tensor([[3000.0, -2000.0, -2000.0, -2001.0]]).double()
    logits = torch.tensor([[[0.0, 7.0], [0.0, 1.0], [0.0, 4.0], [0.0, -9.0]]]).double()
    rest = torch.tensor([0.0, 0.0, -1.0]).double().softmax(-1) @ logits[0, 1:]
    assert_close(single_erasure_logits(scores, logits)[0, 0], rest, atol=1e-14, rtol=0)
    prefixes = prefix_logits(scores, logits, torch.tensor([[0, 1, 2, 3]]))[0]
    assert_close(prefixes[0], rest, atol=1e-14, rtol=0)
    assert prefixes[2].tolist() == [0, -9]
    assert prefixes[3].isnan().all()


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0]])
def test_where_no_weight_is_left_nothing_is_answered(weights):
    log_attention = log_weights(torch.tensor([weights]))
    logits, items = torch.tensor([[[0.0, 7.0], [9.0, 5.0]]])[:, : len(weights)], torch.ones(1, len(weights)).bool()
    ranking = torch.arange(len(weights)).unsqueeze(0)
    assert prefix_logits(log_attention, logits, ranking).isnan().all()
    assert single_erasure_logits(log_attention, logits)[0, 0].isnan().all()
    flip = first_flip(log_attention, logits, ranking, items)
    assert all(part.isnan().all() for part in (flip.count, flip.fraction, flip.mass))


@pytest.mark.parametrize("classes", [2, 3])
@given(data=st.data(), seed=st.integers(0, 99))
def test_the_first_flip_is_where_erasing_one_by_one_first_changes_the_decision(classes, data, seed):
    rows = data.draw(log_rows(classes))
    ranking = some_ranking(rows.items, seed)
    result = first_flip(rows.log_attention, rows.item_logits, ranking, rows.items)
    for row, (log_weight, logits, places) in enumerate(rows.texts()):
        text, n = DecimalText(log_weight, logits), len(places)
        rank = [places.tolist().index(place) for place in ranking[row, :n].tolist()]
        decisions = [text.decision_without(set(rank[:m])) for m in range(n + 1)]
        flips = [m for m in range(1, n) if decisions[m] not in (decisions[0], None)]
        if not flips:
            assert all(part[row].isnan() for part in (result.count, result.fraction, result.mass))
            continue
        assert result.count[row] == flips[0]
        assert_close(result.fraction[row], torch.tensor(flips[0] / n).double(), atol=1e-7, rtol=0)
        mass = log_weight.softmax(-1)[rank[: flips[0]]].sum()
        assert_close(result.mass[row], mass, atol=1e-14, rtol=0)


@pytest.mark.parametrize("classes", [2, 5])
def test_sums_on_one_scale_flip_where_sums_of_logarithms_do(classes, monkeypatch):
    rows = random_rows(batch=9, count=23, classes=classes, seed=3, peak=2.0)
    problem = log_weights(rows.attention), rows.item_logits
    rankings = torch.stack([some_ranking(rows.items, seed) for seed in range(40)], 1)
    plain = first_flips(*problem, rankings, rows.items)
    monkeypatch.setattr(erasure, "share_a_scale", lambda log_weight: False)
    logarithms = first_flips(*problem, rankings, rows.items)
    assert plain.count.isfinite().any()
    assert_close(plain.count, logarithms.count, atol=0, rtol=0, equal_nan=True)
    assert_close(plain.mass, logarithms.mass, **CLOSE)
    for ranking in range(0, 40, 13):
        alone = first_flip(*problem, rankings[:, ranking], rows.items)
        assert_close(alone.fraction, plain.fraction[:, ranking], **CLOSE)


def test_a_long_text_flips_where_the_step_by_step_loop_in_float32_does():
    rows = random_rows(batch=11, count=200, classes=7, seed=1, peak=1.5)
    ranking = rows.attention.argsort(-1, descending=True)
    result = first_flip(log_weights(rows.attention), rows.item_logits, ranking, rows.items)
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        left, count = weight.float(), 0
        decision = (left @ logits.float()).argmax()
        while count < 200:
            left[ranking[row, count]] = 0
            left, count = left / left.sum().clamp_min(1e-12), count + 1
            if (left @ logits.float()).argmax() != decision:
                break
        assert result.count[row] == count


@given(rows=sharp_rows(classes=3), plain=any_rows(classes=3), seed=st.integers(0, 99))
def test_a_running_scale_and_a_shared_scale_give_the_same(rows, plain, seed):
    for batch in (rows, in_logs(plain)):
        log_weight = batch.log_attention.clamp_min(-200.0).where(batch.log_attention > -torch.inf, -torch.inf)
        values = batch.item_logits.nan_to_num(0.0).abs()
        shared = log_space.log_suffix_sums(log_weight.unsqueeze(-1), values)
        running = log_space._running_scale(log_weight.unsqueeze(-1).where(values > 0, -torch.inf), values)
        assert_close(running.sums.log() + running.log_scale.nan_to_num(0.0, 0.0, -torch.inf), shared, **CLOSE)


@given(log_rows(classes=3), st.integers(0, 99), st.sampled_from([0.0, 40.0, -3000.0]))
def test_padding_other_rows_and_a_constant_change_nothing(rows, seed, constant):
    ranking, width, columns = some_ranking(rows.items, seed), rows.items.shape[1], 3
    wide, beyond = wider(rows, columns), torch.arange(width, width + columns).expand(len(rows.items), columns)
    longer, moved = torch.cat([ranking, beyond], 1), wide.log_attention + constant
    result = prefix_logits(rows.log_attention, rows.item_logits, ranking)
    assert_close(prefix_logits(moved, wide.item_logits, longer)[:, :width], result, **CLOSE)
    singles = single_erasure_logits(rows.log_attention, rows.item_logits)
    assert_close(single_erasure_logits(moved, wide.item_logits)[:, :width], singles, **CLOSE)
    flip = first_flip(rows.log_attention, rows.item_logits, ranking, rows.items)
    assert_close(first_flip(moved, wide.item_logits, longer, wide.items).fraction, flip.fraction, equal_nan=True)
    for row in range(len(rows.items)):
        own = slice(row, row + 1)
        alone = prefix_logits(rows.log_attention[own], rows.item_logits[own], ranking[own])
        assert_close(alone[0], result[row], **CLOSE)


def test_a_ranking_that_erases_nothing_before_something_is_refused():
    items = torch.tensor([[True, True, True], [False, True, True]])
    ranking = torch.tensor([[0, 1, 2], [0, 1, 2]])
    weight = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    with pytest.raises(ValueError, match="ranking must name the positions of items before the others; row 1 does not."):
        first_flip(log_weights(weight), torch.zeros(2, 3, 2), ranking, items)
