from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.labelled_texts import Row, Rows, fingerprint_of, rationale_positions, sort_labels, to_dataset
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings

DATA, TEXT = DataSettings(source="here"), TextSettings()


def rows(*train, **fields):
    parts = {
        "train": train or (Row("one two three", "a"), Row("four five", "b")),
        "dev": (Row("fine", "a"),),
        "test": (Row("bad", "b"),),
    }
    return Rows(**{"name": "here", "task": "classification", **parts, **fields})


def dataset(source, sentences=False, **settings):
    data = {name: value for name, value in settings.items() if name in DataSettings.model_fields}
    text = {name: value for name, value in settings.items() if name in TextSettings.model_fields}
    return to_dataset(source, DataSettings(source="here", **data), TextSettings(**text), sentences=sentences)


def test_a_row_becomes_tokens_a_label_number_and_keeps_its_text():
    first, second = dataset(rows(Row("It's FINE", "b"), Row("No", "a", rationale=((0, 1),)))).train
    assert (first.tokens, first.label, first.rationale, first.text) == (("it", "'", "s", "fine"), 1, None, "It's FINE")
    assert (second.tokens, second.label, second.rationale) == (("no",), 0, (0,))


def test_tokens_of_the_same_word_are_one_object():
    first, second = dataset(rows(Row("same words", "a"), Row("same", "b"))).train
    assert first.tokens[0] is second.tokens[0]


def test_empty_texts_are_dropped_and_counted():
    source = rows(
        Row("", "a"), Row(" \t\n\u00a0", "b"), Row("x", "a"), Row("y", "b"), dev=(Row("", "a"), Row("z", "b"))
    )
    found = dataset(source)
    assert [example.text for example in found.train] == ["x", "y"]
    assert found.notes == ("2 empty texts dropped from train", "1 empty texts dropped from dev")


def test_what_is_empty_depends_on_how_texts_are_cut():
    source = rows(Row("!?", "a"), Row("x", "a"), Row("y", "b"))
    assert len(dataset(source).train) == 3
    assert dataset(source, words="alphanumeric").notes == ("1 empty texts dropped from train",)


def test_queries_are_cut_and_empty_ones_counted_where_the_task_has_them():
    parts = {"dev": (Row("x", "a", "q"),), "test": (Row("x", "b", "q"),), "task": "nli"}
    source = rows(Row("x", "a", "What, now?"), Row("y", "b", " "), Row("z", "b", "so"), **parts)
    found = dataset(source)
    assert [example.query for example in found.train] == [("what", ",", "now", "?"), ("so",)]
    assert found.notes == ("1 texts with an empty query dropped from train",)
    assert found.task == "nli"


def test_length_limits_are_strict_and_counted():
    source = rows(*(Row("w " * length, label) for length in (2, 3, 4, 5) for label in "ab"), dev=(Row("w w w", "a"),))
    source = replace(source, test=(Row("w w w w", "b"), Row("w", "b")))
    found = dataset(source, longer_than=2, shorter_than=5)
    assert [len(example.tokens) for example in found.train] == [3, 3, 4, 4]
    assert set(found.notes) == {
        "2 texts of 2 tokens or fewer dropped from train",
        "2 texts of 5 tokens or more dropped from train",
        "1 texts of 2 tokens or fewer dropped from test",
    }


def test_long_texts_are_cut_and_counted_with_rationale_and_sentences():
    long = Row("One two. Three four. Five", "a", rationale=((1, 2), (3, 5)))
    found = dataset(rows(long, Row("short", "b")), max_tokens=5, sentences=True)
    example = found.train[0]
    assert example.tokens == ("one", "two", ".", "three", "four")
    assert example.rationale == (1, 2, 4)
    assert example.sentences == (0, 3)
    assert example.text == long.text
    assert found.notes == ("1 texts cut to 5 tokens in train",)


def test_a_text_of_exactly_the_limit_is_not_cut():
    assert dataset(rows(Row("a b c", "a"), Row("x", "b")), max_tokens=3).notes == ()


def test_length_limits_look_at_the_uncut_text():
    source = rows(Row("w w w", "a"), Row("w w w", "b"), dev=(Row("w w w", "a"),), test=(Row("w w w", "a"),))
    assert len(dataset(source, max_tokens=2, longer_than=2).train) == 2


def test_sentences_are_found_only_when_asked_for():
    source = rows(Row("It is. It was.", "a"), Row("x", "b"))
    assert dataset(source).train[0].sentences == ()
    assert dataset(source, sentences=True).train[0].sentences == (0, 3)


def many(a, b, **fields):
    return rows(*(Row(f"text{number}", "a" if number < a else "b") for number in range(a + b)), **fields)


def test_a_limit_keeps_the_proportion_of_labels_and_the_order_of_the_source():
    found = dataset(many(40, 20), train_limit=15)
    assert Counter(example.label for example in found.train) == {0: 10, 1: 5}
    numbers = [int(example.text.removeprefix("text")) for example in found.train]
    assert numbers == sorted(numbers)


def test_a_smaller_limit_gives_a_part_of_a_larger_one():
    small, large = (set(dataset(many(40, 20), train_limit=limit).train) for limit in (7, 30))
    assert small < large


def test_another_seed_samples_other_texts():
    samples = {dataset(many(40, 20), train_limit=9, split_seed=seed).train for seed in (0, 0, 1)}
    assert len(samples) == 2


def test_the_limit_counts_texts_that_are_kept():
    source = rows(*(Row("w " * (1 + number % 2), "ab"[number % 4 // 2]) for number in range(40)))
    found = dataset(replace(source, dev=source.train, test=source.train), longer_than=1, train_limit=13, test_limit=5)
    assert (len(found.train), len(found.dev), len(found.test)) == (13, 5, 5)


def test_a_limit_of_the_size_or_more_keeps_everything_in_order():
    assert dataset(many(4, 3), train_limit=7).train == dataset(many(4, 3)).train


def test_a_limit_below_the_number_of_labels_is_refused():
    with pytest.raises(
        DataError, match="no training text with label '.' is left. Give more texts, or change the limits"
    ):
        dataset(many(4, 3), train_limit=1)


def test_only_the_labels_asked_for_stay():
    source = rows(*(Row("x", label) for label in "abcab"), dev=(Row("x", "c"), Row("x", "a")), test=(Row("x", "b"),))
    found = dataset(source, only_labels=("b", "a"))
    assert found.labels == ("a", "b")
    assert (len(found.train), len(found.dev)) == (4, 1)
    assert found.notes == ("only labels b, a kept: 4 of 5 in train, 1 of 2 in dev, 1 of 1 in test",)


def test_an_unknown_label_asked_for_is_answered_with_the_known():
    with pytest.raises(SettingError, match="only_labels must name labels of here; 'z' is none of them. It has: a, b."):
        dataset(rows(), only_labels=("a", "z"))


def test_labels_are_sorted_numbers_by_value():
    source = rows(*(Row("x", label) for label in ("10", "9", "-1")), dev=(Row("x", "9"),), test=(Row("x", "9"),))
    assert dataset(source).labels == ("-1", "9", "10")
    assert sort_labels(["b", "10", "9"]) == ["10", "9", "b"]
    assert sort_labels(["01", "1"]) == ["01", "1"]
    assert sort_labels(["9" * 5000, "1"]) == ["1", "9" * 5000]


def test_the_source_may_order_the_labels_and_absent_ones_are_left_out():
    assert dataset(rows(labels=("c", "b", "a"))).labels == ("b", "a")


@pytest.mark.parametrize(("train", "found"), [((Row("x", "a"), Row("y", "a")), "'a' alone"), ((), "none")])
def test_one_label_in_training_is_refused(train, found):
    with pytest.raises(DataError, match=f"here: the training texts must have at least two labels; they have {found}"):
        dataset(replace(rows(), train=train))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_label_that_training_lacks_is_refused(split):
    with pytest.raises(
        DataError, match=rf"label 'z' is on 2 texts of {split} and on none of train \(labels there: a, b\)"
    ):
        dataset(rows(**{split: (Row("x", "z"), Row("y", "z"), Row("x", "a"))}))


def test_a_column_that_is_no_class_is_refused():
    def numbered(count):
        return [Row("x", str(number)) for number in range(count)]

    assert len(dataset(rows(*numbered(50), dev=(Row("x", "1"),), test=(Row("x", "1"),))).labels) == 50
    with pytest.raises(DataError, match="the label must be a class, but the 51 training texts have 51 different ones"):
        dataset(rows(*numbered(51)))


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_split_with_nothing_left_is_refused(split):
    source = rows(Row("x y z", "a"), Row("x y z", "b"), dev=(Row("x y z", "a"),), test=(Row("x y z", "a"),))
    kept = tuple(replace(row, text="x") for row in getattr(source, split))
    with pytest.raises(DataError, match=f"here: no text is left in {split}; there must be at least one"):
        dataset(replace(source, **{split: kept}), longer_than=2)


def test_a_label_whose_training_texts_are_all_dropped_is_refused():
    with pytest.raises(DataError, match="no training text with label 'b' is left"):
        dataset(rows(Row("x y", "a"), Row("x", "b"), dev=(Row("x y", "a"),), test=(Row("x y", "a"),)), longer_than=1)


CHANGES = [
    {"train": (Row("one two three ", "a"), Row("four five", "b"))},
    {"train": (Row("one two three", "b"), Row("four five", "a"))},
    {"train": (Row("one two three", "a", "q"), Row("four five", "b"))},
    {"train": (Row("one two three", "a", rationale=()), Row("four five", "b"))},
    {"train": (Row("one two three", "a", rationale=((0, 1),)), Row("four five", "b"))},
    {"train": (Row("four five", "b"), Row("one two three", "a"))},
    {"dev": (Row("fine", "b"),)},
    {"dev": (Row("bad", "b"),), "test": (Row("fine", "a"),)},
    {"train": (Row("one two three", "a"),), "dev": (Row("four five", "b"), Row("fine", "a"))},
    {"labels": ("b", "a")},
    {"task": "nli"},
]


def test_the_fingerprint_changes_with_every_part_of_the_content():
    def hashed(source):
        return fingerprint_of(source, source.labels or ("a", "b"))

    found = {hashed(rows())} | {hashed(replace(rows(), **change)) for change in CHANGES}
    assert len(found) == len(CHANGES) + 1
    assert all(len(value) == 64 for value in found)


def test_the_fingerprint_knows_neither_name_nor_notes_nor_cutting():
    first = dataset(rows()).fingerprint
    assert dataset(replace(rows(), name="there", notes=("read",))).fingerprint == first
    assert dataset(rows(), words="spaces", lowercase=False, max_tokens=1, digits="map").fingerprint == first


def test_control_characters_do_no_harm():
    found = dataset(rows(Row("a\x00b\x07 \x1b[0m", "a"), Row("\ufeff\u202e", "b")), sentences=True)
    assert found.train[0].tokens == ("a", "\x00", "b", "\x07", "\x1b", "[", "0m")
    assert found.train[1].tokens


@given(
    st.text(alphabet="aB'. é\u0130\n\x00💯9", max_size=30), st.data(), st.sampled_from(["punctuation", "alphanumeric"])
)
def test_a_token_is_in_the_rationale_just_if_it_shares_a_character_with_a_marked_word(text, data, words):
    _, spans = WordTokenizer.from_settings(TextSettings(words=words, digits="map")).split(text)
    count = len(text.split(" "))
    ends = st.tuples(st.integers(0, count), st.integers(0, count)).map(lambda pair: tuple(sorted(pair)))
    rationale = data.draw(st.lists(ends, max_size=3))
    word_of, number = [], 0
    for character in text:
        word_of.append(None if character == " " else number)
        number += character == " "
    marked = {
        place for place, word in enumerate(word_of) if any(a <= word < b for a, b in rationale if word is not None)
    }
    expected = tuple(n for n, (start, end) in enumerate(spans) if marked & set(range(start, end)))
    assert rationale_positions(text, rationale, spans) == expected


@pytest.mark.parametrize("span", [(0, 0), (1, 1), (2, 2)])
def test_an_empty_span_marks_nothing(span):
    assert rationale_positions("a b", [span], [(0, 1), (2, 3)]) == ()


def test_arguments_are_left_as_they_were():
    source = rows(Row("x", "a"), Row("", "b"), Row("y", "b"))
    before = replace(source)
    dataset(source, train_limit=2, only_labels=("a", "b"))
    assert source == before
