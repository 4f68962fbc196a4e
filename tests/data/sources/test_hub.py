import sys

import pytest

from heedful.data import load
from heedful.data.sources.hub import address
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings

TEXT = TextSettings()


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    for name, value in {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "home"),
        "HF_DATASETS_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    library = pytest.importorskip("datasets", reason="needs the hf extra")
    # The library reads its environment once, when first imported.
    monkeypatch.setattr(library.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    library.disable_progress_bars()


def dataset(source, **settings):
    return load(DataSettings(source=f"hub:{source}", **settings), TEXT)


def saved(path, **splits):
    import datasets

    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["pos", "neg"]),
            "stars": datasets.Value("int64"),
        }
    )
    parts = {
        split: datasets.Dataset.from_dict(
            {
                "text": [f"{split} {number}" for number in range(count)],
                "label": [number % 2 for number in range(count)],
                "stars": [number % 3 + 3 for number in range(count)],
            },
            features=features,
        )
        for split, count in splits.items()
    }
    datasets.DatasetDict(parts).save_to_disk(str(path))
    return path


def test_a_saved_set_is_read_with_its_splits_and_label_names_in_order(tmp_path):
    loaded = dataset(saved(tmp_path / "set", train=11, validation=5, test=7, unsupervised=3))
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (11, 5, 7)
    assert (loaded.name, loaded.labels) == ("set", ("pos", "neg"))
    assert [example.label for example in loaded.dev] == [0, 1, 0, 1, 0]
    assert loaded.notes[-1] == "splits not read: unsupervised"


def test_a_saved_set_without_splits_is_for_training(tmp_path):
    import datasets

    datasets.Dataset.from_dict({"text": ["x", "y"] * 10, "label": ["a", "b"] * 10}).save_to_disk(str(tmp_path / "one"))
    assert len(dataset(tmp_path / "one").train) == 14


def test_a_folder_of_files_goes_through_the_library(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "train.csv").write_text("text,label\n" + "a b,1\nc d,0\n" * 10, encoding="utf-8")
    loaded = dataset(folder)
    assert loaded.labels == ("0", "1")
    assert len(loaded.train) == 14


def test_a_set_without_training_texts_is_refused(tmp_path):
    with pytest.raises(DataError, match="must have a split 'train'; it has: test, other"):
        dataset(saved(tmp_path / "set", test=5, other=3))


def test_a_row_is_named_by_set_split_and_number(tmp_path):
    import datasets

    parts = datasets.Dataset.from_dict({"text": ["x", "y", "z"], "label": ["a", "b", "a"], "n": [1, 2, 3]})
    parts.save_to_disk(str(tmp_path / "set"))
    with pytest.raises(DataError, match=r"\(train\), row 1: column 'n' must be a string; it is 1"):
        dataset(tmp_path / "set", text="n")


@pytest.mark.parametrize("name", ["nobody/nothing", "nobody/nothing:config"])
def test_what_cannot_be_reached_is_named(name):
    with pytest.raises(DataError, match="hub:nobody/nothing cannot be loaded: .*(reach|cache)"):
        dataset(name)


def test_an_unknown_configuration_is_named(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "train.csv").write_text("text,label\na b,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be loaded: BuilderConfig 'other' not found"):
        dataset(f"{folder}:other")


def test_what_is_no_name_is_refused_at_once(tmp_path, monkeypatch):
    for name in ["", ":", "::", ":x", "../nowhere", "a/b/c", "a//b", "/", "a b", ".", "..", "-x", "a/..", "~", "x\n"]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("heedful.data.sources.hub.MOST_FILES", 0)
        monkeypatch.setattr("datasets.load_dataset", lambda *_: pytest.fail("the library was asked"))
        (tmp_path / "file").touch()
        with pytest.raises((SettingError, DataError), match="needs a name after it|holds more than 0 files"):
            dataset(name)


def test_what_cannot_be_a_path_is_refused():
    for name in ["~nouser/set", "x" * 300]:
        with pytest.raises(DataError, match="cannot be a path"):
            address(f"hub:{name}")


def test_the_library_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SettingError, match=r"needs the datasets library. Install it: pip install 'heedful\[hf\]'"):
        dataset("owner/name")
