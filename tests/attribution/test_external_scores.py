"""Scores from outside arrive at the right words; what does not match is counted or refused."""

import json
from dataclasses import replace

import numpy
import polars
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.external_scores import (
    ExternalScores,
    TextScores,
    TextWords,
    external_scores_of,
    find_strings,
    match_scores,
    numbered_words,
    overlapping,
    read_scores,
    words_of_examples,
)
from heedful.attribution.methods import integrated_gradients
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError
from heedful.models.trace import trace
from heedful.settings import TextSettings
from heedful.types import Example
from support.models import BATCH, LENGTHS, TIME, cut, make, make_batch

# Scores given in Python: all kinds of values say the same.

EXAMPLES = [
    Example(("not", "bad", "at", "all"), 1, text="not bad at all", id="a"),
    Example(("dull",), 0, text="dull", id="b"),
]
TEXTS = words_of_examples(EXAMPLES, range(2))
ROWS = {"a": [0.5, 2.0, 0.0, -1.0], "b": [3.0]}
RECORDS = [{"id": text, "word": word, "score": score} for text, row in ROWS.items() for word, score in enumerate(row)]


def content(value, name="shap"):
    return {number: own.tolist() for number, own in external_scores_of({name: value}, TEXTS).scores[name].items()}


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
    from_python = external_scores_of({"ig": scores}, texts).of_items(seen)["ig"]
    assert torch.equal(from_file, scores) and torch.equal(from_python, scores)


def test_a_dict_may_leave_texts_out():
    assert content({"b": [3.0]}) == {1: [3.0]}


def test_several_names_are_several_rankings():
    given = external_scores_of({"shap": ROWS, "lime": {"b": [1.0]}}, TEXTS)
    assert [*given.scores] == ["shap", "lime"] and len(given.notes) == 2
    assert external_scores_of({}, TEXTS).scores == {}


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
        external_scores_of([ROWS], TEXTS)


def test_a_file_of_several_names_is_refused_under_one(tmp_path):
    frame = polars.DataFrame([{**record, "name": record["id"]} for record in RECORDS])
    with pytest.raises(DataError, match="must hold scores of one name; it holds a, b"):
        content(frame)


# Which words a score is of.


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 25), st.integers(0, 25))
def test_a_span_falls_on_the_words_that_share_a_character_with_it(sizes, start, end):
    words, place = [], 0
    for size in sizes:
        words.append((place, place + size))
        place += size + size % 2  # some words touch
    wanted = [number for number, (first, last) in enumerate(words) if {*range(first, last)} & {*range(start, end)}]
    assert list(overlapping((start, end), words)) == wanted


def test_pieces_of_words_are_found_one_after_the_other():
    text = "The the THE end"
    assert find_strings(["the", "the", "Ġthe", "##end"], text) == [(0, 3), (4, 7), (8, 11), (12, 15)]
    assert find_strings(["<s>", "end", "the", "</s>"], text) == [(0, 0), (12, 15), None, (15, 15)]


def test_a_letter_that_grows_in_lower_case_moves_nothing():
    text = "İyi film"
    assert find_strings(["İyi", "film"], text) == [(0, 3), (4, 8)]


def test_numbers_count_words_at_spaces_or_as_ours():
    assert numbered_words([0, 1, 2], 3, "it isn't so", 5) == 1
    assert numbered_words([4, 2], 2, "it isn't so", 5) == -1
    assert numbered_words([0], 1, "it isn't so", 5) == 0
    assert numbered_words(None, 3, "it is so", 3) == 0
    assert numbered_words([(0, 3)], 1, "it is so", 3) == numbered_words(["it"], 1, "it", 1) == 0


# Files of scores in every format and shape; what is wrong with them is said with its place.

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


def content_score_records(given: list[TextScores]):
    return [(scored.name, scored.text, scored.scores, scored.where) for scored in given]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".tsv"])
def test_a_row_for_each_word(tmp_path, suffix):
    assert content_score_records(read_scores(write(tmp_path / f"mine{suffix}", LONG))) == WANTED


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_characters_instead_of_words(tmp_path, suffix):
    records = [{"text_id": 7, "start": 3, "end": 5, "value": 1.5}, {"text_id": 7, "start": 0, "end": 2, "value": 0}]
    given = read_scores(write(tmp_path / f"gradient{suffix}", records))
    assert content_score_records(given) == [("gradient", "7", (1.5, 0.0), ((3, 5), (0, 2)))]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_row_for_each_text(tmp_path, suffix):
    records = [
        {"id": 1, "scores": [0.5, 2.0], "offsets": [[0, 2], [3, 5]]},
        {"id": 2, "scores": [1.0], "offsets": [[0, 1]]},
    ]
    given = read_scores(write(tmp_path / f"ig{suffix}", records))
    assert content_score_records(given) == [("ig", "1", (0.5, 2.0), ((0, 2), (3, 5))), ("ig", "2", (1.0,), ((0, 1),))]


def test_lists_in_a_csv_file_are_json(tmp_path):
    path = tmp_path / "ig.csv"
    path.write_text('id,tokens,scores\nx,"[""a"", ""2012""]","[1, 2.5]"\n', encoding="utf-8")
    assert content_score_records(read_scores(path)) == [("ig", "x", (1.0, 2.5), ("a", "2012"))]


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


WORDS = WordTokenizer.from_settings(TextSettings())


def example(text, name=None, row=None):
    return Example(WORDS.split(text)[0], 0, text=text, id=name, row=row)


EXAMPLES_GIVEN = [example("It isn't so BAD!", "a"), example("dull , dull", "b"), example("fine", "c")]
TEXTS_GIVEN = words_of_examples(EXAMPLES_GIVEN, range(3))


def scored(text, scores, where=None, name="shap"):
    return TextScores(
        name, text, tuple(map(float, scores)), None if where is None else tuple(where), f"s.csv, text {text}"
    )


def values(*external_scores_of, texts=TEXTS_GIVEN):
    matched = match_scores(external_scores_of, texts)
    return {number: own.tolist() for number, own in matched.scores["shap"].items()}


def test_characters_fall_on_the_words_that_share_them():
    """isn't is three words, each of which gets its score; BA and D! add up, with the mark getting D!'s as well."""
    external_scores_of = scored("a", [1.0, 2.0, 3.0, 5.0], [(0, 2), (3, 8), (12, 14), (14, 16)])
    assert values(external_scores_of) == {0: [1, 2, 2, 2, 0, 8, 5]}


def test_the_pieces_of_a_word_add_up():
    assert values(scored("c", [1.0, -3.0], ["fi", "##ne"]))[2] == [-2.0]


def test_equal_words_are_told_apart_by_their_order():
    assert values(scored("b", [1.0, 2.0], ["dull", "dull"]))[1] == [1.0, 0.0, 2.0]


def test_numbers_are_of_our_words_unless_they_fit_those_at_spaces():
    assert values(scored("a", range(1, 8)), scored("b", [7, 8, 9])) == {0: [1, 2, 3, 4, 5, 6, 7], 1: [7, 8, 9]}
    at_spaces = values(scored("a", [1, 2, 3, 4]), scored("c", [9]))
    assert at_spaces == {0: [1, 2, 2, 2, 3, 4, 4], 2: [9]}
    note = match_scores([scored("a", [1, 2, 3, 4])], TEXTS_GIVEN).notes[0]
    assert note.endswith("its words are those that spaces separate")


@given(st.lists(st.floats(-5, 5), min_size=7, max_size=7), st.permutations(range(7)))
def test_scores_may_come_in_any_order_and_as_numbers_or_characters(scores, order):
    assert TEXTS_GIVEN[0].spans is not None
    by_number = values(scored("a", [scores[i] for i in order], order))
    by_characters = values(scored("a", [scores[i] for i in order], [TEXTS_GIVEN[0].spans[i] for i in order]))
    assert by_number == by_characters == {0: scores}


def test_texts_without_scores_and_words_without_them_are_counted():
    notes = match_scores([scored("a", [1.0, 2.0], [(0, 2), (9, 11)]), scored("b", [1, 2, 3])], TEXTS_GIVEN).notes
    assert notes == (
        "'shap' has scores for 2 of 3 texts and none for 1, which are undefined for it; 5 of 10 words have none and "
        "count as 0",
    )


def test_scores_of_other_texts_are_counted_and_of_none_but_others_refused():
    known, other = scored("b", [1, 2, 3]), scored("z", [1])
    assert (
        match_scores([known, other], TEXTS_GIVEN).notes[-1] == "1 texts that scores name are not among the audited ones"
    )
    with pytest.raises(
        DataError, match=r"name the audited texts by their ids; none does. They name 'z' .*are 'a', 'b', 'c'"
    ):
        match_scores([other], TEXTS_GIVEN)


def test_scores_that_fall_on_no_word_are_counted_and_where_most_do_refused():
    outside = scored("a", [1, 1, 1, 1], [(0, 2), (3, 6), (16, 20), (400, 402)])
    assert "2 of 4 scores fall on no word (first: s.csv, text a)" in match_scores([outside], TEXTS_GIVEN).notes
    with pytest.raises(DataError, match="3 of 4 fall on no word .*Are they of other texts"):
        match_scores([replace(outside, where=((0, 2), (90, 92), (93, 95), (-4, -2)))], TEXTS_GIVEN)
    with pytest.raises(DataError, match="2 of 3 fall on no word"):
        match_scores([scored("c", [1, 1, 1], [0, 5, -1])], TEXTS_GIVEN)
    with pytest.raises(DataError, match="2 of 3 fall on no word"):
        match_scores([scored("c", [1, 1, 1], ["fine", "not", "here"])], TEXTS_GIVEN)


def test_symbols_and_spaces_fall_on_no_word_and_nobody_minds():
    symbols = scored("c", [9.0, 1.0, 9.0], ["[CLS]", "fine", "[SEP]"])
    assert values(symbols)[2] == [1.0] and len(match_scores([symbols], TEXTS_GIVEN).notes) == 1
    offsets = scored("b", [9.0, 1.0, 9.0], [(0, 0), (0, 4), (4, 5)])
    assert values(offsets)[1] == [1.0, 0.0, 0.0]


def test_a_text_is_called_by_its_id_its_row_or_its_number():
    with_rows = [replace(each, id=None, row=row) for each, row in zip(EXAMPLES_GIVEN, (5, 7, 9), strict=True)]
    assert [text.id for text in words_of_examples(with_rows, [2, 0])] == ["9", "5"]
    assert [text.id for text in words_of_examples([replace(each, row=None) for each in with_rows], [1])] == ["1"]
    assert [text.number for text in words_of_examples(EXAMPLES_GIVEN, [2, 0])] == [2, 0]


@pytest.mark.parametrize("name", ["", "9lives", "my shap", "a" * 41, "../x", "naïve"])
def test_a_name_must_be_usable(name):
    with pytest.raises(SettingError, match="the name of scores must begin with a letter"):
        match_scores([scored("a", range(7), name=name)], TEXTS_GIVEN)


def test_a_name_may_not_be_that_of_another_ranking():
    with pytest.raises(SettingError, match="scores cannot be called 'shap': Heedful has a ranking of that name"):
        match_scores([scored("a", range(7))], TEXTS_GIVEN, taken=("attention", "shap"))


def test_characters_of_a_text_that_is_not_known_are_refused():
    unknown = [TextWords(0, "a", 2)]
    with pytest.raises(DataError, match="s.csv, text a: scores of characters need the text"):
        match_scores([scored("a", [1.0], [(0, 2)])], unknown)
    assert values(scored("a", [1.0, 3.0]), texts=unknown) == {0: [1.0, 3.0]}


def given_of(*rows):
    return ExternalScores({"shap": {number: torch.tensor(row).double() for number, row in enumerate(rows) if row}})


def test_scores_stand_at_the_items_of_a_batch():
    seen = trace(make("average"), make_batch())
    scores = given_of([1.0, 2, 3, 4, 5, 6, 7], [4.0, 3, 2, 1], []).of_items(seen)["shap"]
    assert scores.shape == (BATCH, TIME)
    assert scores[0].tolist() == [1, 2, 3, 4, 5, 6, 7] and scores[1].tolist() == [4, 3, 2, 1, 0, 0, 0]
    assert scores[2, 0].isnan() and (scores[2, 1:] == 0).all()


def test_a_start_and_an_end_symbol_have_no_score():
    inner = (torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1)
    seen = trace(make("average"), replace(cut(make_batch(), [0, 1], TIME), attendable_mask=inner))
    scores = given_of([1.0, 2, 3, 4, 5], [8.0, 9]).of_items(seen)["shap"]
    assert scores.tolist() == [[0, 1, 2, 3, 4, 5, 0], [0, 8, 9, 0, 0, 0, 0]]


def test_a_sentence_has_the_sum_of_its_words_scores_or_one_of_its_own():
    seen = trace(make("hierarchical"), make_batch())
    by_word = given_of([1.0, 2, 3, 4, 5, 6, 7], [4.0, 3, 2, 1], [5.0]).of_items(seen)["shap"]
    assert by_word.tolist() == [[6, 15, 7], [9, 1, 0], [5, 0, 0]]
    by_sentence = given_of([6.0, 15, 7], [9.0, 1], [5.0]).of_items(seen)["shap"]
    assert by_sentence.tolist() == by_word.tolist()


def test_another_number_of_scores_than_words_is_refused():
    seen = trace(make("average"), make_batch())
    with pytest.raises(
        DataError, match="a score for each word of text 1; there are 3 scores, and attention weighs 4 items"
    ):
        given_of([1.0] * 7, [1.0, 2, 3], [1.0]).of_items(seen)
