"""What lines say for or against attention, and what they come to."""

import pytest

from heedful.schema import updated
from heedful.verdict.counting import Status, counted, gate_reason, outcomes, status
from support.lines import countable_line as line
from support.lines import countable_verdict as verdict

HOLDS, FAILS, UNDECIDED, NOT_COUNTED = counted(verdict(line(), line(0.2, 0.4), line(0.4, 0.6), line(texts=19))).lines


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.5, 0.5, "holds"),
        (0.5, 1.3, "holds"),
        (0.499, 0.7, "undecided"),
        (-0.2, 0.5, "undecided"),
        (0.3, 0.499, "fails"),
        (-1.0, -0.5, "fails"),
    ],
)
def test_the_whole_interval_must_lie_on_one_side_of_one_half(low, high, outcome):
    assert status(line(low, high)) == Status(outcome)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"score": None}, "nothing to measure"),
        ({"score_low": None}, "nothing to measure"),
        ({"score_high": None}, "nothing to measure"),
        ({"texts": 19}, "fewer than 20 texts"),
    ],
)
def test_a_line_that_is_not_counted_says_why(changes, reason):
    assert status(line(**changes)) == Status("not counted", reason)


@pytest.mark.parametrize(("words", "outcome"), [(None, "holds"), (20, "holds"), (19, "not counted")])
def test_the_line_about_label_indicative_words_needs_twenty_of_them(words, outcome):
    lines = (updated(line(), name="token_scores"), line())
    about_words, other = counted(updated(verdict(*lines), indicative_words=words)).lines
    assert (about_words.outcome, other.outcome) == (outcome, "holds")
    assert about_words.reason == ("" if outcome == "holds" else "fewer than 20 label-indicative words")


def test_a_line_of_twenty_texts_is_counted():
    assert status(line(texts=20)) == Status("holds")


def test_outcomes_are_those_of_one_group():
    stable = HOLDS.model_copy(update={"group": "stability"})
    by_outcome = outcomes([HOLDS, FAILS, UNDECIDED, NOT_COUNTED, stable, HOLDS], "relevance")
    assert by_outcome == {
        "holds": [HOLDS, HOLDS],
        "fails": [FAILS],
        "undecided": [UNDECIDED],
        "not counted": [NOT_COUNTED],
    }
    assert outcomes([HOLDS, stable], "stability")["holds"] == [stable]


def test_a_verdict_counts_its_lines():
    made = counted(verdict(line(), line(0.2, 0.4), line(texts=3)))
    assert [own.outcome for own in made.lines] == ["holds", "fails", "not counted"]
    assert [own.reason for own in made.lines] == ["", "", "fewer than 20 texts"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"texts": 19}, "too few texts"),
        ({"learnt": False}, "the model has learnt nothing that could be explained"),
        ({"texts": 19, "learnt": False}, "too few texts"),
    ],
)
def test_behind_a_shut_gate_no_line_is_counted(changes, reason):
    made = counted(verdict(line(), line(0.2, 0.4)).model_copy(update=changes))
    assert {(own.outcome, own.reason) for own in made.lines} == {("not counted", reason)}


def test_the_gate_is_open_where_nothing_is_known_against_it():
    assert gate_reason(verdict()) is None and gate_reason(verdict(learnt=True)) is None
