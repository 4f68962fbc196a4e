from heedful.data.fetching.sst import read, read_tree


def test_neutral_sentences_are_left_out_and_brackets_are_written_as_such():
    assert read_tree("(2 (2 It) (2 is))") is None
    row = read_tree("(1 (2 -LRB-) (1 (2 a\\/b) (0 bad)) (2 -RRB-))")
    assert (row["text"], row["label"], row["fine_label"], row["token_sentiment"]) == ("( a/b bad )", 0, 1, [2, 2, 0, 2])


def test_a_token_with_a_space_keeps_its_first_part():
    assert read_tree("(3 (2 8\xa01\\/2) (3 good))")["text"] == "8 good"


def test_each_split_is_a_file(tmp_path):
    files = {}
    for split, label in (("train", 4), ("dev", 0), ("test", 3)):
        files[split] = tmp_path / split
        files[split].write_text(f"({label} (2 a) (2 b))\n(2 (2 c) (2 d))\n", encoding="utf-8")
    assert {split: [row["label"] for row in rows] for split, rows in read(files).items()} == {
        "train": [1],
        "dev": [0],
        "test": [1],
    }
