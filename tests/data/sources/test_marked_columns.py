"""Columns of marks in the user's own files, from the file to the tokens."""

import csv
import json

import pytest

from heedful.data import load
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings

TEXTS = ("Not a bad film, really.", "A dull story", "Good fun for all", "Bad from start to end")


def written(folder, columns, name="own.csv", times=5):
    """A file of the same four texts over and over, with these columns of marks."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", *columns])
        for number in range(4 * times):
            marks = [values[number % 4] for values in columns.values()]
            writer.writerow([f"{TEXTS[number % 4]} {number}", "ab"[number % 2], *marks])
    return path


def dataset(path, **settings):
    return load(DataSettings(source=str(path), **settings), TextSettings())


def marked(dataset):
    """The words that each annotator marked, by the first word of the text."""
    return {
        example.tokens[0]: [[example.tokens[place] for place in own] for own in example.annotators]
        for example in dataset.train + dataset.dev + dataset.test
    }


WANTED = {"not": [["not", "bad"]], "a": [["dull"]], "good": [["good", "fun"]], "bad": []}


@pytest.mark.parametrize(
    "values",
    [
        ["[[0, 3], [6, 9]]", "2-6", "0:8", ""],
        ["0, 2", "1", "0 1", ""],
        ["Not | bad", "dull", "good fun", ""],
        ["<mark>Not</mark> a <mark>bad</mark> film, really.", "a **dull** story", "[[Good fun]] for all", ""],
    ],
)
def test_marks_in_any_form_reach_the_tokens(tmp_path, values):
    loaded = dataset(written(tmp_path, {"why": values}), rationale="why")
    assert marked(loaded) == WANTED
    unmarked = next(example for example in loaded.train if example.tokens[0] == "bad")
    assert unmarked.rationale is None
    assert any(note.startswith("marks are column 'why'") and "15 of 20 texts" in note for note in loaded.notes)


def test_several_columns_are_several_annotators(tmp_path):
    path = written(tmp_path, {"ann": ["0 2", "1", "0", ""], "ben": ["2", "", "1", ""]})
    loaded = dataset(path, rationale="ann, ben")
    assert marked(loaded) == {"not": [["not", "bad"], ["bad"]], "a": [["dull"]], "good": [["good"], ["fun"]], "bad": []}
    good = next(example for example in loaded.train if example.tokens[0] == "good")
    assert good.rationale == (0, 1)


def test_a_column_called_rationale_is_read_whatever_its_form(tmp_path):
    words = dataset(written(tmp_path, {"rationale": ["bad film", "dull", "fun", ""]}))
    assert marked(words)["not"] == [["bad", "film"]]
    spans = dataset(written(tmp_path, {"rationale": ["[[2, 3]]", "[[1, 2]]", "[[0, 1]]", "[]"]}))
    assert marked(spans) == {"not": [["bad"]], "a": [["dull"]], "good": [["good"]], "bad": [[]]}


def test_how_marks_are_written_is_told_from_train(tmp_path):
    """By itself the test file could be flags."""
    written(tmp_path / "set", {"why": ["0 2", "1", "0 1", ""]}, "train.csv")
    rows = [{"text": "so bad", "label": "a", "why": [0, 1]}, {"text": "no", "label": "b", "why": [0]}]
    (tmp_path / "set" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    loaded = dataset(tmp_path / "set", rationale="why")
    assert [example.rationale for example in loaded.test] == [(0, 1), (0,)]
    assert any(
        note.startswith("test: marks are column 'why', read as the numbers of marked words") for note in loaded.notes
    )


def test_marks_belong_to_the_content(tmp_path):
    plain, other = (
        dataset(written(tmp_path, {"why": [value, "1", "0", ""]}), rationale="why").fingerprint for value in ("0", "1")
    )
    without = dataset(written(tmp_path, {"why": ["0", "1", "0", ""]})).fingerprint
    assert len({plain, other, without}) == 3


@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ("whi", DataError, r"--rationale names column 'whi', which is not there\. Did you mean --rationale why\?"),
        ("why,nobody", DataError, "--rationale names column 'nobody', which is not there"),
        ("text", SettingError, "--rationale must name a column of marks; 'text' holds texts"),
        ("why,why", SettingError, "--rationale must name each column once"),
    ],
)
def test_a_wrong_column_is_refused(tmp_path, named, error, message):
    path = written(tmp_path, {"why": ["0", "1", "0", ""]})
    with pytest.raises(error, match=message):
        dataset(path, rationale=named)


def test_marks_outside_of_the_text_are_counted_and_too_many_refused(tmp_path):
    some = dataset(written(tmp_path, {"why": ["0, 99", "1", "0", "2"]}), rationale="why")
    assert any("5 of 25 marks in column 'why' are nowhere in their text" in note for note in some.notes)
    with pytest.raises(DataError, match=r"15 of 20 marks are nowhere in their text \(first: .*own.csv, line 2\)"):
        dataset(written(tmp_path, {"why": ["90", "91", "92", "2"]}), rationale="why")


def test_all_files_must_have_the_column(tmp_path):
    written(tmp_path / "set", {"why": ["0 2", "1", "0 1", ""]}, "train.csv")
    written(tmp_path / "set", {}, "test.csv")
    with pytest.raises(DataError, match="test.csv: there is no column 'why' for the rationale"):
        dataset(tmp_path / "set", rationale="why")


def test_generated_data_has_no_such_column():
    with pytest.raises(SettingError, match="--rationale names a column, but mock-1 is generated"):
        dataset("mock-1", rationale="why")
