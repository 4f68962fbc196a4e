"""The battery as the page shows it."""

from dataclasses import replace

import pytest

from heedful.report.battery_lines import group_headings, question_rows, score_bar, where_it_lies
from heedful.schema import Verdict
from support.lines import make_line as line


@pytest.fixture
def audit_of(audits):
    """An audit with these lines instead of its own."""

    def audit(lines, **changes):
        verdict = audits[0].verdict.model_dump() | {"lines": lines, "redundancy": None} | changes
        return replace(audits[0], verdict=Verdict.model_validate(verdict))

    return audit


def test_a_line_says_where_its_score_lies():
    for score, low, high, where in [
        (None, None, None, "nothing to measure"),
        (-0.5, -0.8, -0.2, "worse than the floor"),
        (0.1, -0.1, 0.3, "not distinguishable from the floor"),
        (0.3, 0.2, 0.4, "closer to the floor"),
        (0.6, 0.5, 0.7, "closer to the best"),
        (1.0, 0.9, 1.1, "at the ceiling"),
        (1.3, 1.2, 1.4, "better than the ceiling"),
    ]:
        assert where_it_lies(line(score, low, high, best_kind="ceiling")) == where


def test_questions_stand_group_by_group(audit_of):
    lines = [line(name=group, question=group, group=group) for group in ("stability", "relevance", "exclusivity")]
    rows = question_rows([audit_of(lines)])
    assert [test.group for test, _ in rows] == ["relevance", "exclusivity", "stability"]


def test_redundancy_is_said_beside_exclusivity(audit_of):
    heading, remark = group_headings([audit_of([], redundancy=0.25)], ["bilstm"])["exclusivity"]
    assert heading == "Could other attention do as well?"
    assert "25.0%" in remark and "not the only attention" in remark
    assert group_headings([audit_of([])], ["bilstm"])["exclusivity"] == (heading, "")


def test_a_bar_lies_between_its_floor_and_its_best():
    bar = score_bar(line(0.5, 0.4, 0.6))
    assert (bar.start, bar.width) == (14.29, pytest.approx(100 * 0.5 / 1.4, abs=0.02))
    assert (bar.low, bar.spread) == (pytest.approx(100 * 0.6 / 1.4, abs=0.02), pytest.approx(100 * 0.2 / 1.4, abs=0.02))
    assert bar.beyond == ""


def test_a_bar_beyond_its_ends_says_so_and_stays_inside():
    for score, beyond in [(-5, "left"), (7, "right"), (1.2, ""), (-0.2, "")]:
        bar = score_bar(line(score, score - 1, score + 1))
        assert bar.beyond == beyond
        assert bar.start >= 0
        assert bar.start + bar.width <= 100
        assert bar.low >= 0
        assert bar.low + bar.spread <= 100


def test_a_question_that_one_audit_did_not_ask_has_no_line_there(audits):
    fewer = audits[1].verdict.model_copy(update={"lines": audits[1].verdict.lines[1:]})
    rows = question_rows([audits[0], replace(audits[1], verdict=fewer)])
    assert len(rows) == 9
    assert rows[0][1][0] is not None
    assert rows[0][1][1] is None
