"""Requirements of `heedful audit --require`: the worst class decides."""

import pytest

from heedful.verdict.requirement import unmet_requirement
from tests.support.answered import make_answered

YES, SOME, NO = (100, 1.0, 0.95), (100, 1.0, 0.65), (100, 1.0, 0.2)
NO_SET, FEW = (100, 0.1, 0.9), (12, 1.0, 0.95)


def reason(required, *shares, **more):
    return unmet_requirement(make_answered(shares, **more).answer, required)


@pytest.mark.parametrize(
    ("classes", "meets_yes", "meets_some", "named"),
    [
        ((YES, YES), True, True, ""),
        ((YES, SOME), False, True, "Class class 1: For some texts"),
        ((SOME, SOME), False, True, "Class class 0: For some texts"),
        ((YES, NO), False, False, "Class class 1: No. Attention points"),
        ((YES, NO_SET), False, False, "Class class 1: No small set decides. In 90 of 100 texts"),
        ((YES, FEW), True, True, ""),
        ((NO, FEW), False, False, "Class class 0: No."),
        ((FEW, FEW), False, False, "All texts: Too few texts. 24 texts were audited"),
    ],
)
def test_the_worst_class_with_enough_texts_decides(classes, meets_yes, meets_some, named):
    assert (reason("yes", *classes) == "") == meets_yes
    assert (reason("some", *classes) == "") == meets_some
    assert named in reason("yes", *classes)


@pytest.mark.parametrize(
    ("pointing", "decided", "meets_yes", "meets_some"),
    [(0.95, 1.0, True, True), (0.62, 1.0, False, True), (0.1, 1.0, False, False), (0.9, 0.1, False, False)],
)
def test_the_overall_answer_decides_if_all_classes_have_too_few_texts(pointing, decided, meets_yes, meets_some):
    few = [(25, decided, pointing)] * 10
    assert {each.answer for each in make_answered(few).answer.classes} == {"Too few texts"}
    assert (reason("yes", *few) == "") == meets_yes
    assert (reason("some", *few) == "") == meets_some


def test_nothing_to_explain_meets_no_requirement():
    assert reason("some", YES, YES, is_learned=False).startswith("All texts: Nothing to explain. The model is not")
