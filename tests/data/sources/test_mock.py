import re
from collections import Counter

import pytest

from heedful.data import load
from heedful.data.sources.mock import AMOUNTS, FILLER, class_words, opinion_words
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings

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


def test_the_rationale_is_where_the_words_of_the_label_are_and_all_else_is_filler():
    for source in AMOUNTS:
        mock = load(DataSettings(source=source, train_limit=60, test_limit=20), TEXT)
        for example in (*mock.train, *mock.dev, *mock.test):
            length = len(example.tokens)
            count = EXPECTED[source] if source in EXPECTED else round(SHARES[source] * length)
            assert len(example.rationale) == count
            lexicon = POSITIVE if example.label else NEGATIVE
            for position, token in enumerate(example.tokens):
                assert (token in lexicon) if position in example.rationale else token == FILLER["heedful"]


def test_a_smaller_set_is_the_beginning_of_a_larger_one(whole):
    small = load(DataSettings(source="mock-1", train_limit=7, test_limit=3), TEXT)
    assert (small.train, small.dev, small.test) == (whole.train[:7], whole.dev[:3], whole.test[:3])


def test_splits_and_sets_and_seeds_draw_independently():
    def first(source, seed):
        mock = load(DataSettings(source=source, train_limit=20, test_limit=20, split_seed=seed), TEXT)
        return [mock.train, mock.dev, mock.test]

    texts = [*first("mock-1", 0), *first("mock-2", 0), *first("mock-1", 1)]
    assert len({tuple(len(example.tokens) for example in split) for split in texts}) == len(texts)


# Made before there were settings for positions, agreement and classes: their defaults must not change a byte.
FINGERPRINTS = {
    "mock-1": "ee66eb7f6989580710af43b1e9484cd4e259f92dec06c80d1ea61d70017e1dac",
    "mock-5": "3b6ca1968682b4d4c546f17ebce710c407be30d936171babfd2d59d646ce0262",
    "mock-2q": "5879c5e4e6e1d18207a7ffff88acbb3ea7450b6feb5eae173ac66c67ea5b55dd",
}


def test_the_sets_of_the_paper_stay_what_they_are():
    for source in FINGERPRINTS:
        assert small(source, split_seed=3).fingerprint == FINGERPRINTS[source]


def small(source, **settings):
    return load(DataSettings(source=source, train_limit=60, test_limit=20, **settings), TEXT)


def informative(example):
    """Where the words are that are no filler."""
    return [place for place, token in enumerate(example.tokens) if token != FILLER["heedful"]]


def test_informative_words_stand_together_where_they_are_put_and_are_the_same_words():
    for positions in ["start", "middle", "end"]:
        for source in ["mock-1", "mock-5", "mock-1q", "mock-4q"]:
            for example, scattered in zip(small(source, positions=positions).train, small(source).train, strict=True):
                places = informative(example)
                before, after = places[0], len(example.tokens) - 1 - places[-1]
                assert places == list(range(places[0], places[-1] + 1))
                assert {"start": before == 0, "middle": abs(before - after) <= 1, "end": after == 0}[positions]
                assert [example.tokens[p] for p in places] == [scattered.tokens[p] for p in informative(scattered)]
                assert len(example.tokens) == len(scattered.tokens) and example.rationale == tuple(places)


@pytest.mark.parametrize(("source", "agreement", "own"), [("mock-10", 0.8, 8), ("mock-5", 0.51, 3), ("mock-1", 0.6, 1)])
@pytest.mark.parametrize("classes", [2, 3])
def test_so_many_words_are_of_the_texts_own_class_and_the_others_of_any_other(source, agreement, own, classes):
    _, lists = class_words((NEGATIVE, POSITIVE), classes)
    pure, mixed = small(source, classes=classes), small(source, agreement=agreement, classes=classes)
    against = Counter()
    for example, same in zip(mixed.train, pure.train, strict=True):
        assert informative(example) == informative(same)
        assert len(example.rationale) == own
        for place in informative(example):
            if place in example.rationale:
                assert example.tokens[place] == same.tokens[place]
            else:
                (indicated,) = [label for label in range(classes) if example.tokens[place] in lists[label]]
                assert indicated != example.label
                against[example.label, indicated] += 1
    assert len(against) == (classes * (classes - 1) if source != "mock-1" else 0)


def test_any_of_the_informative_places_may_speak_for_another_class():
    texts = small("mock-5", agreement=0.6).train
    order = Counter(informative(e).index(p) for e in texts for p in informative(e) if p not in e.rationale)
    assert set(order) == set(range(5))


def test_a_share_of_half_or_less_is_refused_since_the_label_would_be_open():
    with pytest.raises(ValueError, match="greater than 0.5"):
        DataSettings(agreement=0.5)


def test_more_classes_are_as_many_disjoint_lists_in_equal_shares():
    for classes in [3, 5, 50]:
        labels, lists = class_words((NEGATIVE, POSITIVE), classes)
        assert sorted(word for words in lists for word in words) == sorted(NEGATIVE + POSITIVE)
        assert max(map(len, lists)) - min(map(len, lists)) <= 1
        mock = load(DataSettings(source="mock-2", classes=classes, train_limit=4 * classes, test_limit=classes), TEXT)
        assert mock.labels == labels == tuple(f"group {n}" for n in range(1, classes + 1))
        assert Counter(example.label for example in mock.train) == dict.fromkeys(range(classes), 4)
        for example in mock.train:
            assert all(example.tokens[place] in lists[example.label] for place in example.rationale)


def test_a_lexicon_with_fewer_words_than_classes_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "opinion_lexicon"
    folder.mkdir()
    for name in ("negative", "positive"):
        (folder / f"{name}-words.txt").write_text(f"{name}\n", encoding="utf-8")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    with pytest.raises(SettingError, match="lexicon='hu_liu' has too few words for 3 classes"):
        load(DataSettings(source="mock-1", lexicon="hu_liu", classes=3), TEXT)


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
    assert {token for example in mock.train for token in example.tokens if "word" not in token} == {"something"}


WAYS = [
    TextSettings(words=words, digits=digits)
    for words in ("punctuation", "alphanumeric", "spaces")
    for digits in ("keep", "map")
]


def test_our_lists_are_disjoint_single_words_whole_in_every_way_of_cutting():
    for text in WAYS:
        negative, positive = opinion_words("heedful", WordTokenizer.from_settings(text))
        assert len(negative) == len(set(negative)) == len(positive) == len(set(positive)) == 150
        assert not set(negative) & set(positive)
        assert all(re.fullmatch(r"[a-z]+", word) for word in (*negative, *positive))
        assert not set(FILLER.values()) & {*negative, *positive}


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
