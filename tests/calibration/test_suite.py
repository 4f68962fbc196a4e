"""Rows of the calibration: a few draws of four, and that wrong answers are noticed; `heedful calibrate` does all."""

from collections import Counter
from dataclasses import replace
from math import nan

import pytest

from heedful.calibration import suite
from heedful.calibration.calibration_page import Calibration, headline, markdown, table_rows
from heedful.calibration.suite import OVERALL, ROWS, Result, Tally, calibrate, result_of_row, results_of_draw, tallies
from heedful.calibration.worlds import ON, RANDOM, REVERSED, WORLDS, draw_texts

ONE, TWO, DEFAULT, MOVES = (
    "one word decides",
    "two words decide together",
    "class 1 is the default",
    "the state at j carries word i",
)


def number_of(world, attention):
    (number,) = (number for number, row in enumerate(ROWS) if (row.world, row.attention) == (world, attention))
    return number


CHOSEN = [
    number_of(TWO, "on both"),
    number_of(TWO, "on one of them"),
    number_of(DEFAULT, "on the words for class 0"),
    number_of(MOVES, "on j"),
]


@pytest.fixture(scope="module")
def counted():
    return calibrate(2, rows=CHOSEN)


def test_rows_are_met(counted):
    assert [tally.row for tally in counted] == [ROWS[number] for number in CHOSEN]
    assert all(tally.is_met and tally.wrong == 0 for tally in counted)
    assert [dict(tally.answers) for tally in counted] == [
        {"Yes": 2},
        {"No": 2},
        {"Yes": 2, "No small set decides (default)": 2},
        {"No": 2},
    ]
    assert counted[3].moved > 0.85


def test_every_row_names_attention_of_its_world_and_answers_of_its_classes():
    for row in ROWS:
        assert {*row.kinds} <= {*WORLDS[row.world].attentions}
        assert {*row.right} in ({OVERALL}, {0, 1})
    assert {row.world for row in ROWS} == {*WORLDS}


def test_a_draw_depends_on_its_number_alone():
    row = [number_of(ONE, "right in 60%, 3 seeds with sd 0.08")]
    assert results_of_draw(ONE, 5, row) == results_of_draw(ONE, 5, row)


@pytest.fixture(scope="module")
def one_word():
    texts = draw_texts(WORLDS[ONE], 300, 0)
    return texts, suite.judge(WORLDS[ONE], texts, suite.OutcomeSettings())


def answers(row, one_word, monkeypatch):
    monkeypatch.setattr(suite, "ROWS", (row,))
    return result_of_row(0, 0, *one_word).answers


def test_answers_follow_attention_classes_labels_and_seeds(one_word, monkeypatch):
    row = ROWS[number_of(ONE, ON)]
    assert answers(row, one_word, monkeypatch) == {OVERALL: "Yes"}
    assert answers(replace(row, kinds=(REVERSED,)), one_word, monkeypatch) == {OVERALL: "No"}
    row = ROWS[number_of(ONE, "right for class 0, random for 1")]
    assert answers(row, one_word, monkeypatch) == {0: "Yes", 1: "No"}
    assert answers(replace(row, shares=(0.0, 1.0)), one_word, monkeypatch) == {0: "No", 1: "Yes"}
    row = ROWS[number_of(ONE, f"{ON}, random labels")]
    assert answers(row, one_word, monkeypatch) == {OVERALL: "Nothing to explain"}
    assert answers(replace(row, has_random_labels=False), one_word, monkeypatch) == {OVERALL: "Yes"}
    row = ROWS[number_of(ONE, "right in 60%, 5 seeds with sd 0.08")]
    assert answers(row, one_word, monkeypatch) == {OVERALL: "For some texts"}
    assert answers(replace(row, shares=(1.0, 1.0), sd=0.0), one_word, monkeypatch) == {OVERALL: "Yes"}


def tally_of(row, *given, moved=nan):
    return tallies([Result(ROWS.index(row), draw, {OVERALL: answer}, moved) for draw, answer in enumerate(given)])[0]


def test_wrong_answers_are_noticed_and_moved_information_decides():
    yes = ROWS[number_of(ONE, ON)]
    assert tally_of(yes, *["Yes"] * 19, "For some texts").is_met
    assert not tally_of(yes, *["Yes"] * 18, *["For some texts"] * 2).is_met
    wrong = tally_of(yes, *["Yes"] * 99, "No")
    assert wrong.right == 99 and wrong.wrong == 1 and not wrong.is_met
    assert tally_of(yes, *["Yes"] * 199, "No").is_met
    assert tally_of(ROWS[number_of(ONE, RANDOM)], *["Yes"] * 4).wrong == 4
    row = ROWS[number_of(MOVES, "on j")]
    assert tally_of(row, "No", moved=0.9).right == 1
    assert tally_of(row, "No", moved=0.5).right == 0


def test_the_page_lists_rows_that_are_not_met(counted):
    missed = Tally(ROWS[0], Counter({"No": 1, "Yes": 3}), right=3, wrong=1, moved=nan)
    page = markdown(Calibration([*counted, missed], 4, "heedful calibrate --draws 4"))
    assert "4 of 5 rows are met, with 4 draws of each." in page
    assert f"- {ROWS[0].world}, {ROWS[0].attention}: 75% right, 25% wrong in direction." in page
    assert "| one word decides | on the deciding word | Yes | 95% | 75% | 25% | Yes 75%, No 25% |" in page
    assert headline(Calibration(counted, 1, "")) == "4 of 4 rows are met, with one draw of each."
    assert "; moved information above 0.85" in table_rows(counted)[-1][2]
    assert table_rows(counted)[2][2] == "Yes for 0, No small set decides (default) for 1"
