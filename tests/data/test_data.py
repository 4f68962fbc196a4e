"""What every data set that Heedful makes must keep, and how a source finds its loader."""

import pytest

from heedful.data import DATASETS, load, named_sets
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings

TEXT = TextSettings()


def small(source, *, seed=0, text=TEXT, sentences=False):
    return load(DataSettings(source=source, train_limit=30, test_limit=11, split_seed=seed), text, sentences=sentences)


@pytest.mark.parametrize("source", DATASETS)
def test_labels_are_in_range_and_no_example_is_empty(source):
    dataset = small(source)
    assert (len(dataset.train), len(dataset.dev), len(dataset.test)) == (30, 11, 11)
    assert {example.label for example in dataset.train} == set(range(len(dataset.labels)))
    for example in (*dataset.train, *dataset.dev, *dataset.test):
        assert example.label in range(len(dataset.labels))
        assert example.tokens
        assert example.query == ()
        assert example.text.split() == list(example.tokens)


@pytest.mark.parametrize("source", DATASETS)
def test_rationales_are_inside_the_text_in_order(source):
    for example in small(source).train:
        assert example.rationale
        assert list(example.rationale) == sorted(set(example.rationale))
        assert set(example.rationale) <= set(range(len(example.tokens)))


@pytest.mark.parametrize("source", DATASETS)
def test_the_same_settings_give_the_same_data_and_another_seed_other_data(source):
    first, again, other = small(source), small(source), small(source, seed=1)
    assert first == again
    assert first.fingerprint != other.fingerprint


@pytest.mark.parametrize("source", DATASETS)
def test_the_fingerprint_does_not_know_how_texts_are_cut(source):
    other = TextSettings(words="spaces", lowercase=False, max_tokens=5, min_count=3)
    assert small(source).fingerprint == small(source, text=other).fingerprint


@pytest.mark.parametrize("source", DATASETS)
def test_sentences_are_given_only_when_asked_for(source):
    assert {example.sentences for example in small(source).train} == {()}
    assert {example.sentences for example in small(source, sentences=True).train} == {(0,)}


def test_every_built_in_set_is_described_and_all_differ():
    assert all(entry.description for entry in DATASETS.values())
    assert len({small(source).fingerprint for source in DATASETS}) == len(DATASETS)


@pytest.mark.parametrize("role", ["text", "label", "query"])
def test_a_built_in_set_has_no_columns_to_name(role):
    with pytest.raises(SettingError, match=f"`{role}` names a column, but mock-1 is made by Heedful"):
        load(DataSettings(source="mock-1", **{role: "body"}), TEXT)


def test_a_built_in_set_is_for_classification():
    with pytest.raises(SettingError, match="task must be 'classification' for planted; it is 'nli'"):
        load(DataSettings(source="planted", task="nli"), TEXT)
    assert small("planted").task == "classification"


def test_an_unknown_name_is_answered_with_the_nearest(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    with pytest.raises(
        SettingError, match=r"no such file, and HEEDFUL_DATA is not set\) 'mok-1'\. Did you mean 'mock-1'"
    ):
        load(DataSettings(source="mok-1"), TEXT)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    with pytest.raises(SettingError, match=r"no such file\) 'mok-1'"):
        load(DataSettings(source="mok-1"), TEXT)


@pytest.mark.parametrize("source", ["reviews.csv", "some/folder", "./mock-1"])
def test_what_looks_like_a_path_is_looked_for_as_one(source, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((DataError, SettingError), match="no file or folder|no such file"):
        load(DataSettings(source=source), TEXT)


def test_a_named_set_comes_before_a_folder_of_that_name(monkeypatch, tmp_path):
    rows = "a b,x\nc d,y\n" * 10
    for place, label in (("data", "kept"), ("here", "own")):
        folder = tmp_path / place / "letters"
        folder.mkdir(parents=True)
        (folder / "train.csv").write_text(f"text,label\n{rows}e,{label}\n", encoding="utf-8")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "here")
    assert list(named_sets()) == ["letters"]
    assert load(DataSettings(source="letters"), TEXT).labels == ("kept", "x", "y")
    assert load(DataSettings(source=str(tmp_path / "here" / "letters")), TEXT).labels == ("own", "x", "y")


@pytest.mark.parametrize("changes", [{"positions": "start"}, {"agreement": 0.8}, {"classes": 3}])
def test_what_makes_mock_texts_is_refused_for_other_data(changes):
    with pytest.raises(SettingError, match=f"`{next(iter(changes))}` makes mock texts"):
        load(DataSettings(source="planted", **changes), TextSettings())
