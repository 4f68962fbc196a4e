"""The reviews: size, shares, vocabulary, and labels that follow from the rationales."""

from collections import Counter

import pytest

from heedful.data import load
from heedful.data.sources.reviews import LONGEST, NEGATORS, OPINIONS, SHORTEST
from heedful.data.tokenizer import WordTokenizer
from heedful.settings import DataSettings, TextSettings

TEXT = TextSettings()


@pytest.fixture(scope="module", params=[0, 1])
def reviews(request):
    return load(DataSettings(source="reviews", split_seed=request.param), TEXT)


def texts_of(reviews):
    return [*reviews.train, *reviews.dev, *reviews.test]


def signs(words):
    """The label that each opinion word supports, as the negator before it has it."""
    pairs = zip([""] + words, words, strict=False)
    return [OPINIONS[word] ^ (before in NEGATORS) for before, word in pairs if word in OPINIONS]


def test_each_split_has_its_size_and_as_many_positive_as_negative_texts(reviews):
    for split, size in ((reviews.train, 1400), (reviews.dev, 300), (reviews.test, 300)):
        assert Counter(example.label for example in split) == {0: size // 2, 1: size // 2}


def test_texts_have_8_to_30_words(reviews):
    lengths = [len(example.tokens) for example in texts_of(reviews)]
    assert min(lengths) >= SHORTEST and max(lengths) <= LONGEST
    assert 19 < sum(lengths) / len(lengths) < 24


def test_no_text_occurs_twice(reviews):
    assert len({example.text for example in texts_of(reviews)}) == 2000
    assert not reviews.notes


def test_about_200_words_are_used_and_training_texts_have_them_all(reviews):
    words = {token for example in texts_of(reviews) for token in example.tokens}
    assert 180 <= len(words) <= 220
    assert words == {token for example in reviews.train for token in example.tokens}
    assert all(word == word.lower() for word in words)


def test_a_tenth_of_the_texts_negate_and_a_tenth_contrast(reviews):
    texts = texts_of(reviews)
    for words in (NEGATORS, ("but",)):
        # 2,000 texts at 0.1: standard deviation 0.0067, four of those either way.
        assert 0.073 < sum(not set(words).isdisjoint(example.tokens) for example in texts) / len(texts) < 0.127
    # The two are drawn independently, and of both classes.
    both = [e for e in texts if "but" in e.tokens and not set(NEGATORS).isdisjoint(e.tokens)]
    assert 0 < len(both) < 60
    assert all({e.label for e in texts if word in e.tokens} == {0, 1} for word in (*NEGATORS, "but"))


def test_most_texts_have_a_neutral_clause(reviews):
    clauses = [[clause.split() for clause in e.text.removesuffix(" .").split(" ; ")] for e in texts_of(reviews)]
    neutral = [any(set(clause).isdisjoint(OPINIONS) for clause in text) for text in clauses]
    assert 0.8 < sum(neutral) / len(neutral) < 1


def test_a_rationale_has_one_to_three_opinion_words_and_their_negators(reviews):
    for example in texts_of(reviews):
        rationale = [example.tokens[position] for position in example.rationale]
        assert 1 <= sum(word in OPINIONS for word in rationale) <= 3
        assert set(rationale) <= {*OPINIONS, *NEGATORS}
        for position in example.rationale:
            if example.tokens[position] in NEGATORS:
                assert position + 1 in example.rationale and example.tokens[position + 1] in OPINIONS


def test_the_label_follows_from_the_rationale(reviews):
    for example in texts_of(reviews):
        rationale = [example.tokens[position] for position in example.rationale]
        assert set(signs(rationale)) == {example.label}


def test_the_words_that_do_not_decide_are_the_opposing_ones_before_but(reviews):
    for example in texts_of(reviews):
        tokens = list(example.tokens)
        others = [p for p, token in enumerate(tokens) if token in {*OPINIONS, *NEGATORS} and p not in example.rationale]
        assert len(others) == tokens.count("but") <= 1
        for position in others:
            assert position < tokens.index("but") and signs([tokens[position]]) == [1 - example.label]
            between = tokens[position : tokens.index("but")]
            assert ";" not in between and "and" not in between


def test_every_opinion_word_has_one_label_and_each_label_as_many():
    assert Counter(OPINIONS.values()) == {0: len(OPINIONS) // 2, 1: len(OPINIONS) // 2}


def test_a_smaller_set_is_the_beginning_of_a_larger_one():
    whole = load(DataSettings(source="reviews"), TEXT)
    small = load(DataSettings(source="reviews", train_limit=7, test_limit=3), TEXT)
    assert (small.train, small.dev, small.test) == (whole.train[:7], whole.dev[:3], whole.test[:3])


@pytest.mark.parametrize("words", ["punctuation", "alphanumeric", "spaces"])
def test_no_tokenization_changes_a_deciding_word(words):
    text = TextSettings(words=words, digits="map")
    tokenizer = WordTokenizer.from_settings(text)
    assert all(tokenizer.split(word)[0] == (word,) for word in (*OPINIONS, *NEGATORS))
    for example in load(DataSettings(source="reviews", train_limit=200, test_limit=2), text).train:
        assert set(signs([example.tokens[position] for position in example.rationale])) == {example.label}
