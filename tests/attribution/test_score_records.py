"""Files of scores in every format and shape; what is wrong with them is said with its place."""

import json

import polars
import pytest

from heedful.attribution.score_records import TextScores, read_scores
from heedful.errors import DataError

LONG = [
    {"id": "a", "word": 0, "score": 0.5, "name": "shap"},
    {"id": "a", "word": 2, "score": -1.0, "name": "shap"},
    {"id": "b", "word": 0, "score": 2, "name": "shap"},
    {"id": "a", "word": 1, "score": 3.5, "name": "lime"},
]
WANTED = [("shap", "a", (0.5, -1.0), (0, 2)), ("shap", "b", (2.0,), (0,)), ("lime", "a", (3.5,), (1,))]


def write(path, records):
    if path.suffix == ".parquet":
        polars.DataFrame(records).write_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    else:
        polars.DataFrame(records).write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


def content(given: list[TextScores]):
    return [(scored.name, scored.text, scored.scores, scored.where) for scored in given]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".tsv"])
def test_a_row_for_each_word(tmp_path, suffix):
    assert content(read_scores(write(tmp_path / f"mine{suffix}", LONG))) == WANTED


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_characters_instead_of_words(tmp_path, suffix):
    records = [{"text_id": 7, "start": 3, "end": 5, "value": 1.5}, {"text_id": 7, "start": 0, "end": 2, "value": 0}]
    given = read_scores(write(tmp_path / f"gradient{suffix}", records))
    assert content(given) == [("gradient", "7", (1.5, 0.0), ((3, 5), (0, 2)))]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_row_for_each_text(tmp_path, suffix):
    records = [
        {"id": 1, "scores": [0.5, 2.0], "offsets": [[0, 2], [3, 5]]},
        {"id": 2, "scores": [1.0], "offsets": [[0, 1]]},
    ]
    given = read_scores(write(tmp_path / f"ig{suffix}", records))
    assert content(given) == [("ig", "1", (0.5, 2.0), ((0, 2), (3, 5))), ("ig", "2", (1.0,), ((0, 1),))]


def test_lists_in_a_csv_file_are_json(tmp_path):
    path = tmp_path / "ig.csv"
    path.write_text('id,tokens,scores\nx,"[""a"", ""2012""]","[1, 2.5]"\n', encoding="utf-8")
    assert content(read_scores(path)) == [("ig", "x", (1.0, 2.5), ("a", "2012"))]


def test_words_as_they_are_written_stay_words_though_some_are_numbers(tmp_path):
    records = [{"id": 1, "word": "in", "score": 1}, {"id": 1, "word": "2012", "score": 2}]
    assert read_scores(write(tmp_path / "a.csv", records))[0].where == ("in", "2012")


def test_scores_without_words_are_of_the_words_in_order(tmp_path):
    assert read_scores(write(tmp_path / "a.jsonl", [{"id": 1, "scores": [1, 2]}]))[0].where is None


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity", '"high"', "null", "true", "[[1]]", "1e999"])
def test_a_score_that_is_no_finite_number_is_refused_with_its_place(tmp_path, score):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"id": 1, "word": 0, "score": 1}}\n{{"id": 1, "word": 1, "score": {score}}}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a.jsonl, line 2: column 'score' must be a finite number; it is .*Leave out"):
        read_scores(path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"word": 0, "score": 1}, "there is no column for the id .*Its columns are: word, score"),
        ({"id": 1, "word": 0}, "there is no column for the score"),
        ({"id": 1, "score": 1}, "line 1: nothing says what the score is of"),
        ({"id": None, "word": 0, "score": 1}, "line 1: column 'id' must not be empty"),
        ({"id": 1, "word": 0, "score": 1, "name": ""}, "line 1: column 'name' must not be empty"),
        ({"id": 1, "word": 1.5, "score": 1}, "line 1: column 'word' must be a word or the number of one; it is 1.5"),
        ({"id": 1, "start": "x", "end": 3, "score": 1}, r"line 1: column 'start' must name \[start, end\) characters"),
        ({"id": 1, "offsets": [[1]], "scores": [1]}, "line 1: column 'offsets' must name"),
        ({"id": 1, "offsets": [[0, 1]], "scores": [1, 2]}, "as many scores as words; there are 2 and 1"),
        ({"id": 1, "words": [0, 1, 2], "scores": [1, 2]}, "as many scores as words; there are 2 and 3"),
    ],
)
def test_what_a_record_lacks_is_said(tmp_path, record, message):
    with pytest.raises(DataError, match=message):
        read_scores(write(tmp_path / "a.jsonl", [record]))


def test_a_text_that_stands_twice_is_refused(tmp_path):
    records = [{"id": 1, "scores": [1, 2]}, {"id": 2, "scores": [1]}, {"id": 1, "scores": [3, 4]}]
    with pytest.raises(
        DataError, match=r"line 3: the scores of 'a' in text '1' must stand once; they also stand at .*line 1"
    ):
        read_scores(write(tmp_path / "a.jsonl", records))
