"""The answer as page and notebook show it."""

import pytest

from heedful.report import read_audit
from heedful.schema import ClassAnswer, Interval, Shares, updated
from heedful.verdict.answer_text import (
    accuracy_text,
    ordered_rankings,
    recommended_ranking,
    remarks,
    share_bar,
    shown_classes,
)
from support.synthetic_audit import make_audit


def class_answer(answer="Yes", label=None, points=0.8, none=0.25, luck=0.2, texts=40):
    share = Interval() if points is None else Interval(value=points, low=points - 0.05, high=points + 0.05, n=30)
    no_small_set = Interval(value=none, low=none, high=none, n=40)
    shares = Shares(label=label, texts=texts, points=share, luck=luck, no_small_set=no_small_set)
    return ClassAnswer(answer=answer, sentence=f"Sentence of {label}.", shares=shares)


@pytest.fixture(scope="module")
def verdict_of(tmp_path_factory):
    made = read_audit(make_audit(tmp_path_factory.mktemp("audit"), texts=40, encoder="average", shown=11)).verdict

    def verdict(**changes):
        return updated(made, answer=updated(made.answer, **changes))

    return verdict


def test_all_texts_come_first_then_each_class_that_is_predicted(verdict_of):
    overall, one, none = class_answer(), class_answer("Yes", "a"), class_answer("Too few texts", "b", texts=0)
    assert shown_classes(verdict_of(overall=overall, classes=[one, none]).answer) == [overall, one]
    assert shown_classes(None) == []


def test_a_bar_has_the_numbers_of_the_sentence():
    bar = share_bar(class_answer(points=0.8, none=0.25, luck=0.2))
    assert (bar.decided, bar.points, bar.luck) == (75, 80, 20)
    assert [(name, number) for _, name, number in bar.numbers] == [
        ("points", "80"),
        ("misses", "20"),
        ("luck", "20"),
        ("no small set", "25"),
    ]


def test_without_a_small_set_a_bar_has_one_part_and_nothing_to_explain_has_no_bar():
    bar = share_bar(class_answer(points=None, none=1.0, luck=None))
    assert (bar.decided, bar.points, bar.luck) == (0, 0, None) and len(bar.numbers) == 1
    assert share_bar(class_answer("Nothing to explain")) is None


def test_only_a_ranking_that_can_be_shown_is_recommended(verdict_of):
    advice = {"show": "ranking", "ranking": "alone", "sentence": "Show it."}
    assert recommended_ranking(verdict_of(recommendation=advice)) == "alone"
    assert recommended_ranking(verdict_of(recommendation={**advice, "show": "key words"})) == ""
    assert recommended_ranking(updated(verdict_of(), answer=None)) == ""


def test_rankings_are_attention_and_then_the_others_by_their_share(verdict_of):
    first, *others = ordered_rankings(verdict_of())
    assert first.name == "attention" and {each.name for each in others} > {"leave_one_out", "gradient_x_input"}
    shares = [each.points.value for each in others]
    assert shares == sorted(shares, reverse=True)
    assert ordered_rankings(updated(verdict_of(), answer=None)) == []


def test_accuracy_stands_next_to_the_most_common_class(verdict_of):
    verdict = updated(verdict_of(most_common=0.5), scores={"accuracy": 0.9})
    assert accuracy_text(verdict) == "90.0% (most common class: 50.0%)"
    assert accuracy_text(verdict_of(is_checked=False)) == "not checked: the texts have no labels"
    assert accuracy_text(verdict_of()) == ""


def test_what_else_is_to_be_known_is_a_sentence_each(verdict_of):
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
