import csv
import json
from collections import Counter

import polars
import pytest

from heedful.data import load
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, Run, TextSettings, key_of

TEXT = TextSettings()


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(count, start=0, labels="aab"):
    return [{"text": f"text {number}", "label": labels[number % len(labels)]} for number in range(start, start + count)]


def dataset(path, **settings):
    return load(DataSettings(source=str(path), **settings), TEXT)


def texts(split):
    return [example.text for example in split]


def test_one_file_is_split_by_the_shares_with_labels_in_proportion(tmp_path):
    loaded = dataset(jsonl(tmp_path / "my.reviews.jsonl", rows(90)))
    assert loaded.name == "my.reviews"
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (63, 9, 18)
    assert sorted(texts(loaded.train + loaded.dev + loaded.test)) == sorted(row["text"] for row in rows(90))
    for split in (loaded.train, loaded.dev, loaded.test):
        assert abs(Counter(example.label for example in split)[0] / len(split) - 2 / 3) < 0.06
    assert loaded.notes[1:] == ("9 train texts moved to dev", "18 train texts moved to test")


def test_the_seed_decides_the_split(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", rows(90))
    first, again, other = (dataset(path, split_seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.fingerprint != other.fingerprint
    assert set(texts(first.test)) != set(texts(other.test))


def test_a_label_of_one_row_goes_to_training(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", [*rows(30), {"text": "rare", "label": "z"}])
    for seed in range(5):
        assert "rare" in texts(dataset(path, split_seed=seed).train)


def test_too_few_rows_to_split_are_refused(tmp_path):
    with pytest.raises(DataError, match="2 rows are too few to take 1 for dev and 1 for test from"):
        dataset(jsonl(tmp_path / "a.jsonl", rows(2)))
    with pytest.raises(DataError, match="20 rows are too few to take 10 for dev and 10 for test from"):
        dataset(jsonl(tmp_path / "a.jsonl", rows(20)), dev_share=0.5, test_share=0.5)


def test_a_share_of_nothing_is_refused_where_the_split_is_missing(tmp_path):
    for split in ["dev", "test"]:
        path = jsonl(tmp_path / "a.jsonl", rows(30))
        with pytest.raises(SettingError, match=f"--set data.{split}_share must be above 0"):
            dataset(path, **{f"{split}_share": 0.0})


def folder_of(path, **splits):
    path.mkdir()
    for split, part in splits.items():
        jsonl(path / f"{split}.jsonl", part)
    return path


@pytest.mark.parametrize("name", ["dev", "valid", "validation", "val", "DEV"])
def test_a_folder_has_a_file_a_split(tmp_path, name):
    folder = folder_of(tmp_path / "set", **{"train": rows(9), name: rows(5, 100), "test": rows(7, 200)})
    loaded = dataset(folder, dev_share=0.0, test_share=0.0)
    assert loaded.name == "set"
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (9, 5, 7)
    assert texts(loaded.dev)[0] == "text 100"
    assert loaded.notes == ("texts are column 'text', labels 'label'",)


def test_what_a_folder_lacks_is_taken_from_training(tmp_path):
    loaded = dataset(folder_of(tmp_path / "no-dev", train=rows(60), test=rows(7, 200)))
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (54, 6, 7)
    assert "6 train texts moved to dev" in loaded.notes
    loaded = dataset(folder_of(tmp_path / "no-test", train=rows(60), dev=rows(7, 200)))
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (48, 7, 12)
    assert "12 train texts moved to test" in loaded.notes


def test_a_folder_without_training_texts_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"must have a file train\{\.jsonl,\.csv,\.tsv,\.parquet\}; it has none"):
        dataset(folder_of(tmp_path / "set", test=rows(7), other=rows(7)))


def test_two_files_for_one_split_are_refused(tmp_path):
    folder = folder_of(tmp_path / "set", train=rows(9), dev=rows(5), valid=rows(5))
    with pytest.raises(DataError, match=r"two files for dev: dev\.jsonl and valid\.jsonl"):
        dataset(folder)


def test_splits_may_have_different_formats_but_need_the_columns(tmp_path):
    folder = folder_of(tmp_path / "set", train=rows(9))
    polars.DataFrame(rows(5)).write_parquet(folder / "dev.parquet")
    (folder / "test.csv").write_text("text,klass\nx,a\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"test\.csv: there is no column 'label' for the label. Its columns are: text, klass"
    ):
        dataset(folder)
    (folder / "test.csv").write_text("label,text\na,x\n", encoding="utf-8")
    assert [len(split) for split in (dataset(folder).train, dataset(folder).dev, dataset(folder).test)] == [9, 5, 1]


def test_the_same_content_has_the_same_fingerprint_wherever_and_however_it_is_kept(tmp_path):
    plain = rows(30)
    here = jsonl(tmp_path / "a.jsonl", plain)
    other = tmp_path / "b.parquet"
    polars.DataFrame(plain).write_parquet(other)
    comma = tmp_path / "c.csv"
    polars.DataFrame(plain).write_csv(comma)
    assert len({dataset(path).fingerprint for path in (here, other, comma)}) == 1
    jsonl(here, [*plain[:-1], {"text": "edited", "label": "a"}])
    assert dataset(here).fingerprint != dataset(other).fingerprint


def meta(folder, content):
    (folder / "meta.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_label_names_of_meta_are_used_for_numbers_of_the_usual_column(tmp_path):
    numbered = [{"text": f"x {n}", "label": n % 2, "stars": n % 3 + 1} for n in range(30)]
    folder = folder_of(tmp_path / "set", train=numbered)
    meta(folder, {"label_names": ["zero", "absent one"]})
    assert dataset(folder).labels == ("zero", "absent one")
    assert dataset(folder, label="label").labels == ("zero", "absent one")
    assert dataset(folder, label="stars").labels == ("1", "2", "3")
    assert dataset(folder, only_labels=("zero", "absent one")).labels == ("zero", "absent one")


def test_label_names_that_do_not_fit_are_left_aside(tmp_path):
    folder = folder_of(tmp_path / "set", train=[{"text": "x", "label": n % 2} for n in range(30)])
    for content in [{"label_names": ["only"]}, {"label_names": ["a", "a"]}, {"label_names": "ab"}, {}, [1]]:
        meta(folder, content)
        assert dataset(folder).labels == ("0", "1")


def test_a_broken_meta_is_named(tmp_path):
    folder = folder_of(tmp_path / "set", train=rows(30))
    meta(folder, "{")
    with pytest.raises(DataError, match=r"meta\.json is not valid JSON"):
        dataset(folder)


def test_rationales_reach_the_tokens(tmp_path):
    marked = [{"text": "It isn't good , is it", "label": n % 2, "rationale": [[1, 3]]} for n in range(20)]
    for example in dataset(jsonl(tmp_path / "a.jsonl", marked)).train:
        assert [example.tokens[position] for position in example.rationale] == ["isn", "'", "t", "good"]


MARKED = ("Not a bad film, really.", "A dull story", "Good fun for all", "Bad from start to end")
WHY = ["0 2", "1", "0 1", ""]


def marked_csv(path, columns, times=5):
    """A file of the same four texts over and over, with these columns of marks."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", *columns])
        for n in range(4 * times):
            marks = [values[n % 4] for values in columns.values()]
            writer.writerow([f"{MARKED[n % 4]} {n}", "ab"[n % 2], *marks])
    return path


def marked_words(loaded):
    """The words that each annotator marked, by the first word of the text."""
    return {
        example.tokens[0]: [[example.tokens[place] for place in own] for own in example.annotators]
        for example in loaded.train + loaded.dev + loaded.test
    }


def test_marks_in_either_form_reach_the_tokens(tmp_path):
    for values in (["[[0, 3], [6, 9]]", "2-6", "0:8", ""], ["0, 2", "1", "0 1", ""]):
        loaded = dataset(marked_csv(tmp_path / "own.csv", {"why": values}), rationale="why")
        assert marked_words(loaded) == {"not": [["not", "bad"]], "a": [["dull"]], "good": [["good", "fun"]], "bad": []}
        assert next(example for example in loaded.train if example.tokens[0] == "bad").rationale is None
        assert any(note.startswith("marks are column 'why'") and "15 of 20 texts" in note for note in loaded.notes)


def test_several_columns_are_several_annotators(tmp_path):
    path = marked_csv(tmp_path / "own.csv", {"ann": ["0 2", "1", "0", ""], "ben": ["2", "", "1", ""]})
    loaded = dataset(path, rationale="ann, ben")
    assert marked_words(loaded) == {
        "not": [["not", "bad"], ["bad"]],
        "a": [["dull"]],
        "good": [["good"], ["fun"]],
        "bad": [],
    }
    assert next(example for example in loaded.train if example.tokens[0] == "good").rationale == (0, 1)


def test_pairs_in_a_column_called_rationale_count_words_whoever_names_it(tmp_path):
    path = marked_csv(tmp_path / "own.csv", {"rationale": ["[[2, 3]]", "[[1, 2]]", "[[0, 1]]", "[]"]})
    assert marked_words(dataset(path)) == {"not": [["bad"]], "a": [["dull"]], "good": [["good"]], "bad": [[]]}
    assert dataset(path) == dataset(path, rationale="rationale")
    numbers = dataset(marked_csv(tmp_path / "own.csv", {"rationale": ["2 3", "1", "1", ""]}))
    assert marked_words(numbers)["not"] == [["bad", "film", ","]]
    characters = dataset(marked_csv(tmp_path / "own.csv", {"rationale": ["6:9", "2:6", "5:8", ""]}))
    assert marked_words(characters)["not"] == [["bad"]]


def test_marks_belong_to_the_content(tmp_path):
    plain, other = (
        dataset(marked_csv(tmp_path / "own.csv", {"why": [value, *WHY[1:]]}), rationale="why").fingerprint
        for value in ("0", "1")
    )
    assert len({plain, other, dataset(tmp_path / "own.csv").fingerprint}) == 3


def test_marks_outside_of_the_text_are_counted_and_too_many_refused(tmp_path):
    some = dataset(marked_csv(tmp_path / "own.csv", {"why": ["0, 99", "1", "0", "2"]}), rationale="why")
    assert any("5 of 25 marks in column 'why' are nowhere in their text" in note for note in some.notes)
    with pytest.raises(
        DataError, match=r"15 of 20 rationales do not occur in the text of their row \(first: .*own.csv, line 2\)"
    ):
        dataset(marked_csv(tmp_path / "own.csv", {"why": ["90", "91", "92", "2"]}), rationale="why")


def test_all_files_must_have_the_column_of_marks_unless_nobody_named_it(tmp_path):
    for name, named in (("why", {"rationale": "why"}), ("rationale", {})):
        marked_csv(tmp_path / "set" / "train.csv", {name: WHY})
        marked_csv(tmp_path / "set" / "test.csv", {})
        if named:
            with pytest.raises(DataError, match="test.csv: there is no column 'why' for the rationale"):
                dataset(tmp_path / "set", **named)
        else:
            assert {example.rationale for example in dataset(tmp_path / "set").test} == {None}


def test_a_rationale_that_is_not_read_is_noted(tmp_path):
    marked = [{"text": "a b", "title": "c d", "label": n % 2, "rationale": [[1, 2]]} for n in range(20)]
    loaded = dataset(jsonl(tmp_path / "a.jsonl", marked), text="title")
    assert loaded.train[0].rationale is None
    assert loaded.notes[0].endswith("'rationale' is not read, since it refers to another column")


def test_a_bad_row_is_named_by_file_and_line(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", [*rows(3), {"text": 7, "label": "a"}])
    with pytest.raises(DataError, match=r"a\.jsonl, line 4: column 'text' must be a string; it is 7"):
        dataset(path)


def test_rows_without_a_label_are_dropped_and_counted(tmp_path):
    for label in ["", "  ", None]:
        path = jsonl(tmp_path / "a.jsonl", [*rows(30), {"text": "lost", "label": label}, {"text": "also lost"}])
        loaded = dataset(path)
        assert sorted(texts(loaded.train + loaded.dev + loaded.test)) == sorted(row["text"] for row in rows(30))
        assert "2 rows without a label dropped from a.jsonl" in loaded.notes
        assert loaded.fingerprint == dataset(jsonl(tmp_path / "b.jsonl", rows(30))).fingerprint


def test_half_of_the_rows_may_be_dropped_and_no_more(tmp_path):
    unlabelled = [{"text": "x", "label": ""} for _ in range(6)]
    blank = [{"text": " ", "label": "a"} for _ in range(4)]
    folder = folder_of(tmp_path / "set", train=[*rows(10), *unlabelled, *blank], dev=rows(3, 50), test=rows(3, 60))
    assert len(dataset(folder).train) == 10
    jsonl(folder / "train.jsonl", [*rows(9), *unlabelled, *blank])
    expected = (
        r"train\.jsonl: 10 of 19 rows would be dropped, which is more than half: 6 have no label in column 'label' "
        r"\(first: line 10\) and 4 have no text in column 'text'\. .*--text and --label\. Its columns are: text, label"
    )
    with pytest.raises(DataError, match=expected):
        dataset(folder)


def test_an_unreadable_folder_is_named(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "set", train=rows(9))

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    with pytest.raises(DataError, match="set cannot be read: Permission denied"):
        dataset(folder)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"there is no file or folder .*none\.csv"):
        dataset(tmp_path / "none.csv")


def test_questions_make_a_question_answering_set(tmp_path):
    asked = [{"context": "He is here .", "question": "Where is he", "answer": "ab"[n % 2]} for n in range(20)]
    loaded = dataset(jsonl(tmp_path / "a.jsonl", asked))
    assert (loaded.task, loaded.train[0].query) == ("qa", ("where", "is", "he"))
    assert loaded.notes[0] == "texts are column 'context', queries 'question', labels 'answer'"


def test_every_text_knows_its_row_and_id_in_whatever_split_it_is(tmp_path):
    numbered = [{"text": f"text {n}", "label": "ab"[n % 2], "ID": f"r{n}"} for n in range(1, 41)]
    loaded = dataset(jsonl(tmp_path / "a.jsonl", numbered))
    for example in loaded.train + loaded.dev + loaded.test:
        assert (example.text, example.id) == (f"text {example.row}", f"r{example.row}")


def test_rows_and_ids_survive_limits_and_label_names(tmp_path):
    numbered = [{"text": f"text {n}" if n % 5 else "", "label": n % 2, "id": n} for n in range(1, 41)]
    folder = folder_of(tmp_path / "set", train=numbered, test=numbered[:20])
    meta(folder, {"label_names": ["zero", "one"]})
    loaded = dataset(folder, train_limit=10, test_limit=6)
    assert (len(loaded.train), len(loaded.test)) == (10, 6)
    assert all(e.text == f"text {e.row}" and e.id == str(e.row) for e in loaded.train + loaded.dev + loaded.test)


def test_each_file_counts_its_own_rows_and_may_lack_ids(tmp_path):
    folder = folder_of(tmp_path / "set", train=[{**row, "id": n} for n, row in enumerate(rows(9))], test=rows(3, 200))
    loaded = dataset(folder)
    assert [(e.row, e.id) for e in loaded.test] == [(1, None), (2, None), (3, None)]
    assert all(e.id == str(e.row - 1) for e in loaded.train + loaded.dev)


def test_rows_and_ids_change_neither_fingerprint_nor_keys(tmp_path):
    named = [{"id": f"r{n}", "text": f"Text {n}", "label": "aab"[n % 3]} for n in range(30)]
    polars.DataFrame(named).write_csv(tmp_path / "reviews.csv")
    fingerprint = dataset(tmp_path / "reviews.csv").fingerprint
    # As computed before texts knew their rows: stored runs must be found again.
    assert fingerprint == "051de74424ac15f11a3fed79c3a028e725e0f6e7004d3eab226613a2a27401e2"
    assert key_of(Run(data=DataSettings(source="reviews.csv", fingerprint="f"))) == "84b8265ea3602309"
    content = [json.dumps({"text": row["text"], "label": row["label"]}) for row in named]
    (tmp_path / "blank.jsonl").write_text("\n\n".join(content), encoding="utf-8")
    assert dataset(tmp_path / "blank.jsonl").fingerprint == fingerprint
