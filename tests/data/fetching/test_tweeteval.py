import pytest

from heedful.data.fetching.tweeteval import read


@pytest.fixture
def files(tmp_path):
    for name in ("train", "val", "test"):
        (tmp_path / f"{name}_text").write_text(f"{name} one \u2028 line\n\n three \n", encoding="utf-8")
        (tmp_path / f"{name}_labels").write_text("0\n1\n0\n", encoding="utf-8")
    return {path.name: path for path in tmp_path.iterdir()}


def test_texts_and_labels_are_joined_by_line(files):
    rows = read(files)["dev"]
    assert rows == [
        {"text": "val one \u2028 line", "label": 0},
        {"text": "", "label": 1},
        {"text": "three", "label": 0},
    ]


def test_a_missing_label_is_noticed(files):
    files["test_labels"].write_text("0\n1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="zip"):
        read(files)
