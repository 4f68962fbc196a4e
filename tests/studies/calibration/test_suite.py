"""The battery tells good attention from bad, in a draw of each quick world; `heedful calibrate` does all."""

from collections import Counter
from dataclasses import replace
from math import isnan, nan

import pytest
from heedful.studies.calibration.criteria import FEWEST, counted_questions, shortfalls

from heedful.studies.calibration.page import CalibrationReport, as_json, markdown, render, write_calibration
from heedful.studies.calibration.suite import Result, Tally, calibrate, results_of_draw, tallies

WORLDS = ("one word", "three agree", "context", "ignores attention", "guessing")


@pytest.fixture(scope="module")
def results():
    """The results of one draw of each world, as they came."""
    done = []
    calibrate(1, worlds=WORLDS, report=done.extend)
    return done


@pytest.fixture(scope="module")
def counted(results):
    return tallies(results)


def tally(counted, world, attention, question):
    (own,) = (each for each in counted if (each.world, each.attention, each.question) == (world, attention, question))
    return own


def test_the_battery_keeps_its_rules(counted):
    assert shortfalls(counted) == []


@pytest.mark.parametrize("world", ["one word", "three agree", "context"])
def test_enough_questions_of_relevance_count_where_attention_is_used(counted, world):
    assert len(counted_questions(counted, world)) >= FEWEST


@pytest.mark.parametrize("question", ["erase_one", "erase_until_flip", "comprehensiveness", "sufficiency"])
def test_all_weight_on_the_first_word_leaves_no_erasure_to_measure(counted, question):
    own = tally(counted, "one word", "first word", question)
    assert isnan(own.score) and own.counted == 0


def test_uniform_attention_has_no_order_to_agree_with_and_scores_nothing_elsewhere(counted):
    for question in ("gradient_agreement", "leave_one_out_agreement"):
        assert isnan(tally(counted, "one word", "uniform", question).score)
    for question in ("erase_until_flip", "comprehensiveness", "sufficiency", "token_scores", "sign"):
        assert abs(tally(counted, "one word", "uniform", question).score) < 0.05


def test_redundancy_is_no_unfaithfulness(counted):
    assert tally(counted, "three agree", "oracle", "without_top").outcomes["holds"] == 0
    for question in ("gradient_agreement", "leave_one_out_agreement", "token_scores", "sign"):
        assert tally(counted, "three agree", "oracle", question).holds == 1
    assert tally(counted, "three agree", "oracle", "erase_until_flip").score == pytest.approx(1, abs=0.02)


def test_what_any_sharp_attention_would_pass_does_not_count(counted):
    """Permuted among the words, the oracle's weights find what then decides, and the model is still right often."""
    own = tally(counted, "three agree", "oracle", "erase_until_flip")
    assert own.counted == 0 and own.outcomes["fails"] == 0


def test_where_neighbours_are_needed_no_attention_is_blamed_for_lacking_them(counted):
    own = tally(counted, "context", "oracle", "sufficiency")
    assert own.counted == 0 and own.score < 0.5


def test_a_draw_gives_the_same_results_again(results):
    before = [result for result in results if result.world == "guessing"]
    assert repr(results_of_draw("guessing", 0)) == repr(before)


def broken(attention, holds, fails, world="one word"):
    outcomes = Counter({"holds": holds, "fails": fails})
    return Tally(world, attention, "sign", "relevance", outcomes, 0.5)


@pytest.mark.parametrize(
    ("attention", "holds", "world", "is_broken"),
    [
        ("oracle", 89, "one word", True),
        ("oracle", 90, "one word", False),
        ("random", 6, "one word", True),
        ("random", 5, "one word", False),
        ("anti", 6, "three agree", True),
        ("sharp random", 60, "one word", False),
        ("oracle", 6, "ignores attention", True),
        ("uniform", 6, "guessing", True),
    ],
)
def test_every_rule_can_be_broken(attention, holds, world, is_broken):
    missed = shortfalls([broken(attention, holds, 100 - holds, world)])
    assert any(world in line and attention in line for line in missed) is is_broken


def test_too_few_questions_are_a_shortfall():
    assert "one word: only 1 questions of relevance count in most draws." in shortfalls([broken("oracle", 100, 0)])


def test_tallies_join_the_draws():
    held = Result("one word", "oracle", "sign", "relevance", "holds", 0.9)
    others = [replace(held, outcome="undecided", score=0.5), replace(held, outcome="not counted", score=nan)]
    (own,) = tallies([held, *others])
    assert (own.draws, own.counted, own.holds_if_counted, own.score) == (3, 2, 0.5, 0.7)


def test_the_pages_show_every_world_and_rule(counted, tmp_path):
    report = CalibrationReport(tuple(counted), 1, "heedful calibrate --draws 1")
    page = write_calibration(report, tmp_path)
    assert page.read_text(encoding="utf-8") == render(report)
    for text in (render(report), markdown(report)):
        assert all(world in text for world in WORLDS)
        assert "The battery keeps its rules in all 5 worlds, over one draw of each." in text
    tallied = as_json(report)["tallies"]
    assert isinstance(tallied, list) and len(tallied) == len(counted)
    assert (tmp_path / "calibration.json").is_file() and (tmp_path / "calibration.md").is_file()
