"""What lines say for or against attention, and what they come to."""

import pytest

from heedful.schema import ShowInstead
from heedful.verdict.counting import counts, headline, holds, status
from support.lines import make_line as line
from support.lines import make_verdict, verdict_of_scores

STABLE = line(1.0, 1.0, 1.0, name="embedding_noise", best_kind="ceiling", floor=0.3, best=0.0, counts=False)


@pytest.mark.parametrize(
    ("score", "low", "high", "words"),
    [
        (None, None, None, "nothing to measure"),
        (-0.3, -0.4, -0.1, "worse than the floor"),
        (-0.1, -0.3, 0.1, "not distinguishable from the floor"),
        (0.2, -0.1, 0.4, "not distinguishable from the floor"),
        (0.2, 0.0, 0.4, "not distinguishable from the floor"),
        (0.49, 0.4, 0.6, "closer to the floor"),
        (0.5, 0.4, 0.6, "closer to the best"),
        (1.0, 0.9, 1.1, "at the yardstick"),
        (1.3, 1.1, 1.5, "beyond the yardstick"),
    ],
)
def test_every_score_has_its_words(score, low, high, words):
    assert status(line(score, low, high, best_kind="yardstick", floor=0.0, best=0.7)) == words


def test_a_yardstick_close_to_its_floor_does_not_count():
    weak, fair = (line(2.5, 2.0, 3.0, best_kind="yardstick", floor=0.0, best=best) for best in (0.199, 0.2))
    assert status(weak) == "a weak yardstick: not counted" and not counts(weak)
    assert status(fair) == "beyond the yardstick" and counts(fair)
    assert headline(make_verdict(weak, line(0.1, 0.05, 0.2))).lead == "Not on its own."


def test_a_ceiling_close_to_its_floor_counts():
    assert counts(line(0.7, best_kind="ceiling", floor=0.0, best=0.1))


@pytest.mark.parametrize(
    ("score", "low", "held"),
    [(0.5, 0.01, True), (0.499, 0.4, False), (0.6, 0.0, False), (0.6, None, True), (None, None, False)],
)
def test_attention_holds_up_from_half_way_if_significantly_above_the_floor(score, low, held):
    assert holds(line(score, low, 1.0)) is held


def test_a_line_without_a_score_does_not_count():
    assert not counts(line(None, None, None)) and counts(line(0.1))


@pytest.mark.parametrize(
    ("scores", "lead"),
    [
        ((0.9, 0.8), "Yes, as far as these tests can tell."),
        ((0.9, 0.1), "Only in part."),
        ((0.9, 0.1, 0.1), "Not on its own."),
        ((0.1,), "Not on its own."),
        ((None,), "There is nothing to measure."),
        ((), "There is nothing to measure."),
    ],
)
def test_the_headline_counts_the_questions(scores, lead):
    assert headline(verdict_of_scores(*scores)).lead == lead


@pytest.mark.parametrize(
    ("scores", "tally"),
    [
        ((0.9, 0.8), "on all of the 2 questions"),
        ((0.1, 0.2), "on none of the 2 questions"),
        ((0.9,), "Attention holds up on the one question that could be measured."),
        ((0.1, None), "Attention does not hold up on the one question that could be measured."),
    ],
)
def test_the_headline_says_on_how_many(scores, tally):
    assert tally in headline(verdict_of_scores(*scores)).text


def test_the_headline_says_what_to_show():
    instead = ShowInstead(ranking="product", sentence="Show the product.")
    text = headline(verdict_of_scores(0.9, 0.1, None, instead=instead)).text
    assert text == "Attention holds up on 1 of the 2 questions that could be measured. Show the product."


def test_stability_does_not_count():
    assert holds(STABLE) and not counts(STABLE) and status(STABLE) == "at the ceiling"
    assert headline(make_verdict(STABLE)).lead == "There is nothing to measure."
    assert headline(make_verdict(STABLE, line(0.1, 0.05, 0.2))).lead == "Not on its own."
