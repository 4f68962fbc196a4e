"""Scores from outside arrive at the right words; what does not match is counted or refused."""

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
    match_scores,
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

WORDS = WordTokenizer.from_settings(TextSettings())
ROWS = {"a": [0.5, 2.0, 0.0, -1.0], "b": [3.0]}
LONG = [
    {"id": "a", "word": 0, "score": 0.5, "name": "shap"},
    {"id": "a", "word": 2, "score": -1.0, "name": "shap"},
    {"id": "b", "word": 0, "score": 2, "name": "shap"},
    {"id": "a", "word": 1, "score": 3.5, "name": "lime"},
]
WANTED = [("shap", "a", (0.5, -1.0), (0, 2)), ("shap", "b", (2.0,), (0,)), ("lime", "a", (3.5,), (1,))]


def example(text, name=None, row=None):
    return Example(WORDS.split(text)[0], 0, text=text, id=name, row=row)


TEXTS = words_of_examples([example("not bad at all", "a"), example("dull", "b")], range(2))
EXAMPLES_GIVEN = [example("It isn't so BAD!", "a"), example("dull , dull", "b"), example("fine", "c")]
TEXTS_GIVEN = words_of_examples(EXAMPLES_GIVEN, range(3))


def content(value, name="shap"):
    return {number: own.tolist() for number, own in external_scores_of(value, TEXTS).scores[name].items()}


def write(path, rows):
    frame = polars.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


# A table and a dict say the same.


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".tsv"])
def test_a_table_has_a_row_for_each_word(tmp_path, suffix):
    read = read_scores(write(tmp_path / f"mine{suffix}", LONG))
    assert [(scored.name, scored.text, scored.scores, scored.where) for scored in read] == WANTED


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_characters_instead_of_words_and_the_files_name_instead_of_a_column(tmp_path, suffix):
    rows = [{"id": 7, "start": 3, "end": 5, "score": 1.5}, {"id": 7, "start": 0, "end": 2, "score": 0}]
    (scored,) = read_scores(write(tmp_path / f"gradient{suffix}", rows))
    assert (scored.name, scored.text, scored.scores, scored.where) == ("gradient", "7", (1.5, 0.0), ((3, 5), (0, 2)))


def test_characters_count_where_words_are_named_as_well(tmp_path):
    (scored,) = read_scores(write(tmp_path / "a.csv", [{"id": 1, "word": "no", "start": 3, "end": 5, "score": 1}]))
    assert scored.where == ((3, 5),)


def test_every_kind_of_value_says_the_same(tmp_path):
    rows = [
        {"id": text, "word": word, "score": score, "name": "shap"}
        for text, own in ROWS.items()
        for word, score in enumerate(own)
    ]
    path = write(tmp_path / "other.jsonl", rows)
    for value in (
        {"shap": ROWS},
        {"shap": {name: torch.tensor(row, requires_grad=True) for name, row in ROWS.items()}},
        {"shap": {name: numpy.array(row) for name, row in ROWS.items()}},
        {"shap": {name: tuple(row) for name, row in ROWS.items()}},
        polars.DataFrame(rows),
        path,
        str(path),
    ):
        assert content(value) == {0: ROWS["a"], 1: ROWS["b"]}


def test_captums_scores_come_back_from_a_file_and_from_python(tmp_path):
    """Integrated gradients of two texts, written word by word with their characters."""
    model, batch = make("average"), cut(make_batch(), [0, 1], 7)
    seen = trace(model, batch)
    examples = [example(" ".join(f"w{n}" for n in range(size)), name) for name, size in (("x", 7), ("y", 4))]
    texts = words_of_examples(examples, range(2))
    scores = integrated_gradients(model, seen)
    rows = [
        {"id": text.id, "start": span[0], "end": span[1], "score": scores[row, word].item(), "name": "ig"}
        for row, text in enumerate(texts)
        for word, span in enumerate(text.spans or ())
    ]
    from_file = match_scores(read_scores(write(tmp_path / "scores.parquet", rows)), texts).of_items(seen)["ig"]
    by_text = {text.id: scores[row, : text.count] for row, text in enumerate(texts)}
    from_python = external_scores_of({"ig": by_text}, texts).of_items(seen)["ig"]
    assert torch.equal(from_file, scores) and torch.equal(from_python, scores)


def test_a_dict_may_leave_texts_out_and_have_several_names():
    assert content({"shap": {"b": [3.0]}}) == {1: [3.0]}
    both = external_scores_of({"shap": ROWS, "lime": {"b": [1.0]}}, TEXTS)
    assert [*both.scores] == ["shap", "lime"] and len(both.notes) == 2
    assert external_scores_of({}, TEXTS).scores == {}


@pytest.mark.parametrize("score", [torch.nan, torch.inf, "high", None, True])
def test_a_score_that_is_no_finite_number_is_refused_with_its_place(score):
    with pytest.raises(
        DataError, match=r"scores\['shap'\], text 'b': a score must be a finite number; it is .*Leave out"
    ):
        content({"shap": {"b": [score]}})
    if score is not None and not isinstance(score, str):
        rows = [{"id": 1, "word": 0, "score": 1}, {"id": 1, "word": 1, "score": score}]
        with pytest.raises(DataError, match="scores, row 2: column 'score' must be a finite number"):
            external_scores_of(polars.DataFrame(rows, schema_overrides={"score": polars.Object}), TEXTS)


@pytest.mark.parametrize("value", [3, None, [ROWS], {"shap": [[1.0]]}, {"shap": {"b": 3.0}}, {"shap": {"b": "high"}}])
def test_other_values_are_refused(value):
    with pytest.raises(SettingError, match="scores must be"):
        content(value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"word": 0, "score": 1},
            "a table of scores must have a row for each word: 'id' .*Its columns are: word, score",
        ),
        ({"id": 1, "word": 0}, "a table of scores must have"),
        ({"id": 1, "score": 1}, "a table of scores must have"),
        ({"id": 1, "start": 1, "score": 1}, "a table of scores must have"),
        ({"id": " ", "word": 0, "score": 1}, "line 1: column 'id' must not be empty"),
        ({"id": 1, "word": 0, "score": 1, "name": ""}, "line 1: column 'name' must not be empty"),
        ({"id": 1, "word": 1.5, "score": 1}, "line 1: there must be whole numbers as .* there is {'word': 1.5}"),
        ({"id": 1, "word": "good", "score": 1}, "line 1: there must be whole numbers as .* there is {'word': 'good'}"),
        ({"id": 1, "start": "x", "end": 3, "score": 1}, "line 1: there must be whole numbers as 'start' and 'end'"),
    ],
)
def test_what_a_table_lacks_is_said(tmp_path, row, message):
    with pytest.raises(DataError, match=message):
        read_scores(write(tmp_path / "a.jsonl", [row]))


# Which words a score is of.


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 25), st.integers(0, 25))
def test_a_span_falls_on_the_words_that_share_a_character_with_it(sizes, start, end):
    words, place = [], 0
    for size in sizes:
        words.append((place, place + size))
        place += size + size % 2  # some words touch
    wanted = [number for number, (first, last) in enumerate(words) if {*range(first, last)} & {*range(start, end)}]
    assert list(overlapping((start, end), words)) == wanted


def scored(text, scores, where=None, name="shap"):
    where = range(len(scores)) if where is None else where
    return TextScores(name, text, tuple(map(float, scores)), tuple(where), f"s.csv, text {text}")


def values(*given, texts=TEXTS_GIVEN):
    return {number: own.tolist() for number, own in match_scores(given, texts).scores["shap"].items()}


def test_characters_fall_on_the_words_that_share_them():
    """isn't is three words, each of which gets its score; BA and D! add up, with the mark getting D!'s as well."""
    given = scored("a", [1.0, 2.0, 3.0, 5.0], [(0, 2), (3, 8), (12, 14), (14, 16)])
    assert values(given) == {0: [1, 2, 2, 2, 0, 8, 5]}


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
    notes = match_scores([known, other], TEXTS_GIVEN).notes
    assert notes[-1] == "1 texts that scores name are not among the audited ones"
    with pytest.raises(DataError, match=r"by their ids; none does. They name 'z' .*are 'a', 'b', 'c'"):
        match_scores([other], TEXTS_GIVEN)


def test_scores_that_fall_on_no_word_are_counted_and_where_most_do_refused():
    outside = scored("a", [1, 1, 1, 1], [(0, 2), (3, 6), (16, 20), (400, 402)])
    assert "2 of 4 scores fall on no word (first: s.csv, text a)" in match_scores([outside], TEXTS_GIVEN).notes
    with pytest.raises(DataError, match="3 of 4 fall on no word .*Are they of other texts"):
        match_scores([replace(outside, where=((0, 2), (90, 92), (93, 95), (-4, -2)))], TEXTS_GIVEN)
    with pytest.raises(DataError, match="2 of 3 fall on no word"):
        match_scores([scored("c", [1, 1, 1], [0, 5, -1])], TEXTS_GIVEN)
    with pytest.raises(DataError, match="3 of 5 fall on no word"):
        content({"shap": {"b": [3.0, 1.0, 1.0, 1.0], "a": [1.0]}})


def test_symbols_and_spaces_fall_on_no_word_and_nobody_minds():
    offsets = scored("b", [9.0, 1.0, 9.0], [(0, 0), (0, 4), (4, 5)])
    assert values(offsets)[1] == [1.0, 0.0, 0.0] and len(match_scores([offsets], TEXTS_GIVEN).notes) == 1


def test_a_text_is_called_by_its_id_its_row_or_its_number():
    with_rows = [replace(each, id=None, row=row) for each, row in zip(EXAMPLES_GIVEN, (5, 7, 9), strict=True)]
    assert [text.id for text in words_of_examples(with_rows, [2, 0])] == ["9", "5"]
    assert [text.id for text in words_of_examples([replace(each, row=None) for each in with_rows], [1])] == ["1"]
    assert [text.number for text in words_of_examples(EXAMPLES_GIVEN, [2, 0])] == [2, 0]


def test_a_name_must_be_usable_and_not_that_of_another_ranking():
    for name in ("", "9lives", "my shap", "a" * 41, "../x", "naïve"):
        with pytest.raises(SettingError, match="the name of scores must begin with a letter"):
            match_scores([scored("a", range(7), name=name)], TEXTS_GIVEN)
    with pytest.raises(SettingError, match="scores cannot be called 'shap': Heedful has a ranking of that name"):
        match_scores([scored("a", range(7))], TEXTS_GIVEN, taken=("attention", "shap"))


def test_characters_of_a_text_that_is_not_known_are_refused():
    unknown = [TextWords(0, "a", 2)]
    with pytest.raises(DataError, match="s.csv, text a: scores of characters need the text"):
        match_scores([scored("a", [1.0], [(0, 2)])], unknown)
    assert values(scored("a", [1.0, 3.0]), texts=unknown) == {0: [1.0, 3.0]}


# Scores at the items of a batch.


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
    with pytest.raises(DataError, match="each word of text 1; there are 3 scores, and attention weighs 4 items"):
        given_of([1.0] * 7, [1.0, 2, 3], [1.0]).of_items(seen)
