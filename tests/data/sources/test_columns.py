import json
import math
from dataclasses import replace

import pytest

from heedful.data.labeled_texts import LabeledText
from heedful.data.sources.columns import (
    ColumnRoles,
    check_columns,
    choose_columns,
    label_name,
    labelled_text,
    list_columns,
    row_ids,
    usual_columns,
)
from heedful.data.sources.records import RecordFile
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings


def chosen(columns, records=(), **settings):
    places = [f"line {number}" for number in range(2, 2 + len(records))]
    file = RecordFile("a.csv", tuple(columns), records, places)
    return choose_columns(file, DataSettings(source="a.csv", **settings))


def test_columns_are_guessed_by_their_names():
    for columns, text, label, query, task in [
        (("text", "label"), "text", "label", None, "classification"),
        (("id", "Sentence", "Class"), "Sentence", "Class", None, "classification"),
        (("review", "sentiment"), "review", "sentiment", None, "classification"),
        (("label", "content", "text"), "text", "label", None, "classification"),
        (("premise", "hypothesis", "label"), "premise", "label", "hypothesis", "nli"),
        (("sentence1", "sentence2", "gold_label"), "sentence1", "gold_label", "sentence2", "nli"),
        (("context", "question", "answer", "rationale"), "context", "answer", "question", "qa"),
        (("", "text", "target"), "text", "target", None, "classification"),
        (("text", "stars"), "text", "stars", None, "classification"),
        (("remark", "label"), "remark", "label", None, "classification"),
        (("label", "question"), "question", "label", None, "classification"),
    ]:
        roles = chosen(columns)
        assert (roles.text, roles.label, roles.query, roles.task) == (text, label, query, task)


def test_of_two_unknown_columns_the_longer_is_the_text():
    records = [{"p": "1", "q": "a long remark"}, {"p": "0", "q": "another one"}]
    assert (chosen(("p", "q"), records).text, chosen(("q", "p"), records).text) == ("q", "q")


def test_an_unclear_column_is_asked_for_with_all_columns():
    for columns, role in [(("id", "label", "date"), "text"), (("id", "text", "date"), "label")]:
        names = ", ".join(columns)
        with pytest.raises(
            DataError,
            match=rf"a\.csv: cannot tell which column holds the {role}s. Name it, for example --{role} .*{names}",
        ):
            chosen(columns)


def test_the_likeliest_column_is_the_example():
    records = [{"No.": n, "Post body": f"a long remark {n}", "klass": "xy"[n % 2], "lang": "en"} for n in range(9)]
    with pytest.raises(
        DataError, match=r'for example --text "Post body"\. Its columns are: No\., Post body, klass, lang'
    ):
        chosen(records[0], records)
    with pytest.raises(DataError, match=r"for example --label klass\. Its columns"):
        chosen(records[0], records, text="Post body")


def test_a_long_list_of_columns_is_cut():
    assert list_columns([f"c{n}" for n in range(33)]).endswith("c28, c29 and 3 more.")


def test_a_named_column_that_is_not_there_is_answered_with_all_columns():
    for role in ["text", "label", "query"]:
        with pytest.raises(
            DataError, match=f"--{role} names column 'body', which is not there. Its columns are: text, label"
        ):
            chosen(("text", "label"), **{role: "body"})


def test_named_columns_are_taken():
    roles = chosen(("text", "label", "body", "stars", "title"), text="body", label="stars", query="title")
    assert (roles.text, roles.label, roles.query, roles.task) == ("body", "stars", "title", "qa")


def test_one_column_cannot_have_two_roles():
    with pytest.raises(SettingError, match="must name different columns; they name text, text"):
        chosen(("text", "label"), text="text", label="text")


def test_the_hypothesis_alone_can_be_the_text():
    roles = chosen(("premise", "hypothesis", "label"), text="hypothesis", task="classification")
    assert (roles.text, roles.query, roles.task) == ("hypothesis", None, "classification")
    assert chosen(("premise", "hypothesis", "label"), text="hypothesis").task == "classification"
    assert chosen(("premise", "hypothesis", "label"), text="hypothesis", query="premise", task="nli").query == "premise"


def test_classification_has_no_query():
    with pytest.raises(SettingError, match="--query names column 'title', but data.task=classification has no query"):
        chosen(("text", "label", "title"), query="title", task="classification")


def test_a_task_with_a_query_needs_its_column():
    for task in ["nli", "qa"]:
        with pytest.raises(
            DataError, match=f"data.task={task} needs a query column .*by --query. Its columns are: text, label"
        ):
            chosen(("text", "label"), task=task)


def test_the_task_asked_for_is_taken():
    assert chosen(("text", "label", "question"), task="nli").task == "nli"


def test_a_rationale_is_read_only_with_the_text_it_speaks_of():
    columns = ("context", "question", "answer", "rationale")
    assert chosen(columns).rationales == ("rationale",)
    assert chosen(columns, text="context").rationales == ("rationale",)
    assert chosen(columns, text="question").rationales == ()
    assert chosen(("one", "two", "label", "rationale"), text="one").rationales == ("rationale",)
    assert chosen(("text", "rationale"), label="rationale").rationales == ()


def test_columns_of_marks_may_be_named_and_wrong_ones_are_refused():
    columns = ("text", "label", "why", "ann,ben", "ben")
    assert chosen(columns, rationale="why, ben").rationales == ("why", "ben")
    assert chosen(columns, rationale="ann,ben").rationales == ("ann,ben",)
    for named, error, message in (
        ("whi", DataError, r"--rationale names column 'whi', which is not there\. Did you mean --rationale why\?"),
        ("why,nobody", DataError, "--rationale names column 'nobody', which is not there"),
        ("text", SettingError, "--rationale must name a column of marks; 'text' holds texts"),
        ("why,why", SettingError, "--rationale must name each column once"),
    ):
        with pytest.raises(error, match=message):
            chosen(columns, rationale=named)


def test_usual_columns_may_be_unknown():
    assert usual_columns(RecordFile("a.csv", ("one", "two", "three"), [], [])) == (None, None)


ROLES = ColumnRoles("text", "label", None, "classification", ("why", "rationale"))


def read(**record):
    return labelled_text({"text": "one two three", "label": "a", **record}, ROLES, "a.csv, line 7")


def test_a_record_becomes_a_labelled_text():
    assert read() == LabeledText("one two three", "a")


def test_a_file_that_lacks_a_column_is_named():
    for role in ["text", "label", "query", "rationale"]:
        roles = replace(ROLES, query="question")
        columns = ("text", "label", "question", "why", "id")
        check_columns(RecordFile("b.csv", columns, [], []), roles)
        missing = "why" if role == "rationale" else getattr(roles, role)
        kept = tuple(column for column in columns if column != missing)
        expected = rf"b\.csv: there is no column '{missing}' for the {role}. Its columns are: {', '.join(kept)}\."
        with pytest.raises(DataError, match=expected):
            check_columns(RecordFile("b.csv", kept, [], []), roles)


def test_a_missing_text_is_an_empty_one():
    for missing in [{}, {"text": None}, {"text": math.nan}, {"text": ""}]:
        assert labelled_text({"label": "a", **missing}, ROLES, "a.csv, line 7") == LabeledText("", "a")


def test_a_record_without_a_label_is_none():
    for missing in [{}, {"label": None}, {"label": math.nan}, {"label": ""}, {"label": " \t"}]:
        assert labelled_text({"text": "x", **missing}, ROLES, "a.csv, line 7") is None


DEEP = json.loads("[" * 900 + "]" * 900)


def test_a_text_must_be_a_string():
    for value, shown in [(5, "5"), (["a"], r"\[\"a\"\]"), (DEEP, r"\[\[\[|a list")]:
        with pytest.raises(DataError, match=f"a.csv, line 7: column 'text' must be a string; it is {shown}.*--text"):
            read(text=value)


def test_a_query_must_be_a_string_or_missing():
    roles = ColumnRoles("text", "label", "question", "qa")
    assert labelled_text({"text": "x", "label": "a", "question": "y"}, roles, "p").query == "y"
    assert labelled_text({"text": "x", "label": "a", "question": None}, roles, "p").query == ""
    with pytest.raises(DataError, match="column 'question' must be a string; it is 7. Name another column by --query"):
        labelled_text({"text": "x", "label": "a", "question": 7}, roles, "p")


def test_half_a_character_is_refused():
    for role in ["text", "label"]:
        with pytest.raises(
            DataError, match=rf"column '{role}' holds half of a surrogate pair \(\\ud83d\) at position 1"
        ):
            read(**{role: "a\ud83d b"})


def test_labels_are_names():
    for value, name in [(0, "0"), (-1, "-1"), (2.0, "2"), (True, "true"), (" a b ", "a b"), ("1.0", "1.0")]:
        assert label_name(value, "label", "line 1") == name


def test_a_missing_label_has_no_name():
    for value in [None, math.nan, "", " "]:
        assert label_name(value, "label", "line 1") is None


def test_a_label_must_be_a_class():
    for value in [0.37, math.inf, ["a"], {"a": 1}, DEEP]:
        with pytest.raises(DataError, match="column 'label' must be a class: a string, an integer or a boolean; it is"):
            label_name(value, "label", "line 1")


def ids(values, column="id", roles=ROLES):
    records = [{"text": "x", "label": "a"} | ({} if value is ABSENT else {column: value}) for value in values]
    file = RecordFile("a.csv", ("text", "label", column), records, [f"line {n}" for n in range(len(records))])
    return list(row_ids(file, roles))


ABSENT = object()


def test_a_column_named_id_gives_the_ids():
    for column in ["id", "ID", "Id"]:
        assert ids(["b-1", " b-2 ", 3, 4.0], column) == ["b-1", "b-2", "3", "4"]


def test_an_id_column_that_does_not_tell_all_rows_apart_is_no_error_and_not_used():
    for last in ["a", " a ", "", None, ABSENT, math.nan, ["b"], {"b": 1}, 0.5, "\ud83d"]:
        assert ids(["a", last]) == [None, None]


def test_a_column_with_another_role_gives_no_ids():
    for role in ["text", "label", "query"]:
        assert ids(["a", "b"], roles=replace(ROLES, **{role: "id"})) == [None, None]


def test_a_labelled_text_keeps_its_row_and_id():
    text = labelled_text({"text": "x", "label": "a"}, ROLES, "a.csv, line 7", 6, "r6")
    assert (text.row, text.id) == (6, "r6")
