"""Audits that are asked for, by the keys of their runs."""

import pytest
from pydantic import ValidationError

from heedful.jobs.request import AuditRequest
from heedful.settings import AuditSettings, ComparisonModels

COMPANIONS = ComparisonModels(retrained="r", seeds=("s1", "s2"), adversaries=("a",), reference="b")
REQUEST = AuditRequest(run="run", data="data", settings=AuditSettings(shown=3), comparison_models=COMPANIONS)


def test_all_runs_that_are_needed_are_listed_once_the_audited_one_first():
    assert REQUEST.needs == ("run", "r", "s1", "s2", "a", "b")
    assert AuditRequest(run="run", data="data").needs == ("run",)
    twice = ComparisonModels(retrained="r", seeds=("r", "run"))
    assert AuditRequest(run="run", data="data", comparison_models=twice).needs == ("run", "r")


def test_a_request_survives_json():
    again = AuditRequest.model_validate_json(REQUEST.model_dump_json())
    assert again == REQUEST and again.key == REQUEST.key
    assert isinstance(again.comparison_models, ComparisonModels) and again.comparison_models.seeds == ("s1", "s2")


def test_the_key_depends_on_all_that_adds_rows():
    for change in [
        {"run": "x"},
        {"data": "x"},
        {"settings": AuditSettings(shown=4)},
        {"comparison_models": ComparisonModels()},
        {"comparison_models": ComparisonModels(retrained="x", seeds=("s1", "s2"), adversaries=("a",))},
        {"comparison_models": ComparisonModels(retrained="r", seeds=("s1",), adversaries=("a",))},
        {"comparison_models": ComparisonModels(retrained="r", seeds=("s1", "s2", "a"))},
    ]:
        fields = {"run": "run", "data": "data", "settings": AuditSettings(shown=3), "comparison_models": COMPANIONS}
        assert AuditRequest(**fields).key == REQUEST.key
        assert AuditRequest(**{**fields, **change}).key != REQUEST.key


def test_the_reference_is_the_runs_own_and_no_part_of_the_key():
    without = ComparisonModels(retrained="r", seeds=("s1", "s2"), adversaries=("a",))
    plain = AuditRequest(run="run", data="data", settings=AuditSettings(shown=3), comparison_models=without)
    assert plain.key == REQUEST.key


def test_an_unknown_field_is_refused():
    with pytest.raises(ValidationError, match="uniform"):
        AuditRequest.model_validate({"run": "run", "data": "data", "uniform": "x"})
