"""The same marks in every form give the same characters; what matches nothing is counted, or refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.rationales import (
    FORMS,
    excerpts_of,
    form_of,
    has_markers,
    marked_tokens,
    match_excerpts,
    match_marked_text,
    parse_values,
    read_rationales,
    span_of,
)
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.settings import TextSettings

TEXTS = ["it is not bad , really", "so  good (and short)", "dull"]


def places(count):
    return [f"a.csv, line {number}" for number in range(2, 2 + count)]


def read(values, texts=TEXTS, form=None):
    return read_rationales(values, texts, places(len(texts)), "why", form)


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("characters", [[[6, 9], [10, 13]], [[4, 8]], []]),
        ("characters", ["[[6, 9], [10, 13]]", "4-8", "[]"]),
        ("characters", [[{"start": 10, "end": 13}, {"start": 6, "end": 9}], [{"start": 4, "end": 8}], []]),
        ("words", [[3, 2], [1], []]),
        ("words", ["2, 3", "1", "[]"]),
        ("word spans", [[[2, 4]], [[1, 2]], []]),
        ("flags", [[0, 0, 1, 1, 0, 0], [0, 1, 0, 0], [0]]),
        ("marked text", ["it is **not** **bad** , really", "so  <mark>good</mark> (and short)", "dull"]),
        ("excerpts", [["not", "bad"], ["good"], []]),
        ("excerpts", ["not | bad", "GOOD", "[]"]),
    ],
)
def test_every_form_marks_the_same_words(form, values):
    column = read(values)
    assert column.form == form
    covered = [TEXTS[0][6:13], "good"]
    first, second, third = column.spans
    assert "".join(TEXTS[0][start:end] for start, end in first or ()).replace(" ", "") == covered[0].replace(" ", "")
    assert [TEXTS[1][start:end] for start, end in second or ()] == [covered[1]]
    assert third == ()
    assert read(values, form=form).spans == column.spans
    assert column.notes == (column.notes[0],) and "3 of 3 texts have them" in column.notes[0]


def test_a_text_without_a_value_has_no_marks_and_one_with_an_empty_list_was_looked_at():
    assert read([[0], None, []]).spans == (((0, 2),), None, ())
    assert "2 of 3 texts have them" in read([[0], None, []]).notes[0]


def test_overlapping_and_touching_marks_become_one():
    assert read([[[6, 9], [0, 2], [8, 13], [13, 15]], None, None]).spans[0] == ((0, 2), (6, 15))


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("characters", [[[0, 2], [3, 5], [6, 9], [100, 104]], [[0, 2]], [[-3, 4]]]),
        ("words", [[0, 1, 2, 6], [0], [-1]]),
        ("word spans", [[[0, 1], [1, 2], [2, 3], [5, 7]], [[0, 1]], [[1, 0]]]),
        ("flags", [[1, 1, 1, 1, 1, 0], [1, 0], [1, 0]]),
        ("marked text", ["**it** **is** **not** bad , really", "so **good** (**and** short)", "**very** **dul**"]),
        ("excerpts", [["it", "is", "not", "nothing"], ["so"], ["very"]]),
    ],
)
def test_marks_outside_of_the_text_are_counted(form, values):
    column = read(values, form=form)
    total = sum(len(own or ()) for own in column.spans)
    assert total > 0
    assert any(f"2 of {unit} marks in column 'why' are nowhere in their text" in column.notes[1] for unit in (6, 7))
    assert "first: a.csv, line" in column.notes[1]


def test_marks_that_mostly_match_nothing_are_an_error_that_says_how_they_were_read():
    with pytest.raises(
        DataError,
        match=r"column 'why' must mark words of the text beside it; 2 of 3 marks are nowhere in their text \(first: "
        r"a\.csv, line 2\)\. It was read as \[start, end\) spans of characters\. .*--rationale",
    ):
        read([[[60, 63]], [[4, 8]], [[4, 8]]])
    assert read([[[60, 63]], [[4, 8]], []]).spans[1] == ((4, 8),)  # half is not most


def test_a_row_that_does_not_fit_the_form_is_named():
    with pytest.raises(
        DataError, match=r"a\.csv, line 3: column 'why' must hold the numbers of marked words.*\"good\""
    ):
        read([[0], "good", None], form="words")
    with pytest.raises(DataError, match=r"a\.csv, line 2: column 'why' must hold the text again"):
        read([[0], None, None], form="marked text")
    with pytest.raises(DataError, match=r"a\.csv, line 2: column 'why' must hold excerpts"):
        read([[0], None, None], form="excerpts")


def test_an_unknown_form_lists_the_known():
    with pytest.raises(SettingError, match="must be one of 'characters', 'words'.*; it was 'tokens'"):
        read([[0], None, None], form="tokens")


@given(st.text(alphabet="ab .,'", min_size=1, max_size=20), st.data())
def test_tokens_are_marked_where_they_share_a_character_with_a_mark(text, data):
    _, tokens = WordTokenizer.from_settings(TextSettings()).split(text)
    ends = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
    spans = [(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]]
    marked = {place for start, end in spans for place in range(start, end)}
    wanted = [token for token, (start, end) in enumerate(tokens) if marked & {*range(start, end)}]
    assert list(marked_tokens(spans, tokens)) == wanted


def test_json_in_a_column_of_strings_is_read():
    values = [json.dumps([[6, 9]]), json.dumps([]), ""]
    assert read(values).spans == (((6, 9),), (), None)


# Which of the ways of writing marks a column has.

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


# Marks written as text, found in the text they are of.

MARKERS = [("<mark>", "</mark>"), ("<b>", "</b>"), ("<em>", "</em>"), ("[[", "]]"), ("**", "**")]


def parts(spans, text):
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(("begin", "end"), MARKERS)
def test_what_stands_in_markers_is_found(begin, end):
    text = "It isn't bad, not BAD at all."
    written = f"It isn't {begin}bad{end}, not {begin}BAD at{end} all."
    assert has_markers(written) and not has_markers(text)
    matched = match_marked_text(written, text)
    assert matched.spans == ((9, 12), (18, 24)) and matched.unmatched == 0


@given(st.lists(st.tuples(st.text(alphabet="abİß é.", min_size=1, max_size=5), st.booleans()), min_size=1, max_size=8))
def test_any_text_with_some_of_it_in_markers_gives_back_its_marks(pieces):
    text = "|".join(piece for piece, _ in pieces)
    written = "|".join(f"[[{piece}]]" if is_marked else piece for piece, is_marked in pieces)
    wanted = [piece.strip() for piece, is_marked in pieces if is_marked and piece.strip()]
    matched = match_marked_text(written, text)
    assert [part.strip() for part in parts(matched.spans, text)] == wanted
    assert match_marked_text(written.upper().replace(" ", "  "), text.upper()).unmatched == 0


def test_a_part_is_looked_for_by_itself_where_the_rest_was_changed():
    matched = match_marked_text("a **good film** (shortened) and **never** ...", "It was a good film, and I liked it.")
    assert parts(matched.spans, "It was a good film, and I liked it.") == ["good film"]
    assert matched.unmatched == 1


def test_excerpts_are_whole_words_and_equal_ones_stand_at_different_places():
    text = "Goodness, a good, GOOD  film. No good"
    matched = match_excerpts(["good", "good", "good", "good", "film.  no"], text)
    assert parts(matched.spans, text) == ["good", "GOOD", "good", "film. No"]
    assert matched.unmatched == 0


def test_excerpts_that_are_nowhere_are_counted():
    matched = match_excerpts(["go", "bad", " ", "film"], "a good film")
    assert matched.spans == ((7, 11),) and matched.unmatched == 2


def test_excerpts_are_separated_by_a_bar_or_a_line_break():
    assert excerpts_of(" a b | c\nd ") == ["a b", "c", "d"]
    assert excerpts_of("  ") == []
