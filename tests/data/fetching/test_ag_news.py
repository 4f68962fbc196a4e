import csv

import pytest

from heedful.data.fetching.ag_news import clean, read, read_titled


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("yesterday #39;s close \\$5", "yesterday's close $5"),
        ("the Schrders #39; home", "the Schrders ' home"),
        ('Co. &lt;A HREF="x"&gt;CL.N&lt;/A&gt; will', "Co. CL.N will"),
        ("a &amp; b, AT amp;T", "a & b, AT &T"),
        ("Don #146;t #151; say #8212; it", "Don't - say #8212; it"),
        ("India News  gt; here", "India News gt; here"),
    ],
)
def test_escapes_and_mark_up_are_cleaned(raw, cleaned):
    assert clean(raw) == cleaned


@pytest.fixture
def files(tmp_path):
    for part, count in (("train", 80), ("test", 8)):
        with (tmp_path / part).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows((n % 4 + 1, f"Title {n}", f"{part} story, number {n}") for n in range(count))
            if part == "train":
                csv.writer(file).writerow((1, "Title", "TEST story, number 0"))
    return {"train": tmp_path / "train", "test": tmp_path / "test"}


def test_world_and_business_are_kept_and_articles_of_the_test_set_left_out_of_train(files):
    splits = read(files)
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 34, "dev": 6, "test": 4}
    assert splits["test"][1] == {"text": "test story, number 2", "title": "Title 2", "label": 1}
    assert not any("TEST" in row["text"] for row in splits["train"] + splits["dev"])


def test_the_title_may_come_first(files):
    assert read_titled(files)["test"][0] == {"text": "Title 0 test story, number 0", "label": 0}
