import json

from heedful.data.labeled_texts import Dropped, LabeledText, LabeledTexts
from heedful.data.summary import summarize
from heedful.settings import DataSettings, TextSettings

TRAIN = [LabeledText("w " * (n + 1), "ab"[n % 2]) for n in range(40)]


def summary(**changes):
    dev = [LabeledText("w", "b"), LabeledText("x", "a"), LabeledText("x", "b"), LabeledText("", "a")]
    test = [LabeledText("x", "a"), LabeledText("w w", "b"), LabeledText("y z", "a")]
    dropped = (Dropped(2, "rows without a label", "a.csv"),)
    source = LabeledTexts("here", "classification", TRAIN, dev, test, dropped=dropped)
    return summarize(source, DataSettings(source="here"), TextSettings(**changes))


def test_lengths_are_counted_in_words():
    train = summary().splits["train"]
    assert (train.texts, train.words) == (40, {"median": 20.5, "95 %": 38, "longest": 40})
    assert summary(max_tokens=10).splits["train"].words["longest"] == 10


def test_labels_are_counted_split_by_split():
    assert {name: dict(split.labels) for name, split in summary().splits.items()} == {
        "train": {"a": 20, "b": 20},
        "dev": {"a": 1, "b": 2},
        "test": {"a": 2, "b": 1},
    }


def test_duplicates_are_counted_within_and_across_splits():
    splits = summary().splits
    assert [split.repeated for split in splits.values()] == [0, 1, 0]
    assert [dict(split.also_in) for split in splits.values()] == [{}, {"train": 1}, {"train": 1, "dev": 1}]
    assert summary().conflicting == 2  # "w" and "x"


def test_what_is_dropped_is_listed_with_the_reason():
    assert summary(shorter_than=40).dropped == (
        Dropped(2, "rows without a label", "a.csv"),
        Dropped(1, "texts of 40 tokens or more", "train"),
        Dropped(1, "empty texts", "dev"),
    )


def test_all_of_it_is_json():
    document = json.loads(json.dumps(summary().as_json()))
    assert document["splits"]["train"]["words"] == {"median": 20.5, "95 %": 38, "longest": 40}
    assert document["dropped"][0] == {"count": 2, "what": "rows without a label", "from": "a.csv"}
    assert (document["labels"], document["texts_with_two_labels"]) == (["a", "b"], 2)
    assert document["notes"][0] == "2 rows without a label dropped from a.csv"
