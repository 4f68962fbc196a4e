import numpy as np
import pytest

from heedful.exact.corner_search import ascended, improved, most_different
from heedful.exact.hull_programs import Gains, Programs, attention_of, convex_part, divergence, first_basis, maximise
from heedful.exact.several_classes import chords, largest_weights
from support.hulls import attentions, is_within, pulled_in, some_programs

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


def slopes(programs: Programs, weight: np.ndarray) -> np.ndarray:
    return chords(weight, np.zeros_like(weight), largest_weights(programs))[0]


def reached(programs: Programs, weight: np.ndarray) -> np.ndarray:
    return most_different(programs, weight, slopes(programs, weight), first_basis(programs)).attention


@pytest.mark.parametrize(("count", "classes"), [(2, 3), (3, 5), (5, 4), (7, 3), (11, 5)])
@pytest.mark.parametrize("eps", [0.01, 0.1])
def test_what_it_reaches_is_within_eps_and_few_random_attentions_are_further(count, classes, eps):
    programs, weight = some_programs(batch=23, count=count, classes=classes, seed=0, eps=eps)
    attention = reached(programs, weight)
    assert attention.sum(1) == pytest.approx(1)
    assert (attention >= 0).all()
    assert is_within(programs, attention).all()
    most = np.max([divergence(weight, pulled_in(programs, weight, attentions(weight, draw))) for draw in range(40)], 0)
    assert (divergence(weight, attention) >= most - 1e-3).mean() > 0.9


def test_no_neighbour_of_the_corner_it_ends_at_is_further():
    programs, weight = some_programs(batch=7, count=6, classes=3, seed=1, eps=0.05)
    programs = programs._replace(near=convex_part(programs.near, np.zeros_like(programs.near.p)))
    gains = slopes(programs, weight)
    start = maximise(programs, Gains(gains), first_basis(programs))
    end = ascended(programs, weight, start)
    before, after = (divergence(weight, attention_of(basis, 6)) for basis in (start, end))
    assert (after >= before - 1e-12).all() and (after > before + 1e-3).any()
    again = ascended(programs, weight, end)
    assert np.array_equal(again.kind, end.kind)


@pytest.mark.parametrize("corners", [1, 2, 5])
def test_a_search_that_stops_early_goes_on_from_there(corners):
    programs, weight = some_programs(batch=7, count=9, classes=4, seed=2, eps=0.05)
    programs = programs._replace(near=convex_part(programs.near, np.zeros_like(programs.near.p)))
    start = maximise(programs, Gains(slopes(programs, weight)), first_basis(programs))
    some, end = ascended(programs, weight, start, corners=corners), ascended(programs, weight, start)
    first, last = (divergence(weight, attention_of(basis, 9)) for basis in (some, end))
    assert (first <= last + 1e-12).all()
    assert attention_of(ascended(programs, weight, some), 9) == pytest.approx(attention_of(end, 9))


def test_the_search_from_a_corner_of_the_hull_comes_back_within_eps():
    programs, weight = some_programs(batch=13, count=7, classes=5, seed=3, eps=0.05)
    gains = slopes(programs, weight)
    corner = maximise(programs, Gains(gains), first_basis(programs))
    attention = improved(programs, weight, gains, corner).attention
    found = attention.any(1)
    assert found.mean() > 0.8
    assert is_within(programs, attention)[found].all()
    assert attention[found].sum(1) == pytest.approx(1)


def test_each_text_is_searched_as_if_alone():
    programs, weight = some_programs(batch=17, count=9, classes=4, seed=5, eps=0.03)
    together = reached(programs, weight)
    for text in range(17):
        row = np.array([text])
        assert reached(programs.take(row), weight[row])[0] == pytest.approx(together[text], abs=1e-12)


def test_in_a_long_text_weight_may_go_to_any_item_that_the_linear_program_prefers():
    programs, weight = some_programs(batch=2, count=211, classes=3, seed=1, eps=0.05)
    attention = reached(programs, weight)
    assert is_within(programs, attention).all()
    assert ((attention > 0).sum(1) <= 3).all()
    assert (divergence(weight, attention) > 0.6).all()
