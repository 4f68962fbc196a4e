import zipfile

from heedful.data.fetching.sentence_polarity import read


def test_each_class_is_cut_by_position_with_positives_first(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("pos", "neg"):
            archive.writestr(f"set/rt-polarity.{name}", "".join(f"{name} caf\u00e9 {n} \n" for n in range(20)))
    splits = read({"archive": tmp_path / "a.zip"})
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 32, "dev": 4, "test": 4}
    expected = [f"{name} café {n}" for name in ("pos", "neg") for n in (16, 17)]
    assert [row["text"] for row in splits["dev"]] == expected
    assert [row["label"] for row in splits["test"]] == [1, 1, 0, 0]
