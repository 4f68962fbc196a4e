import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.improving.choosing import choose, frontier, refusal
from heedful.improving.method_scores import Point


def point(name, accuracy=0.8, score=0.5, lost=0.0, sharpness=4.0, **scores):
    return Point(
        name=name,
        accuracy=accuracy,
        lost=lost,
        scores=scores or {"seeds": score},
        sharpness=sharpness,
        evenness=0.5,
    )


OWN = point("own")


def test_the_highest_mean_score_wins_among_those_that_keep_accuracy_and_sharpness():
    kept, dear, even = (
        point("kept", score=0.7),
        point("dear", score=0.9, lost=0.006),
        point("even", score=0.8, sharpness=1.9),
    )
    assert choose(OWN, [kept, dear, even]).name == "kept"
    assert choose(OWN, [kept, dear, even], most_lost=0.01).name == "dear"
    assert refusal(point("half", sharpness=2.0), OWN) == refusal(kept, OWN) == ""
    assert refusal(even, OWN) == "keeps only 48% of the sharpness (half is the least)"
    assert refusal(dear, OWN) == "loses 0.6 points of accuracy" and refusal(dear, OWN, most_lost=0.01) == ""


def test_where_nothing_is_better_the_own_way_stays():
    assert choose(OWN, []).name == "own"
    assert choose(OWN, [point("worse", score=0.4), point("equal")]).name == "own"


def test_a_question_counts_from_0_to_1_and_unanswered_ones_0():
    assert point("x", seeds=-3.0, sufficiency=1.0).mean == pytest.approx(0.5)
    assert point("x", seeds=3.0, sufficiency=0.0).mean == pytest.approx(0.5)
    assert point("x", seeds=0.4, sufficiency=float("nan")).mean == pytest.approx(0.2)


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8)


@given(POINTS)
def test_the_frontier_is_what_no_other_point_beats(places):
    points = [point(str(n), accuracy=x / 5, score=y / 5) for n, (x, y) in enumerate(places)]
    kept = {each.name for each in frontier(points)}
    for number, (x, y) in enumerate(places):
        is_beaten = any(a >= x and b >= y and (a, b) != (x, y) for a, b in places)
        assert (str(number) in kept) is not is_beaten
