"""Scores from outside arrive at the right words; what does not match is counted or refused."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.given import GivenScores, TextWords, match_scores, words_of_examples
from heedful.attribution.score_records import TextScores
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.models.trace import trace
from heedful.settings import TextSettings
from heedful.types import Example
from support.models import BATCH, LENGTHS, TIME, cut, make, make_batch

WORDS = WordTokenizer.from_settings(TextSettings())


def example(text, name=None, row=None):
    return Example(WORDS.split(text)[0], 0, text=text, id=name, row=row)


EXAMPLES = [example("It isn't so BAD!", "a"), example("dull , dull", "b"), example("fine", "c")]
TEXTS = words_of_examples(EXAMPLES, range(3))


def scored(text, scores, where=None, name="shap"):
    return TextScores(
        name, text, tuple(map(float, scores)), None if where is None else tuple(where), f"s.csv, text {text}"
    )


def values(*given_scores, texts=TEXTS):
    matched = match_scores(given_scores, texts)
    return {number: own.tolist() for number, own in matched.scores["shap"].items()}


def test_characters_fall_on_the_words_that_share_them():
    """isn't is three words, each of which gets its score; BA and D! add up, with the mark getting D!'s as well."""
    given_scores = scored("a", [1.0, 2.0, 3.0, 5.0], [(0, 2), (3, 8), (12, 14), (14, 16)])
    assert values(given_scores) == {0: [1, 2, 2, 2, 0, 8, 5]}


def test_the_pieces_of_a_word_add_up():
    assert values(scored("c", [1.0, -3.0], ["fi", "##ne"]))[2] == [-2.0]


def test_equal_words_are_told_apart_by_their_order():
    assert values(scored("b", [1.0, 2.0], ["dull", "dull"]))[1] == [1.0, 0.0, 2.0]


def test_numbers_are_of_our_words_unless_they_fit_those_at_spaces():
    assert values(scored("a", range(1, 8)), scored("b", [7, 8, 9])) == {0: [1, 2, 3, 4, 5, 6, 7], 1: [7, 8, 9]}
    at_spaces = values(scored("a", [1, 2, 3, 4]), scored("c", [9]))
    assert at_spaces == {0: [1, 2, 2, 2, 3, 4, 4], 2: [9]}
    note = match_scores([scored("a", [1, 2, 3, 4])], TEXTS).notes[0]
    assert note.endswith("its words are those that spaces separate")


@given(st.lists(st.floats(-5, 5), min_size=7, max_size=7), st.permutations(range(7)))
def test_scores_may_come_in_any_order_and_as_numbers_or_characters(scores, order):
    assert TEXTS[0].spans is not None
    by_number = values(scored("a", [scores[i] for i in order], order))
    by_characters = values(scored("a", [scores[i] for i in order], [TEXTS[0].spans[i] for i in order]))
    assert by_number == by_characters == {0: scores}


def test_texts_without_scores_and_words_without_them_are_counted():
    notes = match_scores([scored("a", [1.0, 2.0], [(0, 2), (9, 11)]), scored("b", [1, 2, 3])], TEXTS).notes
    assert notes == (
        "'shap' has scores for 2 of 3 texts and none for 1, which are undefined for it; 5 of 10 words have none and "
        "count as 0",
    )


def test_scores_of_other_texts_are_counted_and_of_none_but_others_refused():
    known, other = scored("b", [1, 2, 3]), scored("z", [1])
    assert match_scores([known, other], TEXTS).notes[-1] == "1 texts that scores name are not among the audited ones"
    with pytest.raises(
        DataError, match=r"name the audited texts by their ids; none does. They name 'z' .*are 'a', 'b', 'c'"
    ):
        match_scores([other], TEXTS)


def test_scores_that_fall_on_no_word_are_counted_and_where_most_do_refused():
    outside = scored("a", [1, 1, 1, 1], [(0, 2), (3, 6), (16, 20), (400, 402)])
    assert "2 of 4 scores fall on no word (first: s.csv, text a)" in match_scores([outside], TEXTS).notes
    with pytest.raises(DataError, match="3 of 4 fall on no word .*Are they of other texts"):
        match_scores([replace(outside, where=((0, 2), (90, 92), (93, 95), (-4, -2)))], TEXTS)
    with pytest.raises(DataError, match="2 of 3 fall on no word"):
        match_scores([scored("c", [1, 1, 1], [0, 5, -1])], TEXTS)
    with pytest.raises(DataError, match="2 of 3 fall on no word"):
        match_scores([scored("c", [1, 1, 1], ["fine", "not", "here"])], TEXTS)


def test_symbols_and_spaces_fall_on_no_word_and_nobody_minds():
    symbols = scored("c", [9.0, 1.0, 9.0], ["[CLS]", "fine", "[SEP]"])
    assert values(symbols)[2] == [1.0] and len(match_scores([symbols], TEXTS).notes) == 1
    offsets = scored("b", [9.0, 1.0, 9.0], [(0, 0), (0, 4), (4, 5)])
    assert values(offsets)[1] == [1.0, 0.0, 0.0]


def test_a_text_is_called_by_its_id_its_row_or_its_number():
    with_rows = [replace(each, id=None, row=row) for each, row in zip(EXAMPLES, (5, 7, 9), strict=True)]
    assert [text.id for text in words_of_examples(with_rows, [2, 0])] == ["9", "5"]
    assert [text.id for text in words_of_examples([replace(each, row=None) for each in with_rows], [1])] == ["1"]
    assert [text.number for text in words_of_examples(EXAMPLES, [2, 0])] == [2, 0]


@pytest.mark.parametrize("name", ["", "9lives", "my shap", "a" * 41, "../x", "naïve"])
def test_a_name_must_be_usable(name):
    with pytest.raises(SettingError, match="the name of scores must begin with a letter"):
        match_scores([scored("a", range(7), name=name)], TEXTS)


def test_a_name_may_not_be_that_of_another_ranking():
    with pytest.raises(SettingError, match="scores cannot be called 'shap': Heedful has a ranking of that name"):
        match_scores([scored("a", range(7))], TEXTS, taken=("attention", "shap"))


def test_characters_of_a_text_that_is_not_known_are_refused():
    unknown = [TextWords(0, "a", 2)]
    with pytest.raises(DataError, match="s.csv, text a: scores of characters need the text"):
        match_scores([scored("a", [1.0], [(0, 2)])], unknown)
    assert values(scored("a", [1.0, 3.0]), texts=unknown) == {0: [1.0, 3.0]}


def given_of(*rows):
    return GivenScores({"shap": {number: torch.tensor(row).double() for number, row in enumerate(rows) if row}})


def test_scores_stand_at_the_items_of_a_batch():
    seen = trace(make("average"), make_batch())
    scores = given_of([1.0, 2, 3, 4, 5, 6, 7], [4.0, 3, 2, 1], []).of_items(seen)["shap"]
    assert scores.shape == (BATCH, TIME)
    assert scores[0].tolist() == [1, 2, 3, 4, 5, 6, 7] and scores[1].tolist() == [4, 3, 2, 1, 0, 0, 0]
    assert scores[2, 0].isnan() and (scores[2, 1:] == 0).all()


def test_a_start_and_an_end_symbol_have_no_score():
    inner = (torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1)
    seen = trace(make("average"), replace(cut(make_batch(), [0, 1], TIME), attendable=inner))
    scores = given_of([1.0, 2, 3, 4, 5], [8.0, 9]).of_items(seen)["shap"]
    assert scores.tolist() == [[0, 1, 2, 3, 4, 5, 0], [0, 8, 9, 0, 0, 0, 0]]


def test_a_sentence_has_the_sum_of_its_words_scores_or_one_of_its_own():
    seen = trace(make("hierarchical"), make_batch())
    by_word = given_of([1.0, 2, 3, 4, 5, 6, 7], [4.0, 3, 2, 1], [5.0]).of_items(seen)["shap"]
    assert by_word.tolist() == [[6, 15, 7], [9, 1, 0], [5, 0, 0]]
    by_sentence = given_of([6.0, 15, 7], [9.0, 1], [5.0]).of_items(seen)["shap"]
    assert by_sentence.tolist() == by_word.tolist()


def test_another_number_of_scores_than_words_is_refused():
    seen = trace(make("average"), make_batch())
    with pytest.raises(
        DataError, match="a score for each word of text 1; there are 3 scores, and attention weighs 4 items"
    ):
        given_of([1.0] * 7, [1.0, 2, 3], [1.0]).of_items(seen)
