from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.labeled_texts import (
    Dropped,
    LabeledTexts,
    count_conflicting,
    count_overlaps,
    count_repeated,
    fingerprint_of,
    overlap_notes,
    read_dataset,
    sort_labels,
    to_dataset,
)
from heedful.data.labeled_texts import LabeledText as Text
from heedful.data.rationales import characters_of, marked_tokens
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings
from heedful.types import Example


def examples(*texts):
    return [Example(tuple(text.split()), 0) for text in texts]


def test_a_text_with_another_query_is_another_text():
    first, second = Example(("a",), 0, query=("q",)), Example(("a",), 0, query=("r",))
    assert count_repeated([first, second]) == 0
    assert count_overlaps({"train": [first], "test": [second, first]}) == {("train", "test"): 1}


def test_overlaps_are_counted_for_each_two_splits():
    parts = {"train": examples("a", "b b"), "dev": examples("c", "a", "a"), "test": examples("b b", "c", "d", "c")}
    assert count_overlaps(parts) == {("train", "dev"): 2, ("train", "test"): 1, ("dev", "test"): 2}
    assert overlap_notes(parts) == [
        "2 of the 3 texts of dev are also in train: scores on dev may be too good",
        "1 of the 4 texts of test are also in train: scores on test may be too good",
        "2 of the 4 texts of test are also in dev",
    ]
    assert overlap_notes({"train": examples("a"), "test": examples("b")}) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=9))
def test_counts_are_those_of_a_plain_loop(pairs):
    made = [Example((token,), label) for token, label in pairs]
    counts = Counter(token for token, _ in pairs)
    assert count_repeated(made) == sum(count - 1 for count in counts.values())
    assert count_conflicting(made) == sum(len({label for t, label in pairs if t == token}) > 1 for token in counts)


DATA, TEXT = DataSettings(source="here"), TextSettings()


def texts(*train, **fields):
    parts = {
        "train": train or (Text("one two three", "a"), Text("four five", "b")),
        "dev": (Text("fine", "a"),),
        "test": (Text("bad", "b"),),
    }
    return LabeledTexts(**{"name": "here", "task": "classification", **parts, **fields})


def dataset(source, sentences=False, **settings):
    data = {name: value for name, value in settings.items() if name in DataSettings.model_fields}
    text = {name: value for name, value in settings.items() if name in TextSettings.model_fields}
    return to_dataset(source, DataSettings(source="here", **data), TextSettings(**text), sentences=sentences)


def test_a_text_becomes_tokens_a_label_number_and_keeps_its_text():
    first, second = dataset(texts(Text("It's FINE", "b"), Text("No", "a", rationale=((0, 1),)))).train
    assert (first.tokens, first.label, first.rationale, first.text) == (("it", "'", "s", "fine"), 1, None, "It's FINE")
    assert (second.tokens, second.label, second.rationale) == (("no",), 0, (0,))


def test_marks_of_annotators_become_tokens_and_their_union_the_rationale():
    source = texts(Text("It's so FINE", "b", marks=(((0, 4),), ((8, 12),), ())), Text("No", "a", rationale=((0, 1),)))
    first, second = dataset(source).train
    assert (first.annotators, first.rationale) == (((0, 1, 2), (4,), ()), (0, 1, 2, 4))
    assert (second.annotators, second.rationale) == (((0,),), (0,))
    assert [example.annotators for example in dataset(replace(source, is_generated=True)).train[1:]] == [()]


def test_the_fingerprint_of_texts_without_marks_of_annotators_is_that_of_before():
    """Of texts with a rationale, too: studies find their runs by it."""
    plain = texts(Text("one two three", "a", rationale=((0, 1),)), Text("four five", "b"))
    assert dataset(plain).fingerprint == "4efd83a9095a1f6b70346ef0fa6947d45735d43ce54dc447ee64008c03155ec9"
    marked = replace(plain, train=(replace(plain.train[0], marks=(((0, 3),),)), plain.train[1]))
    assert dataset(marked).fingerprint != dataset(plain).fingerprint


def test_tokens_of_the_same_word_are_one_object():
    first, second = dataset(texts(Text("same words", "a"), Text("same", "b"))).train
    assert first.tokens[0] is second.tokens[0]


def test_empty_texts_are_dropped_and_counted():
    source = texts(
        Text("", "a"), Text(" \t\n\u00a0", "b"), Text("x", "a"), Text("y", "b"), dev=(Text("", "a"), Text("z", "b"))
    )
    loaded = dataset(source)
    assert [example.text for example in loaded.train] == ["x", "y"]
    assert loaded.notes == ("2 empty texts dropped from train", "1 empty texts dropped from dev")


def test_what_is_empty_depends_on_how_texts_are_cut():
    source = texts(Text("!?", "a"), Text("x", "a"), Text("y", "b"))
    assert len(dataset(source).train) == 3
    assert dataset(source, words="alphanumeric").notes == ("1 empty texts dropped from train",)


def test_queries_are_cut_and_empty_ones_counted_where_the_task_has_them():
    parts = {"dev": (Text("x", "a", "q"),), "test": (Text("y", "b", "q"),), "task": "nli"}
    source = texts(Text("x", "a", "What, now?"), Text("y", "b", " "), Text("z", "b", "so"), **parts)
    loaded = dataset(source)
    assert [example.query for example in loaded.train] == [("what", ",", "now", "?"), ("so",)]
    assert loaded.notes[0] == "1 texts with an empty query dropped from train"
    assert loaded.task == "nli"


def test_length_limits_are_strict_and_counted():
    source = texts(
        *(Text("w " * length, label) for length in (2, 3, 4, 5) for label in "ab"), dev=(Text("w w w", "a"),)
    )
    source = replace(source, test=(Text("w w w w", "b"), Text("w", "b")))
    loaded = dataset(source, longer_than=2, shorter_than=5)
    assert [len(example.tokens) for example in loaded.train] == [3, 3, 4, 4]
    assert {note for note in loaded.notes if "dropped" in note} == {
        "2 texts of 2 tokens or fewer dropped from train",
        "2 texts of 5 tokens or more dropped from train",
        "1 texts of 2 tokens or fewer dropped from test",
    }


def test_what_was_dropped_is_given_beside_the_notes():
    source = texts(
        Text("", "a"), Text("x", "a"), Text("y", "b"), dropped=(Dropped(3, "rows without a label", "a.csv"),)
    )
    loaded, dropped = read_dataset(source, DATA, TEXT)
    assert dropped == (Dropped(3, "rows without a label", "a.csv"), Dropped(1, "empty texts", "train"))
    assert loaded.notes == ("3 rows without a label dropped from a.csv", "1 empty texts dropped from train")
    assert loaded == to_dataset(source, DATA, TEXT)


def test_texts_in_two_splits_are_noted_unless_they_are_generated():
    source = texts(test=(Text("Four  five", "b"), Text("bad", "a")))
    assert dataset(source).notes == ("1 of the 2 texts of test are also in train: scores on test may be too good",)
    assert dataset(replace(source, is_generated=True)).notes == ()


def test_long_texts_are_cut_and_counted_with_rationale_and_sentences():
    long = Text("One two. Three four. Five", "a", rationale=((1, 2), (3, 5)))
    loaded = dataset(texts(long, Text("short", "b")), max_tokens=5, sentences=True)
    example = loaded.train[0]
    assert example.tokens == ("one", "two", ".", "three", "four")
    assert example.rationale == (1, 2, 4)
    assert example.sentences == (0, 3)
    assert example.text == long.text
    assert loaded.notes == ("1 texts cut to 5 tokens in train",)


def test_length_limits_look_at_the_uncut_text():
    source = texts(Text("w w w", "a"), Text("w w w", "b"), dev=(Text("w w w", "a"),), test=(Text("w w w", "a"),))
    assert len(dataset(source, max_tokens=2, longer_than=2).train) == 2


def many(a, b, **fields):
    return texts(*(Text(f"text{number}", "a" if number < a else "b") for number in range(a + b)), **fields)


def test_a_limit_keeps_the_proportion_of_labels_and_the_order_of_the_source():
    loaded = dataset(many(40, 20), train_limit=15)
    assert Counter(example.label for example in loaded.train) == {0: 10, 1: 5}
    numbers = [int(example.text.removeprefix("text")) for example in loaded.train]
    assert numbers == sorted(numbers)


def test_a_smaller_limit_gives_a_part_of_a_larger_one():
    small, large = (set(dataset(many(40, 20), train_limit=limit).train) for limit in (7, 30))
    assert small < large


def test_the_limit_counts_texts_that_are_kept():
    source = texts(*(Text("w " * (1 + number % 2), "ab"[number % 4 // 2]) for number in range(40)))
    loaded = dataset(replace(source, dev=source.train, test=source.train), longer_than=1, train_limit=13, test_limit=5)
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (13, 5, 5)


def test_a_limit_below_the_number_of_labels_is_refused():
    with pytest.raises(
        DataError, match="no training text with label '.' is left. Give more texts, or change --set data.train_limit"
    ):
        dataset(many(4, 3), train_limit=1)


def test_only_the_labels_asked_for_stay():
    source = texts(
        *(Text("x", label) for label in "abcab"), dev=(Text("x", "c"), Text("x", "a")), test=(Text("x", "b"),)
    )
    loaded = dataset(source, only_labels=("b", "a"))
    assert loaded.labels == ("a", "b")
    assert (len(loaded.train), len(loaded.dev)) == (4, 1)
    assert loaded.notes[0] == "only labels b, a kept: 4 of 5 in train, 1 of 2 in dev, 1 of 1 in test"


def test_an_unknown_label_asked_for_is_answered_with_the_known():
    with pytest.raises(SettingError, match="data.only_labels must name labels of here; unknown: 'z'. It has: a, b."):
        dataset(texts(), only_labels=("a", "z"))


def test_labels_are_sorted_numbers_by_value():
    source = texts(*(Text("x", label) for label in ("10", "9", "-1")), dev=(Text("x", "9"),), test=(Text("x", "9"),))
    assert dataset(source).labels == ("-1", "9", "10")
    assert sort_labels(["b", "10", "9"]) == ["10", "9", "b"]
    assert sort_labels(["01", "1"]) == ["01", "1"]
    assert sort_labels(["9" * 5000, "1"]) == ["1", "9" * 5000]


def test_the_source_may_order_the_labels_and_absent_ones_are_left_out():
    assert dataset(texts(labels=("c", "b", "a"))).labels == ("b", "a")


def test_one_label_in_training_is_refused():
    for train, present in [((Text("x", "a"), Text("y", "a")), "only 'a'"), ((), "none")]:
        with pytest.raises(
            DataError, match=f"here: the training texts must have at least two labels; they have {present}"
        ):
            dataset(replace(texts(), train=train))


def test_a_label_that_training_lacks_is_refused():
    for split in ["dev", "test"]:
        with pytest.raises(
            DataError, match=rf"label 'z' is on 2 texts of {split} and on none of train \(labels there: a, b\)"
        ):
            dataset(texts(**{split: (Text("x", "z"), Text("y", "z"), Text("x", "a"))}))


def test_a_column_that_is_no_class_is_refused():
    def numbered(count):
        return [Text("x", str(number)) for number in range(count)]

    assert len(dataset(texts(*numbered(50), dev=(Text("x", "1"),), test=(Text("x", "1"),))).labels) == 50
    with pytest.raises(
        DataError, match="the label must be a class, but the 51 training texts have 51 different labels"
    ):
        dataset(texts(*numbered(51)))


def test_a_split_with_nothing_left_is_refused():
    for split in ["train", "dev", "test"]:
        source = texts(Text("x y z", "a"), Text("x y z", "b"), dev=(Text("x y z", "a"),), test=(Text("x y z", "a"),))
        kept = tuple(replace(text, text="x") for text in getattr(source, split))
        with pytest.raises(DataError, match=f"here: no text is left in {split}; there must be at least one"):
            dataset(replace(source, **{split: kept}), longer_than=2)


CHANGES = [
    {"train": (Text("one two three ", "a"), Text("four five", "b"))},
    {"train": (Text("one two three", "b"), Text("four five", "a"))},
    {"train": (Text("one two three", "a", "q"), Text("four five", "b"))},
    {"train": (Text("one two three", "a", rationale=()), Text("four five", "b"))},
    {"train": (Text("one two three", "a", rationale=((0, 1),)), Text("four five", "b"))},
    {"train": (Text("one two three", "a", marks=(((0, 1),),)), Text("four five", "b"))},
    {"train": (Text("four five", "b"), Text("one two three", "a"))},
    {"dev": (Text("fine", "b"),)},
    {"dev": (Text("bad", "b"),), "test": (Text("fine", "a"),)},
    {"train": (Text("one two three", "a"),), "dev": (Text("four five", "b"), Text("fine", "a"))},
    {"labels": ("b", "a")},
    {"task": "nli"},
]


def test_the_fingerprint_changes_with_every_part_of_the_content():
    def hashed(source):
        return fingerprint_of(source, source.labels or ("a", "b"))

    loaded = {hashed(texts())} | {hashed(replace(texts(), **change)) for change in CHANGES}
    assert len(loaded) == len(CHANGES) + 1
    assert all(len(value) == 64 for value in loaded)


def test_the_fingerprint_knows_neither_name_nor_notes_nor_cutting():
    first = dataset(texts()).fingerprint
    assert dataset(replace(texts(), name="there", notes=("read",))).fingerprint == first
    assert dataset(texts(), words="spaces", lowercase=False, max_tokens=1, digits="map").fingerprint == first


def test_control_characters_do_no_harm():
    loaded = dataset(texts(Text("a\x00b\x07 \x1b[0m", "a"), Text("\ufeff\u202e", "b")), sentences=True)
    assert loaded.train[0].tokens == ("a", "\x00", "b", "\x07", "\x1b", "[", "0m")
    assert loaded.train[1].tokens


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
    assert marked_tokens(characters_of(text, rationale), spans) == expected
