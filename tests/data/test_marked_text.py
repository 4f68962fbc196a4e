"""Marks written as text, found in the text they are of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.marked_text import excerpts_of, has_markers, match_excerpts, match_marked_text

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
