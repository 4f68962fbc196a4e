import io
import tarfile
from collections import Counter

import pytest

from heedful.data.fetching import newsgroups
from heedful.data.fetching.newsgroups import GROUPS, read_all, read_posts, read_sports, read_topics

POST = """From: a@b.org
Subject: Re: it

b@c.org writes:
> as before

In  my view {n} of {group}.

--
A signature
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(newsgroups, "TOPICS_DEV", 3)
    monkeypatch.setattr(newsgroups, "TOPICS_TEST", 4)
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for part, count in (("train", 10), ("test", 5)):
            for group in GROUPS:
                for number in range(count):
                    text = POST.format(n=f"{part}{number}", group=group) if number else "From: a@b.org\n\n"
                    content = text.encode("latin-1")
                    member = tarfile.TarInfo(f"20news-bydate-{part}/{group}/{number}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    return {"archive": tmp_path / "a.tgz"}


def test_headers_footers_and_quotes_are_removed(files):
    texts = {post.text for post in read_posts(files["archive"]) if post.group == "sci.med" and post.part == "test"}
    assert texts == {"", *(f"In  my view test{n} of sci.med." for n in range(1, 5))}


def test_the_official_split_is_kept_and_a_tenth_of_train_is_dev(files):
    splits = read_all(files)
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 162, "dev": 18, "test": 80}
    assert all(row["text"].startswith("In my view train") for row in (*splits["train"], *splits["dev"]))
    assert all(GROUPS[row["label"]] == row["id"].split("/")[0] for row in splits["test"])


def test_sports_are_two_groups_split_in_proportion(files):
    splits = read_sports(files)
    assert {split: Counter(row["label"] for row in rows) for split, rows in splits.items()} == {
        "train": {0: 8, 1: 8},
        "dev": {0: 2, 1: 2},
        "test": {0: 3, 1: 3},
    }
    assert all(row["text"].endswith(newsgroups.SPORTS[row["label"]] + ".") for row in splits["train"])


def test_topics_are_three_groups_of_fixed_dev_and_test_sizes(files):
    splits = read_topics(files)
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 32, "dev": 3, "test": 4}
    assert {row["label"] for row in splits["train"]} == {0, 1, 2}


def test_no_post_is_in_two_splits(files):
    for read in (read_all, read_sports, read_topics):
        texts = [row["text"] for rows in read(files).values() for row in rows]
        assert len(set(texts)) == len(texts)
