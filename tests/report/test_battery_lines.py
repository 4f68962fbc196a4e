"""The battery as the page shows it."""

from dataclasses import replace

import pytest

from heedful.report.battery_lines import group_headings, question_rows, shown_line
from heedful.schema import SeedScore, Verdict
from support.lines import make_line as line


@pytest.fixture
def audit_of(audits):
    """An audit with these lines instead of its own."""

    def audit(lines, **changes):
        verdict = audits[0].verdict.model_dump() | {"lines": lines, "redundancy": None} | changes
        return replace(audits[0], verdict=Verdict.model_validate(verdict))

    return audit


@pytest.mark.parametrize(
    ("score", "low", "high", "where"),
    [
        (None, None, None, "nothing to measure"),
        (-0.5, -0.8, -0.2, "worse than the floor"),
        (0.1, -0.1, 0.3, "not distinguishable from the floor"),
        (0.3, 0.2, 0.4, "closer to the floor"),
        (0.6, 0.5, 0.7, "closer to the best"),
        (1.0, 0.9, 1.1, "at the ceiling"),
        (1.3, 1.2, 1.4, "better than the ceiling"),
    ],
)
def test_a_line_says_where_its_score_lies(score, low, high, where):
    assert shown_line(line(score, low, high, best_kind="ceiling")).where == where


def test_each_training_is_shown_by_itself():
    seeds = [SeedScore(run="k", seed=3, value=0.25, score=0.5, score_low=0.4, score_high=0.6), SeedScore(run="own")]
    shown = shown_line(line(by_seed=seeds, unit="share")).by_seed
    assert [(own.seed, own.value, own.score) for own in shown] == [
        ("3", "25.0 %", "0.50 (0.40 to 0.60)"),
        ("own", "–", "–"),
    ]


def test_questions_stand_group_by_group(audit_of):
    lines = [line(name=group, question=group, group=group) for group in ("stability", "relevance", "exclusivity")]
    rows = question_rows([audit_of(lines)])
    assert [row.group for row in rows] == ["relevance", "exclusivity", "stability"]


def test_redundancy_is_said_beside_exclusivity(audit_of):
    heading, remark = group_headings([audit_of([], redundancy=0.25)], ["bilstm"])["exclusivity"]
    assert heading == "Could other attention do as well?"
    assert "25.0 %" in remark and "not the only attention" in remark
    assert group_headings([audit_of([])], ["bilstm"])["exclusivity"] == (heading, "")


def test_a_bar_lies_between_its_floor_and_its_best():
    bar = shown_line(line(0.5, 0.4, 0.6)).bar
    assert (bar.start, bar.width) == (14.29, pytest.approx(100 * 0.5 / 1.4, abs=0.02))
    assert (bar.low, bar.spread) == (pytest.approx(100 * 0.6 / 1.4, abs=0.02), pytest.approx(100 * 0.2 / 1.4, abs=0.02))
    assert bar.beyond == ""


@pytest.mark.parametrize(("score", "beyond"), [(-5, "left"), (7, "right"), (1.2, ""), (-0.2, "")])
def test_a_bar_beyond_its_ends_says_so_and_stays_inside(score, beyond):
    bar = shown_line(line(score, score - 1, score + 1)).bar
    assert bar.beyond == beyond
    assert bar.start >= 0
    assert bar.start + bar.width <= 100
    assert bar.low >= 0
    assert bar.low + bar.spread <= 100


def test_undefined_numbers_are_dashes_and_have_no_bar():
    shown = shown_line(line(None, None, None, texts=0, undefined=7))
    assert (shown.value, shown.floor, shown.best, shown.interval, shown.bar) == ("–", "–", "–", "", None)
    assert shown.counts == "0 texts; undefined for 7"


def test_a_single_text_is_counted_in_the_singular():
    assert shown_line(line(texts=1)).counts == "1 text"


def test_shares_are_percentages():
    shown = shown_line(line(unit="share", value=0.125, low=0.1, high=0.15, floor=0.0, best=1.0))
    assert (shown.value, shown.interval, shown.best) == ("12.5 %", "10.0 to 15.0 %", "100.0 %")
    assert shown_line(line(value=0.125)).value == "0.12"


def test_nothing_is_minus_zero():
    assert shown_line(line(value=-0.0, unit="share")).value == "0.0 %"
    assert shown_line(line(value=-0.0001, unit="share")).value == "0.0 %"


def test_details_are_numbers_or_dashes():
    assert shown_line(line(details={"share": 0.25, "none": None})).details == (("share", "0.25"), ("none", "–"))


def test_a_question_that_one_audit_did_not_ask_has_no_line_there(audits):
    fewer = audits[1].verdict.model_copy(update={"lines": audits[1].verdict.lines[1:]})
    rows = question_rows([audits[0], replace(audits[1], verdict=fewer)])
    assert len(rows) == 9
    assert rows[0].lines[0] is not None
    assert rows[0].lines[1] is None
