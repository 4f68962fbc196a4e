import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.sources.delimited import SEPARATORS, read_delimited, sniff
from heedful.errors import DataError

ROWS = [{"text": 'one, "two"\nthree; four | five', "label": "a"}, {"text": "six\tseven", "label": "b"}]


def table(separator, rows=ROWS):
    def quoted(value):
        return '"' + value.replace('"', '""') + '"'

    lines = [rows[0].keys(), *(row.values() for row in rows)]
    return "".join(separator.join(map(quoted, line)) + "\r\n" for line in lines)


@pytest.mark.parametrize("usual", [",", "\t"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_every_separator_is_recognised_and_noted_where_unusual(separator, usual):
    file = read_delimited("a.csv", table(separator), usual)
    assert (file.columns, list(file.records)) == (("text", "label"), ROWS)
    assert file.places == ["line 2", "line 4"]
    noted = f"a.csv: columns are separated by {SEPARATORS[separator]}"
    assert file.notes == (() if separator == usual else (noted,))


@pytest.mark.parametrize("line", ["sep=;\n", "SEP=;\r\n", '"sep=;"\r\n'])
def test_excels_first_line_names_the_separator_and_is_no_header(line):
    file = read_delimited("a.csv", f"{line}text, long;label\nx,y;1\n", ",")
    assert (file.columns, file.places, list(file.rows)) == (("text, long", "label"), ["line 3"], [1])


def test_any_character_may_be_named_as_separator():
    file = read_delimited("a.csv", "sep=^\na^b\n1^2\n", ",")
    assert (file.columns, file.notes) == (("a", "b"), ("a.csv: columns are separated by '^'",))


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("", ","),
        ("text\nfine; really\n", ","),
        ("text;label\nfine, really;1\n", ";"),
        ("text, long;label\nfine;1\n", ";"),
        ("text,label;x\nfine,1\n", ","),
        ("a|b|c\n1|2|3\n", "|"),
        ("a;b|c;d\n1;2|3;4\n", ";"),
        ("text;label\nfine;1\nragged;1;2\n", ";"),
        ("text,label\nfine,1\nragged,1,2\n", ","),
        ('text;label\n"open;1\n', ";"),
    ],
)
def test_the_separator_cuts_header_and_rows_alike(content, separator):
    assert sniff(content, ",") == separator


def test_the_usual_separator_is_taken_where_two_would_do():
    assert sniff("a,b;c\n1,2;3\n", ",") == ","
    assert sniff("a,b\tc\n1,2\t3\n", "\t") == "\t"


def test_a_ragged_row_is_named_with_the_separator():
    with pytest.raises(DataError, match=r"a\.csv, line 3: has 3 fields where .* has 2 \(x, y\).* contains a semicolon"):
        read_delimited("a.csv", "x;y\n1;2\n1;2;3\n", ",")


def test_columns_without_a_name_are_numbered_where_there_are_several():
    assert read_delimited("a.csv", ",text,label\n1,2,3\n", ",").columns == ("", "text", "label")
    assert read_delimited("a.csv", "text,label,,\n1,2,,\n", ",").columns == ("text", "label", "column 3", "column 4")


def test_the_limit_of_the_process_is_left_as_it_was():
    csv.field_size_limit(131_072)
    assert len(read_delimited("a.csv", f"x,y\n{'w ' * 200_000},1\n", ",").records[0]["x"]) == 400_000
    assert csv.field_size_limit() == 131_072


fields = st.text(alphabet="ab ,;|\t\"\n'\u00e9", max_size=8)


@given(st.lists(st.tuples(fields, st.sampled_from("xyz")), min_size=1, max_size=6), st.sampled_from(list(SEPARATORS)))
def test_what_is_written_with_quotation_marks_is_read_again(rows, separator):
    records = [{"text": text, "label": label} for text, label in rows]
    file = read_delimited("a.csv", table(separator, records).replace("\r\n", "\n"), ",")
    assert list(file.records) == records
