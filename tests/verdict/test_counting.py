"""What lines say for or against attention, and what they come to."""

import pytest

from heedful.schema import Line, ShowInstead, Verdict
from heedful.verdict.counting import Status, headline, outcomes, status


def line(low: float = 0.6, high: float = 0.8, **changes) -> Line:
    """A line that counts, but for the changes."""
    scored = {"score": (low + high) / 2, "score_low": low, "score_high": high}
    counted = {"texts": 20, "group": "relevance", "floor": 0.1, "best": 0.9, "material": 0.05}
    return Line.model_validate({"name": "erase_one", "question": "How?", **scored, **counted, **changes})


HOLDS, FAILS, UNDECIDED, NOT_COUNTED = line(), line(0.2, 0.4), line(0.4, 0.6), line(texts=19)


def verdict(*lines: Line, learnt: bool | None = None, instead: ShowInstead | None = None) -> Verdict:
    return Verdict(run="r", data="d", texts=20, labels=("a", "b"), lines=lines, learnt=learnt, show_instead=instead)


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
        ({"best": 0.149}, "the best possible is within 0.05 of the floor"),
        ({"floor": 0.9, "best": 0.1}, "the best possible is within 0.05 of the floor"),
        ({"attainable": 0.7, "attainable_low": 0.49}, "not even the best attention over these encodings would hold"),
        ({"attainable": 0.7}, "not even the best attention over these encodings would hold"),
        ({"uninformed": 0.3, "uninformed_high": 0.5}, "the same weights permuted might hold as well"),
    ],
)
def test_a_line_that_is_not_counted_says_why(changes, reason):
    assert status(line(**changes)) == Status("not counted", reason)


@pytest.mark.parametrize(
    "changes",
    [
        {"texts": 20},
        {"floor": 0.0, "best": 0.05},
        {"material": None},
        {"material": None, "floor": None, "best": None},
        {"attainable": 0.7, "attainable_low": 0.5},
        {"attainable": None, "attainable_low": None},
        {"uninformed": 0.3, "uninformed_high": 0.499},
    ],
)
def test_at_the_edge_a_line_is_counted(changes):
    assert status(line(**changes)) == Status("holds")


def test_outcomes_are_those_of_one_group():
    stable = line(group="stability")
    by_outcome = outcomes([HOLDS, FAILS, UNDECIDED, NOT_COUNTED, stable, HOLDS], "relevance")
    assert by_outcome == {
        "holds": [HOLDS, HOLDS],
        "fails": [FAILS],
        "undecided": [UNDECIDED],
        "not counted": [NOT_COUNTED],
    }
    assert outcomes([HOLDS, stable], "stability")["holds"] == [stable]


@pytest.mark.parametrize(
    ("lines", "answer", "lead"),
    [
        ([HOLDS] * 3, "yes", "Yes, it may be shown, as far as these tests can tell."),
        ([HOLDS] * 3 + [UNDECIDED] * 4, "yes", "Yes, it may be shown, as far as these tests can tell."),
        ([HOLDS] * 2, "undecided", "Undecided."),
        ([UNDECIDED] * 5, "undecided", "Undecided."),
        ([NOT_COUNTED] * 5, "undecided", "Undecided."),
        ([], "undecided", "Undecided."),
        ([HOLDS, FAILS], "in part", "Only in part."),
        ([HOLDS] * 5 + [FAILS], "in part", "Only in part."),
        ([HOLDS, FAILS, FAILS], "no", "No, not as an explanation."),
        ([FAILS], "no", "No, not as an explanation."),
    ],
)
def test_the_headline_weighs_what_is_decided(lines, answer, lead):
    made = headline(verdict(*lines))
    assert (made.answer, made.lead) == (answer, lead)


@pytest.mark.parametrize("group", ["exclusivity", "stability", "plausibility"])
def test_only_relevance_counts_for_the_headline(group):
    others = [line(0.2, 0.4, group=group)] * 4
    assert headline(verdict(*[HOLDS] * 3, *others)).answer == "yes"


def test_the_headline_says_on_how_many():
    text = headline(verdict(HOLDS, HOLDS, FAILS, UNDECIDED, NOT_COUNTED)).text
    assert text == "Of 4 questions of relevance attention holds on 2 and fails on 1; 1 undecided."
    assert headline(verdict(HOLDS)).text == "Of 1 question of relevance attention holds on 1 and fails on 0."


def test_the_headline_says_what_to_show():
    instead = ShowInstead(ranking="product", sentence="Show the product.")
    assert headline(verdict(FAILS, instead=instead)).text.endswith("holds on 0 and fails on 1. Show the product.")


@pytest.mark.parametrize(("learnt", "answer"), [(False, "nothing to explain"), (True, "yes"), (None, "yes")])
def test_a_model_that_has_learnt_nothing_has_nothing_to_explain(learnt, answer):
    made = headline(verdict(*[HOLDS] * 3, learnt=learnt))
    assert made.answer == answer
    assert ("not better than always giving the most common answer" in made.text) is (learnt is False)


def test_the_headline_says_what_no_attention_could_show():
    beyond = line(attainable=0.2, attainable_low=0.1)
    assert "On another question not even the best attention" in headline(verdict(HOLDS, beyond)).text
    assert "On 2 other questions not even the best attention" in headline(verdict(HOLDS, beyond, beyond)).text
    assert "not even the best" not in headline(verdict(HOLDS, NOT_COUNTED)).text
