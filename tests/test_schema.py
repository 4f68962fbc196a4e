"""What an audit's files hold: undefined numbers are None, and unknown fields are no error."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from heedful.schema import AuditAnswer, ClassAnswer, Line, Shares, Verdict, Word, Words
from heedful.schema.table_columns import EXAMPLES, NULLABLE, OPTIONAL, OUTCOMES, ROWS

LINE = {"name": "uniform", "question": "Is attention needed at all?"}
VERDICT = {"run": "key", "data": "mock-1", "texts": 3, "labels": ("a", "b"), "lines": (Line(**LINE),)}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, None])
def test_a_number_that_is_not_finite_is_none(number):
    assert Line(**LINE, score=number).score is None
    assert Line(**LINE, details={"share": number}).details == {"share": None}
    assert Words(auroc=number, most=(Word(word="good", score=number),)).most[0].score is None
    assert Verdict(**VERDICT, scores={"roc_auc": number}).scores == {"roc_auc": None}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_finite_numbers_stay_as_they_are(number):
    assert Line(**LINE, value=number).value == number


def test_a_verdict_survives_json_without_nan():
    verdict = Verdict(
        **VERDICT,
        scores={"accuracy": 0.5, "roc_auc": math.nan},
        answer=AuditAnswer(headline="Yes", overall=ClassAnswer(answer="Yes", sentence="", shares=Shares(luck=0.25))),
        words=Words(auroc=0.75, polar=2, neutral=4, most=(Word(word="good", speaks_for="b", score=1.5),)),
    )
    written = json.dumps(verdict.model_dump(mode="json"), allow_nan=False)
    assert Verdict.model_validate(json.loads(written)) == verdict


@pytest.mark.parametrize(
    "change",
    [{"texts": -1}, {"lines": ({"name": "x"},)}, {"lines": ({**LINE, "best_kind": "roof"},)}, {"labels": "ab"}],
)
def test_what_is_wrong_is_refused(change):
    with pytest.raises(ValidationError):
        Verdict.model_validate({**VERDICT, **change})


def test_what_another_version_adds_is_no_error():
    assert Verdict.model_validate({**VERDICT, "new": 1}) == Verdict(**VERDICT)


def test_parts_cannot_be_changed_in_place():
    with pytest.raises(ValidationError, match="frozen"):
        Line(**LINE).score = 1.0


def test_columns_that_may_be_absent_or_empty_are_columns():
    assert set(OPTIONAL) <= {*ROWS, *EXAMPLES} and set(OPTIONAL) <= set(NULLABLE)
    assert set(NULLABLE) <= {*ROWS, *EXAMPLES, *OUTCOMES}
    assert list(ROWS)[:3] == list(EXAMPLES)[:3] == ["run", "split", "example"]
