from collections import Counter

import pytest

from heedful.data.fetching import dbpedia
from heedful.data.fetching.dbpedia import join_words, read


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("It was built in 1861 .\tIn 1977 it burned .", "It was built in 1861. In 1977 it burned."),
        ("the ( so-called ) # 1 , for $ 5", "the (so-called) #1, for $5"),
        ("the boys ' school as 'they ' said", "the boys' school as 'they' said"),
        ("they 're and do n't", "they're and don't"),
    ],
)
def test_words_are_joined_as_they_were_written(words, text):
    assert join_words(words) == text


def test_every_class_is_split_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(dbpedia, "DEV", 2)
    monkeypatch.setattr(dbpedia, "TEST", 3)
    lines = [f'{n % 14},"Text {n} , it is"' for n in range(14 * 9)]
    (tmp_path / "sample.csv").write_text("\n".join(lines), encoding="utf-8")
    splits = read({"sample": tmp_path / "sample.csv"})
    assert {split: set(Counter(row["label"] for row in rows).values()) for split, rows in splits.items()} == {
        "train": {4},
        "dev": {2},
        "test": {3},
    }
    assert len({row["text"] for rows in splits.values() for row in rows}) == 14 * 9
    assert splits["train"] != sorted(splits["train"], key=lambda row: row["label"])
