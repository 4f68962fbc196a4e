"""Scores given in Python: all kinds of values say the same."""

import json

import numpy
import polars
import pytest
import torch

from heedful.attribution.given import match_scores, words_of_examples
from heedful.attribution.integrated_gradients import integrated_gradients
from heedful.attribution.score_records import read_scores
from heedful.attribution.score_values import given_scores
from heedful.errors import DataError, SettingError
from heedful.models.trace import trace
from heedful.types import Example
from support.models import cut, make, make_batch

EXAMPLES = [
    Example(("not", "bad", "at", "all"), 1, text="not bad at all", id="a"),
    Example(("dull",), 0, text="dull", id="b"),
]
TEXTS = words_of_examples(EXAMPLES, range(2))
ROWS = {"a": [0.5, 2.0, 0.0, -1.0], "b": [3.0]}
RECORDS = [{"id": text, "word": word, "score": score} for text, row in ROWS.items() for word, score in enumerate(row)]


def content(value, name="shap"):
    return {number: own.tolist() for number, own in given_scores({name: value}, TEXTS).scores[name].items()}


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {name: torch.tensor(row, requires_grad=True) for name, row in ROWS.items()},
        {name: tuple(row) for name, row in ROWS.items()},
        list(ROWS.values()),
        [numpy.array(row) for row in ROWS.values()],
        torch.tensor([ROWS["a"], [3.0, 0, 0, 0]]),
        torch.tensor([ROWS["a"], [3.0, *[torch.nan] * 3]]),
        numpy.array([ROWS["a"], [3.0, 0, 0, 0]]),
        polars.DataFrame(RECORDS),
        polars.DataFrame([{**record, "method": "SHAP"} for record in RECORDS]),
    ],
)
def test_every_kind_of_value_says_the_same(value):
    assert content(value) == {0: ROWS["a"], 1: ROWS["b"]}


def test_a_path_is_read_and_called_as_python_says(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)), encoding="utf-8")
    assert content(path) == content(str(path)) == {0: ROWS["a"], 1: ROWS["b"]}


def test_captums_scores_come_back_from_a_file_and_from_python(tmp_path):
    """Integrated gradients of two texts, written word by word with their characters."""
    model, batch = make("average"), cut(make_batch(), [0, 1], 7)
    seen = trace(model, batch)
    examples = [Example(tuple(f"w{n}" for n in range(size)), 0, text=" ".join(f"w{n}" for n in range(size)), id=name)
                for name, size in (("x", 7), ("y", 4))]  # fmt: skip
    texts = words_of_examples(examples, range(2))
    scores = integrated_gradients(model, seen)
    records = [
        {"id": text.id, "start": span[0], "end": span[1], "score": scores[row, word].item(), "name": "ig"}
        for row, text in enumerate(texts)
        for word, span in enumerate(text.spans or ())
    ]
    path = tmp_path / "scores.parquet"
    polars.DataFrame(records).write_parquet(path)
    from_file = match_scores(read_scores(path), texts).of_items(seen)["ig"]
    from_python = given_scores({"ig": scores}, texts).of_items(seen)["ig"]
    assert torch.equal(from_file, scores) and torch.equal(from_python, scores)


def test_a_dict_may_leave_texts_out():
    assert content({"b": [3.0]}) == {1: [3.0]}


def test_several_names_are_several_rankings():
    given = given_scores({"shap": ROWS, "lime": {"b": [1.0]}}, TEXTS)
    assert [*given.scores] == ["shap", "lime"] and len(given.notes) == 2
    assert given_scores({}, TEXTS).scores == {}


def test_rows_must_be_as_many_as_texts():
    with pytest.raises(DataError, match=r"scores\['shap'\] must have a row for each of the 2 audited texts; it has 1"):
        content([ROWS["a"]])


def test_scores_beyond_the_last_word_that_are_not_padding_are_no_scores_of_the_text():
    with pytest.raises(DataError, match="3 of 5 fall on no word"):
        content({"b": [3.0, 1.0, 1.0, 1.0], "a": [1.0]})
    with pytest.raises(DataError, match="3 of 5 fall on no word"):
        content([[1.0], [3.0, 1.0, 1.0, 1.0]])


@pytest.mark.parametrize("score", [torch.nan, torch.inf, "high", None])
def test_a_score_that_is_no_finite_number_is_refused(score):
    with pytest.raises(DataError, match=r"scores\['shap'\], text 'b': column 'scores' must be a finite number"):
        content({"b": [score]})


@pytest.mark.parametrize("value", [3, None, {"b": 3.0}, {"b": "high"}, "high"])
def test_other_values_are_refused(value):
    with pytest.raises((SettingError, DataError), match="scores|high"):
        content(value)


def test_what_is_no_dict_is_refused():
    with pytest.raises(SettingError, match="scores must be a dict from a name to a path, a polars data frame"):
        given_scores([ROWS], TEXTS)


def test_a_file_of_several_names_is_refused_under_one(tmp_path):
    frame = polars.DataFrame([{**record, "name": record["id"]} for record in RECORDS])
    with pytest.raises(DataError, match="must hold scores of one name; it holds a, b"):
        content(frame)
