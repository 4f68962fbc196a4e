from collections import Counter

import pytest

from heedful.data import load
from heedful.data.sources.planted import RECIPES
from heedful.data.tokenizer import WordTokenizer
from heedful.settings import DataSettings, TextSettings

TEXT = TextSettings()


@pytest.fixture(scope="module")
def whole():
    return load(DataSettings(source="planted"), TEXT)


def kinds(example):
    return [token.split("_")[0] for token in example.tokens]


def test_the_sizes_and_the_vocabulary_are_those_of_the_paper(whole):
    assert Counter(example.label for example in whole.train) == {0: 6000, 1: 6000}
    for split in (whole.dev, whole.test):
        assert Counter(example.label for example in split) == {0: 1000, 1: 1000}
    types = Counter(token.split("_")[0] for token in {token for example in whole.train for token in example.tokens})
    assert types == {"neutral": 1000, "positive": 50, "negative": 50}


def test_a_text_has_ten_distinct_neutral_words_and_two_distinct_polar_words_of_its_class(whole):
    for example in whole.train:
        assert len(set(example.tokens)) == 12
        assert Counter(kinds(example)) == {"neutral": 10, whole.labels[example.label]: 2}


def test_the_rationale_is_the_polar_positions_and_these_are_anywhere(whole):
    for example in whole.dev:
        polar = tuple(position for position, kind in enumerate(kinds(example)) if kind != "neutral")
        assert example.rationale == polar
    assert {position for example in whole.dev for position in example.rationale} == set(range(12))


def test_about_a_tenth_of_the_noisy_texts_have_the_other_polar_words():
    noisy = load(DataSettings(source="planted-noisy", train_limit=4000, test_limit=2), TEXT)
    for label, name in enumerate(noisy.labels):
        own = [name in kinds(example) for example in noisy.train if example.label == label]
        # 2,000 texts at .1: standard deviation .0067, four of those either way.
        assert 0.873 < sum(own) / len(own) < 0.927
    assert all(len(set(kinds(example))) == 2 for example in noisy.train)


def test_ratios_are_positive_to_negative():
    for source, positive, negative in [
        ("planted-1:2", 400, 800),
        ("planted-1:5", 200, 1000),
        ("planted-2:1", 800, 400),
    ]:
        planted = load(DataSettings(source=source, train_limit=1200, test_limit=12), TEXT)
        assert Counter(example.label for example in planted.train) == {1: positive, 0: negative}


def test_a_ratio_that_does_not_divide_the_size_is_met_within_a_block():
    planted = load(DataSettings(source="planted-2:5", train_limit=1200, test_limit=7), TEXT)
    assert abs(sum(example.label for example in planted.train) - 1200 * 2 / 7) < 2
    assert sum(example.label for example in planted.test) == 2


def test_a_smaller_set_is_the_beginning_of_a_larger_one(whole):
    small = load(DataSettings(source="planted", train_limit=7, test_limit=3), TEXT)
    assert (small.train, small.dev, small.test) == (whole.train[:7], whole.dev[:3], whole.test[:3])


def test_no_way_of_cutting_merges_words():
    for words in ["punctuation", "alphanumeric", "spaces"]:
        text = TextSettings(words=words, digits="map")
        planted = load(DataSettings(source="planted", train_limit=500, test_limit=2), text)
        tokenizer = WordTokenizer.from_settings(text)
        assert all(tokenizer.split(token)[0] == (token,) for example in planted.train for token in example.tokens)


def test_every_recipe_is_listed_once():
    assert len(set(RECIPES.values())) == len(RECIPES)


def test_three_labels_have_polar_words_of_their_own():
    planted = load(DataSettings(source="planted-three", train_limit=300, test_limit=3), TEXT)
    assert Counter(example.label for example in planted.train) == {0: 100, 1: 100, 2: 100}
    assert all(set(kinds(example)) == {planted.labels[example.label], "neutral"} for example in planted.train)
