"""The words of a user's own texts, by text or by the number of a token."""

from dataclasses import replace

import pytest
import torch

from heedful.errors import SettingError
from heedful.subjects.custom_words import resolve_words
from support.custom_models import VOCABULARY, texts, words_of

BATCHES = [texts(4), texts(3, first=4)]
BY_TEXT = [words_of(number) for number in range(7)]


@pytest.mark.parametrize(
    "words", [BY_TEXT, dict(enumerate(VOCABULARY)), VOCABULARY.__getitem__], ids=["by text", "dict", "function"]
)
def test_all_ways_of_giving_words_come_to_the_same(words):
    vocabulary, by_text = resolve_words(words, BATCHES, by_token=True)
    assert by_text == {number: tuple(own) for number, own in enumerate(BY_TEXT)}
    assert vocabulary[1:] == tuple(VOCABULARY[1:])


def test_nobody_knows_words_that_are_not_given():
    assert resolve_words(None, BATCHES, by_token=True) == resolve_words((), BATCHES, by_token=True) == ((), {})


def test_padding_needs_no_word():
    vocabulary, _ = resolve_words({n: word for n, word in enumerate(VOCABULARY) if n}, BATCHES, by_token=True)
    assert vocabulary[0] == "token 0"


def test_every_number_has_a_name_of_its_own():
    same = [word if word != "film" else "the" for word in VOCABULARY]
    vocabulary, by_text = resolve_words({**dict(enumerate(same)), 3: ""}, BATCHES, by_token=True)
    assert vocabulary[:4] == ("<pad>", "the", "the (token 2)", "token 3")
    assert by_text[0] == ("bad", "the", "the")


def test_a_number_that_stands_for_many_words_goes_by_its_number():
    many = [[f"{word}{place}" if word == "the" else word for word in own] for place, own in enumerate(BY_TEXT)]
    vocabulary, by_text = resolve_words(many, BATCHES, by_token=True)
    assert vocabulary[1] == "token 1" and by_text[1][0] == "the1"


def test_sentences_are_named_by_their_words():
    batch = replace(BATCHES[0], sentence=(torch.arange(5) > 1).long().expand(4, 5) * BATCHES[0].mask)
    _, by_text = resolve_words(VOCABULARY.__getitem__, [batch], by_token=False)
    assert by_text[1] == ("the good", "film was")
    named = [["first", "second"]] * 4
    assert resolve_words(named, [batch], by_token=False) == ((), dict.fromkeys(range(4), ("first", "second")))


def test_words_that_no_file_can_hold_are_made_so():
    assert resolve_words({**dict(enumerate(VOCABULARY)), 1: "\ud800a"}, BATCHES, by_token=True)[0][1] == "?a"


def test_a_function_that_fails_is_named_with_the_token():
    with pytest.raises(SettingError, match="for token 6 there was IndexError: list index out of range"):
        resolve_words(VOCABULARY[:6].__getitem__, BATCHES, by_token=True)
