"""Which of the ways of writing marks a column has."""

import pytest

from heedful.data.rationale_forms import FORMS, form_of, parse_values, span_of
from heedful.errors import DataError

TEXT = "it is not bad"


def form(*values, text=TEXT):
    places = [f"a.csv, line {number}" for number in range(2, 2 + len(values))]
    return form_of(parse_values(values), [text] * len(values), places, "why")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (([2, 3],), "words"),
        (("2 3", "0"), "words"),
        (([0, 1],), "words"),
        (([0, 0, 1, 1], [1, 0, 0, 0]), "flags"),
        (([False, True, True, False],), "flags"),
        (("0,0,1,1", ""), "flags"),
        (([0, 0, 1, 1], [3]), "words"),
        (([[6, 9]], []), "characters"),
        (("[[6, 13]]",), "characters"),
        (("6-9; 10-13",), "characters"),
        (([{"start": 6, "end": 9, "label": "x"}],), "characters"),
        (([[6, 9, "NEGATION"]],), "characters"),
        (([(6, 9)],), "characters"),
        (([[1, 3]], [[3, 4]]), "word spans"),
        (("it is **not** bad", TEXT), "marked text"),
        (("not | bad",), "excerpts"),
        ((["not", "bad"],), "excerpts"),
        (("not", "1984"), "excerpts"),
        ((None, float("nan"), " "), "excerpts"),
    ],
)
def test_a_column_is_of_the_form_that_its_values_have(values, wanted):
    assert form(*values) == wanted
    assert wanted in FORMS


@pytest.mark.parametrize("values", [([1, "bad"],), ({"from": 3},), ([[1]],), ([1.5],), ([2], [[0, 2]]), ([[None, 3]],)])
def test_anything_else_is_refused_with_its_place_and_what_to_write(values):
    with pytest.raises(
        DataError, match=r"column 'why' must hold marks, written in the same way .* a.csv, line 2.*Write"
    ):
        form(*values)


def test_a_string_that_is_no_json_is_text():
    assert parse_values(["[[not]] bad", "{so"]) == ["[[not]] bad", "{so"]


def test_too_deep_or_too_long_is_no_trouble():
    deep, long = "[" * 100_000, "9" * 10_000
    assert parse_values([deep]) == [deep] and parse_values([long]) == [long]


def test_the_ends_of_a_span():
    assert span_of([3, 5, "x"]) == span_of((3, 5)) == span_of({"end": 5, "start": 3}) == (3, 5)
    for wrong in ([3], "3-5", None, [3.0, 5.0]):
        with pytest.raises(TypeError):
            span_of(wrong)
