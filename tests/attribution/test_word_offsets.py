"""Which words a score is of."""

from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.word_offsets import find_strings, numbered_words, overlapping


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 25), st.integers(0, 25))
def test_a_span_falls_on_the_words_that_share_a_character_with_it(sizes, start, end):
    words, place = [], 0
    for size in sizes:
        words.append((place, place + size))
        place += size + size % 2  # some words touch
    wanted = [number for number, (first, last) in enumerate(words) if {*range(first, last)} & {*range(start, end)}]
    assert list(overlapping((start, end), words)) == wanted


def test_pieces_of_words_are_found_one_after_the_other():
    text = "The the THE end"
    assert find_strings(["the", "the", "Ġthe", "##end"], text) == [(0, 3), (4, 7), (8, 11), (12, 15)]
    assert find_strings(["<s>", "end", "the", "</s>"], text) == [(0, 0), (12, 15), None, (15, 15)]


def test_a_letter_that_grows_in_lower_case_moves_nothing():
    text = "İyi film"
    assert find_strings(["İyi", "film"], text) == [(0, 3), (4, 8)]


def test_numbers_count_words_at_spaces_or_as_ours():
    assert numbered_words([0, 1, 2], 3, "it isn't so", 5) == 1
    assert numbered_words([4, 2], 2, "it isn't so", 5) == -1
    assert numbered_words([0], 1, "it isn't so", 5) == 0
    assert numbered_words(None, 3, "it is so", 3) == 0
    assert numbered_words([(0, 3)], 1, "it is so", 3) == numbered_words(["it"], 1, "it", 1) == 0
