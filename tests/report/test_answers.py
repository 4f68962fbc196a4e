import pytest

from heedful.report.answers import answer_of, cell_of, holds, table_rows
from heedful.report.audit_files import Line, ShowInstead, Verdict


def line(score=0.5, score_low=0.4, score_high=0.6, **changes):
    scored = {"score": score, "score_low": score_low, "score_high": score_high}
    return Line.model_validate({"name": "adversary", "question": "How?", **scored, **changes})


def verdict(*scores, instead=None):
    lines = [line(score, name=str(at), score_low=score, score_high=score) for at, score in enumerate(scores)]
    return Verdict(run="r", data="d", texts=3, labels=("a", "b"), lines=tuple(lines), show_instead=instead)


@pytest.mark.parametrize(
    ("score", "low", "high", "word"),
    [
        (None, None, None, "nothing to measure"),
        (-0.3, -0.4, -0.1, "worse than the floor"),
        (-0.1, -0.3, 0.1, "not told apart from the floor"),
        (0.2, -0.1, 0.4, "not told apart from the floor"),
        (0.2, 0.0, 0.4, "not told apart from the floor"),
        (0.49, 0.4, 0.6, "closer to the floor"),
        (0.5, 0.4, 0.6, "closer to the best"),
        (1.0, 0.9, 1.1, "at the yardstick"),
        (1.3, 1.1, 1.5, "beyond the yardstick"),
    ],
)
def test_every_score_has_a_word(score, low, high, word):
    assert cell_of(line(score, low, high, best_kind="yardstick", floor=0.0, best=0.7)).word == word


def test_a_yardstick_close_to_its_floor_does_not_count():
    weak, fair = (line(2.5, 2.0, 3.0, best_kind="yardstick", floor=0.0, best=best) for best in (0.199, 0.2))
    assert cell_of(weak).word == "a weak yardstick: not counted" and not cell_of(weak).holds
    assert cell_of(fair).word == "beyond the yardstick" and cell_of(fair).holds
    both = Verdict(run="r", data="d", texts=3, labels=("a", "b"), lines=(weak, line(0.1, 0.05, 0.2)))
    assert answer_of(both, "r").lead == "Not on its own."


@pytest.mark.parametrize(
    ("score", "low", "held"), [(0.5, 0.01, True), (0.499, 0.4, False), (0.6, 0.0, False), (None, None, False)]
)
def test_attention_holds_up_from_half_way_if_surely_above_the_floor(score, low, held):
    assert holds(line(score, low, 1.0)) is held


def test_a_bar_lies_between_its_floor_and_its_best():
    bar = cell_of(line(0.5, 0.4, 0.6)).bar
    assert (bar.start, bar.width) == (14.29, pytest.approx(100 * 0.5 / 1.4, abs=0.02))
    assert (bar.low, bar.spread) == (pytest.approx(100 * 0.6 / 1.4, abs=0.02), pytest.approx(100 * 0.2 / 1.4, abs=0.02))
    assert bar.beyond == ""


@pytest.mark.parametrize(("score", "beyond"), [(-5, "left"), (7, "right"), (1.2, ""), (-0.2, "")])
def test_a_bar_beyond_its_ends_says_so_and_stays_inside(score, beyond):
    bar = cell_of(line(score, score - 1, score + 1)).bar
    assert bar.beyond == beyond
    assert bar.start >= 0
    assert bar.start + bar.width <= 100
    assert bar.low >= 0
    assert bar.low + bar.spread <= 100


def test_undefined_numbers_are_dashes_and_have_no_bar():
    cell = cell_of(line(None, None, None, texts=0, undefined=7))
    assert (cell.value, cell.floor, cell.best, cell.interval, cell.bar) == ("–", "–", "–", "", None)
    assert cell.counts == "0 texts; undefined for 7"


def test_shares_are_percentages():
    cell = cell_of(line(name="erase_one", value=0.125, low=0.1, high=0.15, floor=0.0, best=1.0))
    assert (cell.value, cell.interval, cell.best) == ("12.5 %", "10.0 to 15.0", "100.0 %")
    assert cell_of(line(value=0.125)).value == "0.12"


def test_nothing_is_minus_zero():
    assert cell_of(line(value=-0.0001)).value == "0.00"


def test_only_numbers_stand_beside():
    assert cell_of(line(beside={"share": 0.25, "odd": {"a": 1}, "none": None})).beside == (("share", "0.25"),)


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
def test_the_answer_counts_the_questions(scores, lead):
    assert answer_of(verdict(*scores), "r").lead == lead


def test_the_answer_says_how_many_and_what_to_show():
    instead = ShowInstead(ranking="product", sentence="Show the product.")
    answer = answer_of(verdict(0.9, 0.1, None, instead=instead), "r")
    assert answer.text == "Attention holds up on 1 of the 2 questions that could be measured. Show the product."


def test_an_answer_that_the_verdict_gives_is_taken():
    given = verdict(0.9).model_copy(update={"answer": "It does."})
    assert answer_of(given, "r").text == "It does."


def test_the_table_has_a_place_for_questions_that_one_audit_did_not_ask(audits):
    fewer = audits[1].verdict.model_copy(update={"lines": audits[1].verdict.lines[1:]})
    rows = table_rows([audits[0], type(audits[1])(audits[1].rows, audits[1].examples, fewer, "b")])
    assert len(rows) == 9
    assert rows[0].cells[0] is not None
    assert rows[0].cells[1] is None


def test_stability_is_shown_but_does_not_count():
    steady = line(1.0, 1.0, 1.0, name="embedding_noise", best_kind="ceiling", floor=0.3, best=0.0)
    cell = cell_of(steady)
    assert cell.holds and cell.word == "at the ceiling"
    alone = Verdict(run="r", data="d", texts=3, labels=("a", "b"), lines=(steady,))
    assert answer_of(alone, "x").lead == "There is nothing to measure."
    with_other = alone.model_copy(update={"lines": (steady, line(0.1, 0.05, 0.2))})
    assert answer_of(with_other, "x").lead == "Not on its own."
