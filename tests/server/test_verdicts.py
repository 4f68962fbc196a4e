"""The verdict as a strip: in the words of its headline."""

import pytest

from heedful.schema import Advice, Line, Verdict
from heedful.server.verdicts import verdict_strip
from heedful.verdict.headline import headline

LINE = Line(name="erase_one", question="Does it?", group="relevance", score=0.4, score_low=0.3, score_high=0.5, texts=9)


@pytest.mark.parametrize(
    "advice, action, ranking",
    [
        (Advice(action="instead", ranking="leave_one_out"), "instead", "leave_one_out"),
        (Advice(action="attention", ranking="attention"), "attention", "attention"),
        (Advice(action="nothing"), "nothing", "leave_one_out"),
        (None, "nothing", "leave_one_out"),
    ],
)
def test_it_says_what_the_audit_says(advice, action, ranking):
    verdict = Verdict(run="r", data="d", texts=100, labels=("a", "b"), lines=(LINE,), advice=advice)
    strip = verdict_strip(verdict)
    assert (strip.action, strip.ranking) == (action, ranking)
    assert strip.lead == headline(verdict).lead and strip.sentences == list(headline(verdict).sentences)
    (line,) = strip.lines
    assert (line.score, line.low, line.high, line.outcome) == (0.4, 0.3, 0.5, LINE.outcome)
