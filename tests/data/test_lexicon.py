import re

import pytest

from heedful.data.lexicon import opinion_words
from heedful.data.sources.mock import FILLER
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError
from heedful.settings import TextSettings

WAYS = [
    TextSettings(words=words, digits=digits)
    for words in ("punctuation", "alphanumeric", "spaces")
    for digits in ("keep", "map")
]


@pytest.mark.parametrize("text", WAYS)
def test_our_lists_are_disjoint_single_words_whole_in_every_way_of_cutting(text):
    negative, positive = opinion_words("heedful", WordTokenizer.from_settings(text))
    assert len(negative) == len(set(negative)) == len(positive) == len(set(positive)) == 150
    assert not set(negative) & set(positive)
    assert all(re.fullmatch(r"[a-z]+", word) for word in (*negative, *positive))
    assert FILLER not in (*negative, *positive)


@pytest.fixture
def lexicon(tmp_path, monkeypatch):
    folder = tmp_path / "opinion_lexicon"
    folder.mkdir()
    (folder / "negative-words.txt").write_text("; a comment\n2-faced\nawful\n\nenvious\n", encoding="utf-8")
    (folder / "positive-words.txt").write_text("a+\nenvious\nlovely\nna\u00efve\n", encoding="utf-8")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    return folder


def test_hu_and_liu_lose_words_of_both_lists_and_words_that_are_cut(lexicon):
    cut = opinion_words("hu_liu", WordTokenizer.from_settings(TextSettings()))
    assert cut == (("awful",), ("lovely", "na\u00efve"))
    whole = opinion_words("hu_liu", WordTokenizer.from_settings(TextSettings(words="spaces")))
    assert whole == (("2-faced", "awful"), ("a+", "lovely", "na\u00efve"))


def test_the_missing_lexicon_is_named(lexicon):
    (lexicon / "positive-words.txt").unlink()
    with pytest.raises(DataError, match=r"positive-words\.txt, which is not there.*lexicon='heedful'"):
        opinion_words("hu_liu", WordTokenizer.from_settings(TextSettings()))


def test_hu_and_liu_need_the_data_folder(monkeypatch, tmp_path):
    tokenizer = WordTokenizer.from_settings(TextSettings())
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match="lexicon='hu_liu' needs a data folder, but HEEDFUL_DATA is not set"):
        opinion_words("hu_liu", tokenizer)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match="HEEDFUL_DATA is '.*none', which is not a folder"):
        opinion_words("hu_liu", tokenizer)
