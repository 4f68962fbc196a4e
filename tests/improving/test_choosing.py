from hypothesis import given
from hypothesis import strategies as st

from heedful.improving.choosing import choose, frontier, refusal
from heedful.improving.method_scores import MethodScores


def method(name, accuracy=0.8, points=0.5, lost=0.0):
    return MethodScores(name=name, accuracy=accuracy, lost=lost, points=points)


OWN = method("own")


def test_the_method_that_points_most_often_wins_among_those_that_keep_the_accuracy():
    kept, dear = method("kept", points=0.7), method("dear", points=0.9, lost=0.006)
    assert choose(OWN, [kept, dear]).name == "kept"
    assert choose(OWN, [kept, dear], most_lost=0.01).name == "dear"
    assert refusal(kept) == "" and refusal(dear, most_lost=0.01) == ""
    assert refusal(dear) == "loses 0.6 percentage points of accuracy"


def test_if_nothing_is_better_the_own_method_stays():
    assert choose(OWN, []).name == "own"
    assert choose(OWN, [method("worse", points=0.4), method("equal")]).name == "own"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_the_frontier_is_what_no_other_method_beats(places):
    methods = [method(str(n), accuracy=x / 5, points=y / 5) for n, (x, y) in enumerate(places)]
    kept = {each.name for each in frontier(methods)}
    for number, (x, y) in enumerate(places):
        is_beaten = any(a >= x and b >= y and (a, b) != (x, y) for a, b in places)
        assert (str(number) in kept) is not is_beaten
