"""The answer of the audit as a strip."""

import pytest

from heedful.schema import Answer, AuditAnswer, ClassAnswer, Line, Recommendation, Shares, Verdict, updated
from heedful.server.audit_strip import audit_strip

ANSWERS: dict[str, Answer] = {"a": "Yes", "b": "No"}
CLASSES = tuple(
    ClassAnswer(answer=answer, sentence=f"Numbers of {label}.", shares=Shares(label=label))
    for label, answer in ANSWERS.items()
)
ANSWER = AuditAnswer(
    headline="It depends on the class: a: Yes, b: No",
    overall=ClassAnswer(answer="For some texts", sentence="Numbers of all.", shares=Shares()),
    classes=CLASSES,
    recommendation=Recommendation(show="key words", ranking="effect", sentence="Do this."),
)
LINE = Line(name="erase_one", question="Does it?", group="relevance", sentence="It does.")
VERDICT = Verdict(run="r", data="d", texts=100, labels=("a", "b"), lines=(LINE,), answer=ANSWER)


@pytest.mark.parametrize(
    ("sentence", "sentences"),
    [("", ["a: Yes. Numbers of a.", "b: No. Numbers of b."]), ("Its numbers.", ["Its numbers."])],
)
def test_it_has_the_answer_its_numbers_and_the_recommendation(sentence, sentences):
    strip = audit_strip(updated(VERDICT, answer=updated(ANSWER, sentence=sentence)))
    assert (strip.show, strip.headline, strip.recommendation) == ("key words", ANSWER.headline, "Do this.")
    assert strip.sentences == sentences
    (line,) = strip.lines
    assert (line.name, line.question, line.sentence) == ("erase_one", "Does it?", "It does.")


def test_an_audit_without_an_answer_says_so():
    strip = audit_strip(updated(VERDICT, answer=None))
    assert strip.show == "not audited" and "did not judge texts" in strip.headline and strip.sentences == []
