"""The same marks in both forms give the same characters; what matches nothing is counted, or refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.rationales import (
    FORMS,
    characters_of,
    marked_tokens,
    parse_marks,
    read_rationales,
    span_of,
    word_spans_in,
)
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError
from heedful.settings import TextSettings

TEXTS = ["it is not bad , really", "so  good (and short)", "dull"]


def places(count):
    return [f"a.csv, line {number}" for number in range(2, 2 + count)]


def read(values, texts=TEXTS):
    return read_rationales(values, texts, places(len(texts)), "why")


def test_every_way_of_writing_marks_the_same_words():
    characters = [
        [[[6, 9], [10, 13]], [[4, 8]], []],
        [((10, 13), (6, 9)), [(4, 8, "label")], ()],
        ["[[6, 9], [10, 13]]", "4:8", "[]"],
        ["6:9, 10:13", "4-8", "[]"],
        ["6-9; 10-13", " 4:8 ", "[]"],
        [[{"start": 10, "end": 13}, {"start": 6, "end": 9}], [{"start": 4, "end": 8}], []],
    ]
    words = [[[3, 2], [1], []], ["2, 3", "1", "[]"], ["[2, 3]", 1, "[]"], ["2 3", "[1]", []]]
    for form, columns in (("characters", characters), ("words", words)):
        for values in columns:
            first, second, third = read(values).spans
            assert {*first} == {(6, 9), (10, 13)} and second == ((4, 8),) and third == (), values
            assert read(values).notes == (f"marks are column 'why', read as {FORMS[form]}; 3 of 3 texts have them",)


def test_a_text_without_a_value_has_no_marks_and_one_with_an_empty_list_was_looked_at():
    assert read([[0], None, []]).spans == (((0, 2),), None, ())
    assert read([[0], " ", float("nan")]).spans == (((0, 2),), None, None)
    assert "2 of 3 texts have them" in read([[0], None, []]).notes[0]


def test_overlapping_and_touching_marks_become_one():
    assert read([[[6, 9], [0, 2], [8, 13], [13, 15]], None, None]).spans[0] == ((0, 2), (6, 15))


def test_marks_outside_of_the_text_are_counted():
    for values in [[[[0, 2], [3, 5], [6, 9], [100, 104]], [[0, 2]], [[-3, 4]]], [[0, 1, 2, 6], [0, 1], [-1]]]:
        column = read(values)
        assert column.spans[2] == () and len(column.spans[0]) == 3
        assert f"2 of {sum(map(len, values))} marks in column 'why' are nowhere in their text" in column.notes[1]
        assert column.notes[1].endswith("(first: a.csv, line 2)")


def test_marks_that_mostly_match_nothing_are_an_error_that_says_how_they_were_read():
    with pytest.raises(
        DataError,
        match=r"column 'why': 2 of 3 rationales do not occur in the text of their row \(first: a\.csv, line 2\)\. The "
        r"column was read as spans of characters.*--rationale",
    ):
        read([[[60, 63]], [[4, 8]], [[4, 8]]])
    assert read([[[60, 63]], [[4, 8]], []]).spans[1] == ((4, 8),)  # half is not most


def test_other_forms_are_refused_with_how_to_convert_them():
    for value in [
        "bad",  # excerpts
        ["not", "bad"],
        "it is **not** bad",
        "[[not]] bad , really",
        [0, 0, 1, 1, 0, 0],  # flags
        "0 1 1",
        [False, True],
        {"from": 3},
        [[1]],
        [1.5],
        [None],
        "1 to 3",
        "[" * 100_000,
        "9" * 5000,
    ]:
        with pytest.raises(
            DataError, match=r"line 2: column 'why' must hold spans of characters.* or word indices.*find"
        ):
            read([value, None, None])


def test_a_column_is_written_in_one_way():
    with pytest.raises(
        DataError, match=r"same way throughout; it holds words at a.csv, line 2, characters at a.csv, l"
    ):
        read([[2], [[4, 8]], None])


def test_spans_that_seem_to_count_words_are_refused():
    with pytest.raises(DataError, match=r"column 'why' must hold spans of char.*seem to count words.*'rationale'"):
        read([[[2, 4]], [[1, 2]], None])
    assert read([[[2, 4], [6, 9]], [[4, 8]], None]).spans[0] == ((2, 4), (6, 9))


def test_spans_of_words_are_read_as_they_stand():
    def read_words(*values):
        return word_spans_in(values, TEXTS[: len(values)], places(len(values)), "rationale")

    assert read_words([[2, 4], [0, 1]], "[[1, 3]]", []) == [((2, 4), (0, 1)), ((1, 3),), ()]
    assert read_words(None, " ", "[]") == [None, None, ()]
    assert read_words("2:4") is None and read_words([2], []) is None
    for wrong in ([[0, 7]], [[2, 1]], [[-1, 2]]):
        with pytest.raises(DataError, match=r"line 2: .* a list of \[start, end\) spans over the 6 words.*characters"):
            read_words(wrong)


def test_spans_of_words_have_characters():
    text = "it  isn't bad"
    assert [text[start:end] for start, end in characters_of(text, [(0, 1), (2, 4), (1, 2), (3, 3)])] == [
        "it",
        "isn't bad",
        "",
    ]


@given(st.text(alphabet="ab .,'", min_size=1, max_size=20), st.data())
def test_tokens_are_marked_where_they_share_a_character_with_a_mark(text, data):
    _, tokens = WordTokenizer.from_settings(TextSettings()).split(text)
    ends = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
    spans = [(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]]
    marked = {place for start, end in spans for place in range(start, end)}
    wanted = [token for token, (start, end) in enumerate(tokens) if marked & {*range(start, end)}]
    assert list(marked_tokens(spans, tokens)) == wanted


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5))
def test_what_is_written_is_read_again(spans):
    assert parse_marks(json.dumps(spans), "why", "") == spans
    assert parse_marks(", ".join(f"{start}:{end}" for start, end in spans), "why", "") == (spans or None)


def test_the_ends_of_a_span():
    assert span_of([3, 5, "x"]) == span_of((3, 5)) == span_of({"end": 5, "start": 3}) == (3, 5)
    for wrong in ([3], "3-5", None, [3.0, 5.0]):
        with pytest.raises(TypeError):
            span_of(wrong)
