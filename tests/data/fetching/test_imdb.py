import io
import tarfile
from collections import Counter

import pytest

from heedful.data.fetching import imdb


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(imdb, "DEV_OF_CLASS", 2)
    monkeypatch.setattr(imdb, "SMALL", {"train": 4, "dev": 2, "test": 6})
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for part in ("train", "test"):
            for sentiment, rating in (("pos", 9), ("neg", 2), ("unsup", 0)):
                for number in range(8):
                    long = " word" * 400 if number == 0 else ""
                    content = f"So<br /><br />it isn't {sentiment}, {number}.{long}".encode()
                    member = tarfile.TarInfo(f"aclImdb/{part}/{sentiment}/{number}_{rating}.txt")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    return {"archive": tmp_path / "a.tgz"}


def test_reviews_are_split_and_balanced_and_the_unlabelled_left_out(files):
    splits = imdb.read(files)
    assert {split: Counter(row["label"] for row in rows) for split, rows in splits.items()} == {
        "train": {0: 6, 1: 6},
        "dev": {0: 2, 1: 2},
        "test": {0: 8, 1: 8},
    }
    assert len({row["id"] for rows in splits.values() for row in rows}) == 32


def test_a_review_has_its_rating_and_its_number_of_words(files):
    row = next(row for row in imdb.read(files)["test"] if row["id"] == "test/pos/3_9")
    assert row == {"text": "So it isn't pos, 3.", "label": 1, "rating": 9, "id": "test/pos/3_9", "n_words": 5}


def test_the_order_is_the_same_every_time(files):
    first, second = imdb.read(files), imdb.read(files)
    assert first == second
    # The order of the set that the study pages were computed on, as far as these few names can show it.
    assert [row["id"] for row in first["dev"]] == ["train/neg/2_2", "train/pos/6_9", "train/neg/1_2", "train/pos/0_9"]


def test_the_small_set_is_a_balanced_sample_of_short_reviews(files):
    whole, small = imdb.read(files), imdb.read_small(files)
    for split, rows in small.items():
        assert len(rows) == imdb.SMALL[split]
        assert Counter(row["label"] for row in rows) == {0: len(rows) // 2, 1: len(rows) // 2}
        assert all(row in whole[split] and row["n_words"] < 400 for row in rows)
