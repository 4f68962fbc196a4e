from collections import Counter

import pytest

from heedful.datasets import load
from heedful.datasets.lexicon import opinion_words
from heedful.datasets.mock import AMOUNTS, FILLER
from heedful.errors import SettingError
from heedful.settings import DataSettings, TextSettings
from heedful.text import WordTokenizer

TEXT = TextSettings()
NEGATIVE, POSITIVE = opinion_words("heedful", WordTokenizer.from_settings(TEXT))
EXPECTED = {"mock-1": 1, "mock-2": 2, "mock-5": 5, "mock-10": 10}
SHARES = {"mock-1q": 0.25, "mock-2q": 0.5, "mock-3q": 0.75, "mock-4q": 1.0}


@pytest.fixture(scope="module")
def whole():
    return load(DataSettings(source="mock-1"), TEXT)


def test_the_sizes_and_labels_are_those_of_the_paper(whole):
    assert [len(split) for split in (whole.train, whole.dev, whole.test)] == [8000, 1000, 1000]
    for split, half in ((whole.train, 4000), (whole.dev, 500), (whole.test, 500)):
        assert Counter(example.label for example in split) == {0: half, 1: half}
    assert whole.labels == ("negative", "positive")


def test_lengths_are_uniform_in_50_to_100(whole):
    lengths = Counter(len(example.tokens) for example in whole.train)
    assert set(lengths) == set(range(50, 101))
    # 8,000 / 51 = 157 texts a length, standard deviation 12.4; five of those either way.
    assert all(95 < count < 219 for count in lengths.values())


def test_the_informative_word_stands_anywhere_and_is_any_of_its_list(whole):
    places = Counter(example.rationale[0] for example in whole.train if len(example.tokens) >= 50)
    assert set(range(50)) <= set(places)
    words = {example.tokens[example.rationale[0]] for example in whole.train}
    assert words == set(NEGATIVE) | set(POSITIVE)


@pytest.mark.parametrize("source", AMOUNTS)
def test_the_rationale_is_where_the_words_of_the_label_are_and_all_else_is_filler(source):
    mock = load(DataSettings(source=source, train_limit=60, test_limit=20), TEXT)
    for example in (*mock.train, *mock.dev, *mock.test):
        length = len(example.tokens)
        count = EXPECTED[source] if source in EXPECTED else round(SHARES[source] * length)
        assert len(example.rationale) == count
        lexicon = POSITIVE if example.label else NEGATIVE
        for position, token in enumerate(example.tokens):
            assert (token in lexicon) if position in example.rationale else token == FILLER


def test_words_may_repeat_within_a_text():
    mock = load(DataSettings(source="mock-4q", train_limit=50, test_limit=2), TEXT)
    assert any(len(set(example.tokens)) < len(example.tokens) for example in mock.train)


def test_a_smaller_set_is_the_beginning_of_a_larger_one(whole):
    small = load(DataSettings(source="mock-1", train_limit=7, test_limit=3), TEXT)
    assert (small.train, small.dev, small.test) == (whole.train[:7], whole.dev[:3], whole.test[:3])


def test_a_limit_above_the_size_changes_nothing():
    few = load(DataSettings(source="mock-1", train_limit=2, test_limit=5000), TEXT)
    assert len(few.test) == 1000


def test_splits_and_sets_and_seeds_draw_independently():
    def first(source, seed):
        mock = load(DataSettings(source=source, train_limit=20, test_limit=20, split_seed=seed), TEXT)
        return [mock.train, mock.dev, mock.test]

    texts = [*first("mock-1", 0), *first("mock-2", 0), *first("mock-1", 1)]
    assert len({tuple(len(example.tokens) for example in split) for split in texts}) == len(texts)


def test_one_label_alone_can_not_be_asked_for():
    with pytest.raises(ValueError, match="'negative' alone"):
        load(DataSettings(source="mock-1", train_limit=9, only_labels=("negative",)), TEXT)


def test_a_lexicon_of_which_nothing_is_whole_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "opinion_lexicon"
    folder.mkdir()
    for name in ("negative", "positive"):
        (folder / f"{name}-words.txt").write_text(f"{name}-word\n", encoding="utf-8")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    with pytest.raises(SettingError, match="no word of lexicon='hu_liu' is left whole by words='punctuation'"):
        load(DataSettings(source="mock-1", lexicon="hu_liu"), TEXT)
    mock = load(
        DataSettings(source="mock-1", lexicon="hu_liu", train_limit=2, test_limit=2), TextSettings(words="spaces")
    )
    assert {example.tokens[example.rationale[0]] for example in mock.train} == {"negative-word", "positive-word"}
