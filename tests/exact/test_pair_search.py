import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heedful.exact.several_classes as pair_search
from heedful.exact.hull_programs import Programs, divergence
from heedful.exact.several_classes import best_pair, largest_weights
from support.hulls import is_within, some_programs

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


def best(programs: Programs, weight: np.ndarray, known: np.ndarray) -> np.ndarray:
    return best_pair(programs, weight, largest_weights(programs), known)


def listed(programs, weight: np.ndarray, text: int, steps: int = 201) -> float:
    """The largest divergence of any pair of a text on a grid of shares that is within eps; 0 where there is none."""
    count, row = weight.shape[1], np.array([text])
    unit, share = np.eye(count), np.linspace(0, 1, steps)[:, None, None, None]
    points = (share * unit[:, None] + (1 - share) * unit).reshape(-1, count)
    rows = np.repeat(row, len(points))
    within = is_within(programs.take(rows), points)
    return float(divergence(weight[rows], points)[within].max(initial=0.0))


def misses(classes: int, seed: int, eps: float) -> int:
    """Of four texts, those in which a pair on a grid is further than the one found."""
    programs, weight = some_programs(batch=4, count=5, classes=classes, seed=seed, eps=eps)
    with np.errstate(all="ignore"):
        pair = best(programs, weight, weight)
    assert is_within(programs, pair).all()
    assert pair.sum(1) == pytest.approx(1)
    most, found = np.array([listed(programs, weight, text) for text in range(4)]), divergence(weight, pair)
    is_kept = (pair == weight).all(1)
    assert (is_kept | ((pair != 0).sum(1) <= 2)).all() and is_kept[most == 0].all()
    return int((found < most - 1e-9).sum())


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3]), seed=st.integers(0, 999), eps=st.sampled_from([0.05, 0.2]))
def test_it_is_within_eps_and_as_far_as_any_pair_on_a_grid(classes, seed, eps):
    assert misses(classes, seed, eps) == 0


def test_of_more_classes_it_misses_few_pairs_that_are_within_eps_for_a_few_shares_alone():
    # A window of shares narrower than the steps of the search may lie between two of them: here 1 text in 100.
    assert sum(misses(5, seed, 0.2) for seed in range(100)) <= 8


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from([0.01, 0.05, 0.2]))
def test_pairs_that_cannot_have_all_the_weight_are_left_out_at_no_loss(classes, seed, eps):
    programs, weight = some_programs(batch=4, count=11, classes=classes, seed=seed, eps=eps)
    with np.errstate(all="ignore"):
        every = best_pair(programs, weight, np.ones_like(weight), weight)
        assert np.array_equal(best(programs, weight, weight), every)


def test_what_is_known_and_further_is_kept():
    programs, weight = some_programs(batch=3, count=5, classes=3, seed=1, eps=0.2)
    pair = best(programs, weight, weight)
    further = np.eye(5)[weight.argmin(1)]
    assert (divergence(weight, further) >= divergence(weight, pair) - 1e-12).all()
    assert np.array_equal(best(programs, weight, further), further)


def test_only_the_lightest_items_are_paired(monkeypatch):
    programs, weight = some_programs(batch=3, count=7, classes=5, seed=3, eps=0.9)
    monkeypatch.setattr(pair_search, "LIGHTEST", 2)
    pair = best(programs, weight, weight)
    for text in range(3):
        lightest = set(weight[text].argsort()[:2].tolist())
        assert set(pair[text].nonzero()[0].tolist()) <= lightest
