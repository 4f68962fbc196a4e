"""Answers as page and notebook show them."""

from dataclasses import replace

import pytest

from heedful.report.answers import (
    group_headings,
    ordered_rankings,
    question_rows,
    recommended_ranking,
    score_bar,
    share_bar,
    shown_classes,
    where_it_lies,
)
from heedful.schema import ClassAnswer, Interval, Shares, Verdict, updated
from heedful.verdict.answer_text import accuracy_text, remarks
from support.lines import make_line as line


def class_answer(answer="Yes", label=None, points=0.8, none=0.25, luck=0.2, texts=40):
    share = Interval() if points is None else Interval(value=points, low=points - 0.05, high=points + 0.05, n=30)
    no_small_set = Interval(value=none, low=none, high=none, n=40)
    shares = Shares(label=label, texts=texts, points=share, luck=luck, no_small_set=no_small_set)
    return ClassAnswer(answer=answer, sentence=f"Sentence of {label}.", shares=shares)


@pytest.fixture
def verdict_of(audits):
    def verdict(**changes):
        answer = audits[0].verdict.answer
        return updated(audits[0].verdict, answer=updated(answer, **changes))

    return verdict


def test_classes_come_after_all_texts_and_only_what_can_be_shown_is_recommended(verdict_of):
    overall, one, none = class_answer(), class_answer("Yes", "a"), class_answer("Too few texts", "b", texts=0)
    assert shown_classes(verdict_of(overall=overall, classes=[one, none]).answer) == [overall, one]
    assert shown_classes(None) == []
    advice = {"show": "ranking", "ranking": "alone", "sentence": "Show it."}
    assert recommended_ranking(verdict_of(recommendation=advice)) == "alone"
    assert recommended_ranking(verdict_of(recommendation={**advice, "show": "key words"})) == ""
    assert recommended_ranking(updated(verdict_of(), answer=None)) == ""


def test_a_bar_of_outcomes_has_the_numbers_of_its_sentence_or_is_none():
    bar = share_bar(class_answer(points=0.8, none=0.25, luck=0.2), "word")
    assert (bar.decided, bar.points, bar.luck) == (75, 80, 20)
    assert [(name, number) for _, name, number in bar.numbers] == [
        ("points", "80"),
        ("misses", "20"),
        ("luck", "20"),
        ("no small set of words decides", "25"),
    ]
    bar = share_bar(class_answer(points=None, none=1.0, luck=None), "word")
    assert (bar.decided, bar.points, bar.luck) == (0, 0, None) and len(bar.numbers) == 1
    assert share_bar(class_answer("Nothing to explain"), "word") is None


def test_rankings_are_attention_and_then_the_others_by_their_share(audits):
    first, *others = ordered_rankings(audits[1].verdict)
    assert first.name == "attention" and {each.name for each in others} > {"leave_one_out", "gradient_x_input"}
    shares = [each.points.value for each in others]
    assert shares == sorted(shares, reverse=True)
    assert ordered_rankings(updated(audits[1].verdict, answer=None)) == []


def test_accuracy_and_what_else_is_to_be_known_are_said(verdict_of):
    verdict = updated(verdict_of(most_common=0.5), scores={"accuracy": 0.9})
    assert accuracy_text(verdict) == "90.0 % (most common class: 50.0 %)"
    assert accuracy_text(verdict_of(is_checked=False)) == "not checked: the texts have no labels"
    assert accuracy_text(verdict_of()) == ""
    share = Interval(value=0.3, low=0.2, high=0.4, n=40)
    changes = {
        "moved": share,
        "moved_note": "",
        "wrong_sentence": "Of 40 wrong predictions.",
        "uncounted": {"one word": 3, "undefined": 1},
        "left_out": ("seed-1",),
    }
    moved, wrong, left_out, uncounted = remarks(verdict_of(**changes))
    assert moved.startswith("Moved information: in 30 of 100 texts (20 to 40)") and wrong == "Of 40 wrong predictions."
    assert uncounted == "Texts without an outcome: 3 with a single word, 1 with no prediction for some of their parts."
    assert left_out.endswith("constant prediction: seed-1.")
    nothing = {"moved": None, "wrong_sentence": "", "uncounted": {}, "left_out": ()}
    assert remarks(verdict_of(**nothing, moved_note="It cannot be imposed.")) == (
        "Moved information was not measured. It cannot be imposed.",
    )
    assert remarks(verdict_of(**nothing, moved_note="")) == ()


# The battery.


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


def test_questions_stand_group_by_group_with_redundancy_beside_exclusivity(audit_of):
    lines = [line(name=group, question=group, group=group) for group in ("stability", "relevance", "exclusivity")]
    rows = question_rows([audit_of(lines)])
    assert [test.group for test, _ in rows] == ["relevance", "exclusivity", "stability"]
    heading, remark = group_headings([audit_of([], redundancy=0.25)], ["bilstm"])["exclusivity"]
    assert heading == "Could other attention do as well?"
    assert "25.0 %" in remark and "not the only attention" in remark
    assert group_headings([audit_of([])], ["bilstm"])["exclusivity"] == (heading, "")


def test_a_bar_of_a_score_lies_between_floor_and_best_and_says_what_is_beyond():
    bar = score_bar(line(0.5, 0.4, 0.6))
    assert (bar.start, bar.width) == (14.29, pytest.approx(100 * 0.5 / 1.4, abs=0.02))
    assert (bar.low, bar.spread) == (pytest.approx(100 * 0.6 / 1.4, abs=0.02), pytest.approx(100 * 0.2 / 1.4, abs=0.02))
    assert bar.beyond == ""
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
