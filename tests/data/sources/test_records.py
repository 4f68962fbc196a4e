import csv
import gzip
import json

import polars
import pytest

from heedful.data.sources.records import read_records
from heedful.errors import DataError


def written(folder, name, content):
    path = folder / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


ROWS = [{"text": 'one, "two"\nthree', "label": "a"}, {"text": "four\tfive", "label": "b"}]


def as_text(delimiter):
    def quoted(value):
        return '"' + value.replace('"', '""') + '"'

    return "".join(
        f"{quoted(row['text'])}{delimiter}{row['label']}\r\n" for row in [dict(text="text", label="label"), *ROWS]
    )


FORMS = {
    "rows.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "rows.jsonl.gz": "\n".join(json.dumps(row) for row in ROWS),
    "rows.csv": as_text(","),
    "rows.CSV.gz": as_text(","),
    "rows.tsv": as_text("\t"),
    "rows.tsv.gz": as_text("\t"),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_form_gives_the_same_records_with_or_without_a_byte_order_mark(tmp_path, name, mark):
    file = read_records(written(tmp_path, name, mark + FORMS[name]))
    assert list(file.records) == ROWS
    assert file.columns == ("text", "label")
    assert file.name.endswith(name)


def test_parquet_gives_the_same_records_by_row(tmp_path):
    path = tmp_path / "rows.parquet"
    polars.DataFrame(ROWS).write_parquet(path)
    file = read_records(path)
    assert list(file.records) == ROWS
    assert file.places == ["row 1", "row 2"]


def test_nested_values_of_parquet_are_plain_lists(tmp_path):
    path = tmp_path / "rows.parquet"
    polars.DataFrame({"rationale": [[[0, 2]], []]}).write_parquet(path)
    assert [record["rationale"] for record in read_records(path).records] == [[[0, 2]], []]


def test_a_record_knows_the_line_it_begins_on(tmp_path):
    assert read_records(written(tmp_path, "a.csv", 'x,y\n\n"1\n2",3\n4,5\n')).places == ["line 3", "line 5"]
    assert read_records(written(tmp_path, "a.jsonl", '{"x": 1}\n\n \n{"x": 2}')).places == ["line 1", "line 4"]


def test_only_a_line_feed_ends_a_line_of_json(tmp_path):
    record = {"text": "a\u2028b\u0085c\x1c"}
    path = written(tmp_path, "a.jsonl", json.dumps(record, ensure_ascii=False) + "\r\n")
    assert list(read_records(path).records) == [record]


def test_columns_of_jsonl_are_all_that_occur(tmp_path):
    assert read_records(written(tmp_path, "a.jsonl", '{"x": 1}\n{"y": 2, "x": 3}\n')).columns == ("x", "y")


@pytest.mark.parametrize("line", ["{", "{'text': 1}", "[" * 100_000, "9" * 5000])
def test_invalid_json_is_named_by_its_line(tmp_path, line):
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: not valid JSON: .*one JSON object per line"):
        read_records(written(tmp_path, "a.jsonl", '{"text": "x"}\n' + line + "\n"))


@pytest.mark.parametrize("line", ["[1, 2]", '"text"', "null", "3"])
def test_a_line_of_json_must_be_an_object(tmp_path, line):
    with pytest.raises(DataError, match=r"a\.jsonl, line 1: must be a JSON object"):
        read_records(written(tmp_path, "a.jsonl", line))


@pytest.mark.parametrize(("row", "count"), [("1", 1), ("1,2,3", 3)])
def test_a_ragged_row_is_named_by_its_line(tmp_path, row, count):
    with pytest.raises(DataError, match=rf"a\.csv, line 3: has {count} fields where the first line has 2 \(x, y\)"):
        read_records(written(tmp_path, "a.csv", f"x,y\n1,2\n{row}\n"))


def test_a_stray_quotation_mark_in_csv_is_named_by_its_line(tmp_path):
    with pytest.raises(DataError, match=r"a\.csv, line 3: .*must be doubled"):
        read_records(written(tmp_path, "a.csv", 'x,y\n1,2\n"a"b,2\n'))
    with pytest.raises(DataError, match=r"a\.csv, line 2: unexpected end of data"):
        read_records(written(tmp_path, "a.csv", 'x,y\n"a,2\nb,3\n'))


def test_a_tsv_that_quotes_nothing_is_read_as_it_stands(tmp_path):
    file = read_records(written(tmp_path, "a.tsv", 'text\tlabel\n"so" he said\t1\n"well\t0\n'))
    assert [record["text"] for record in file.records] == ['"so" he said', '"well']
    assert file.notes[0].endswith("a.tsv: quotation marks taken as part of the texts")


def test_a_ragged_tsv_is_an_error_all_the_same(tmp_path):
    with pytest.raises(DataError, match=r"line 2: has 3 fields"):
        read_records(written(tmp_path, "a.tsv", "x\ty\n1\t2\t3\n"))


def test_repeated_column_names_are_refused(tmp_path):
    with pytest.raises(DataError, match="column names must differ; 'x' appears twice in the first line"):
        read_records(written(tmp_path, "a.csv", "x, x\n1,2\n"))


def test_a_long_text_in_csv_is_read_and_the_limit_of_the_process_is_left_as_it_was(tmp_path):
    before = 131_072
    csv.field_size_limit(before)
    assert len(read_records(written(tmp_path, "a.csv", f"x,y\n{'w ' * 200_000},1\n")).records[0]["x"]) == 400_000
    with pytest.raises(DataError):
        read_records(written(tmp_path, "a.csv", "x,y\n1\n"))
    assert csv.field_size_limit() == before


def test_nul_characters_are_read(tmp_path):
    assert read_records(written(tmp_path, "a.csv", "x,y\na\0b,1\n")).records[0]["x"] == "a\0b"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_another_encoding_is_named_with_the_byte_and_how_to_convert(tmp_path, mark):
    content = mark + b"text,label\ncaf\xe9,1\n"
    offset = content.index(b"\xe9")
    with pytest.raises(
        DataError, match=rf"byte 0xe9 at offset {offset} \(line 2\) is not.*iconv -f WINDOWS-1252 -t UTF-8"
    ):
        read_records(written(tmp_path, "a.csv", content))


@pytest.mark.parametrize(
    "content", [b"no gzip at all", gzip.compress(b"text,label\nx,1\n", mtime=0)[:-9]], ids=["no gzip", "cut off"]
)
def test_a_broken_gzip_file_is_named(tmp_path, content):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.csv\.gz cannot be decompressed: .*complete gzip file"):
        read_records(path)


def test_a_folder_in_place_of_a_file_is_named(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(DataError, match=r"a\.csv cannot be read: "):
        read_records(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.txt", "a.json", "a", "a.gz", "a.xlsx"])
def test_other_suffixes_are_answered_with_the_known(tmp_path, name):
    with pytest.raises(DataError, match=r"must end in one of \.jsonl, \.csv, \.tsv, \.parquet"):
        read_records(written(tmp_path, name, "x"))


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", ""), ("a.csv", "x,y\n"), ("a.jsonl", "\n\n"), ("a.tsv", "x\ty")]
)
def test_a_file_without_rows_is_refused(tmp_path, name, content):
    with pytest.raises(DataError, match=f"{name} has no rows"):
        read_records(written(tmp_path, name, content))


def test_rows_are_counted_as_a_person_does(tmp_path):
    lines = '{"text": "x"}\n\n{"text": "y"}\n'
    assert list(read_records(written(tmp_path, "a.jsonl", lines)).rows) == [1, 3]
    table = 'text,label\n"two\nlines",a\n\nx,b\n'
    assert list(read_records(written(tmp_path, "a.csv", table)).rows) == [1, 2]
    polars.DataFrame(ROWS).write_parquet(tmp_path / "a.parquet")
    assert list(read_records(tmp_path / "a.parquet").rows) == [1, 2]
