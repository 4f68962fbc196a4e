import gzip
import json
import random
import subprocess
import sys
from collections import Counter

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.sources import records
from heedful.data.sources.records import (
    SEPARATORS,
    decode,
    read_delimited,
    read_parquet,
    read_records,
    sniff,
)
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


def test_every_form_gives_the_same_records_with_or_without_a_byte_order_mark(tmp_path):
    for mark in ["", "\ufeff"]:
        for name in FORMS:
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


def test_a_record_knows_the_line_it_begins_on(tmp_path):
    assert read_records(written(tmp_path, "a.csv", 'x,y\n\n"1\n2",3\n4,5\n')).places == ["line 3", "line 5"]
    assert read_records(written(tmp_path, "a.jsonl", '{"x": 1}\n\n \n{"x": 2}')).places == ["line 1", "line 4"]


def test_only_a_line_feed_ends_a_line_of_json(tmp_path):
    record = {"text": "a\u2028b\u0085c\x1c"}
    path = written(tmp_path, "a.jsonl", json.dumps(record, ensure_ascii=False) + "\r\n")
    assert list(read_records(path).records) == [record]


def test_columns_of_jsonl_are_all_that_occur(tmp_path):
    assert read_records(written(tmp_path, "a.jsonl", '{"x": 1}\n{"y": 2, "x": 3}\n')).columns == ("x", "y")


def test_invalid_json_is_named_by_its_line(tmp_path):
    for line in ["{", "{'text': 1}", "[" * 100_000, "9" * 5000]:
        with pytest.raises(DataError, match=r"a\.jsonl, line 2: not valid JSON: .*one JSON object per line"):
            read_records(written(tmp_path, "a.jsonl", '{"text": "x"}\n' + line + "\n"))


def test_a_line_of_json_must_be_an_object(tmp_path):
    for line in ["[1, 2]", '"text"', "null", "3"]:
        with pytest.raises(DataError, match=r"a\.jsonl, line 1: must be a JSON object"):
            read_records(written(tmp_path, "a.jsonl", line))


def test_a_ragged_row_is_named_by_its_line(tmp_path):
    for row, count in [("1", 1), ("1,2,3", 3)]:
        with pytest.raises(DataError, match=rf"a\.csv, line 3: has {count} fields where the first line has 2 \(x, y\)"):
            read_records(written(tmp_path, "a.csv", f"x,y\n1,2\n{row}\n"))


def test_a_stray_quotation_mark_in_csv_is_named_by_its_line(tmp_path):
    with pytest.raises(DataError, match=r"a\.csv, line 3: .*must be doubled"):
        read_records(written(tmp_path, "a.csv", 'x,y\n1,2\n"a"b,2\n'))
    with pytest.raises(DataError, match=r"a\.csv, line 2: unexpected end of data"):
        read_records(written(tmp_path, "a.csv", 'x,y\n"a,2\nb,3\n'))


def test_a_long_text_in_csv_is_read(tmp_path):
    assert len(read_records(written(tmp_path, "a.csv", f"x,y\n{'w ' * 200_000},1\n")).records[0]["x"]) == 400_000


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


def test_nul_characters_are_read(tmp_path):
    assert read_records(written(tmp_path, "a.csv", "x,y\na\0b,1\n")).records[0]["x"] == "a\0b"


def test_another_encoding_is_named_with_the_byte_and_how_to_convert(tmp_path):
    for mark in [b"", b"\xef\xbb\xbf"]:
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


def test_other_suffixes_are_answered_with_the_known(tmp_path):
    for name in ["a.txt", "a.json", "a", "a.gz", "a.xlsx"]:
        with pytest.raises(DataError, match=r"must end in one of \.jsonl, \.csv, \.tsv, \.parquet"):
            read_records(written(tmp_path, name, "x"))


def test_a_file_without_rows_is_refused(tmp_path):
    for name, content in [("a.csv", ""), ("a.csv", "x,y\n"), ("a.jsonl", "\n\n"), ("a.tsv", "x\ty")]:
        with pytest.raises(DataError, match=f"{name} has no rows"):
            read_records(written(tmp_path, name, content))


def test_rows_are_counted_as_a_person_does(tmp_path):
    lines = '{"text": "x"}\n\n{"text": "y"}\n'
    assert list(read_records(written(tmp_path, "a.jsonl", lines)).rows) == [1, 3]
    table = 'text,label\n"two\nlines",a\n\nx,b\n'
    assert list(read_records(written(tmp_path, "a.csv", table)).rows) == [1, 2]
    polars.DataFrame(ROWS).write_parquet(tmp_path / "a.parquet")
    assert list(read_records(tmp_path / "a.parquet").rows) == [1, 2]


TEXT = "text;label\r\ncaf\u00e9 \U0001f4af;\u0434\u0430\n"


def written_decoding(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def test_an_encoding_with_its_mark_is_read(tmp_path):
    for name in ["a.csv", "a.jsonl.gz"]:
        for encoding in ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]:
            assert decode(written_decoding(tmp_path, f"\ufeff{TEXT}".encode(encoding), name)) == TEXT


def test_utf16_without_a_mark_is_named_with_how_to_convert(tmp_path):
    for text in ["text,label\nfine,1\n", "\u0442\u0435\u043a\u0441\u0442,\u0434\u0430\n" * 9]:
        for encoding in ["UTF-16LE", "UTF-16BE"]:
            with pytest.raises(
                DataError, match=rf"seems to be {encoding} without a byte-order mark.*iconv -f {encoding} -t UTF-8"
            ):
                decode(written_decoding(tmp_path, text.encode(encoding)))


def test_other_formats_are_named(tmp_path):
    for content, what in [
        (b"PK\x03\x04\x14\x00\x06\x00", "a zip archive or an Excel workbook. Save it as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an Excel workbook"),
        (gzip.compress(b"text,label\n", mtime=0), "gzipped. Let its name end in .gz"),
        (b"PAR1\x15\x04", "a parquet file. Let its name end in .parquet"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"SQLite format 3\x00\x10\x00", "an SQLite database"),
    ]:
        with pytest.raises(DataError, match=f"must be text, but it is {what}"):
            decode(written_decoding(tmp_path, content))


def test_control_characters_are_no_text(tmp_path):
    with pytest.raises(DataError, match="most of it is control characters: it is a binary file"):
        decode(written_decoding(tmp_path, bytes(range(1, 9)) * 9))


def test_utf16_cut_in_the_middle_of_a_character_is_named(tmp_path):
    with pytest.raises(DataError, match="must be UTF-16-LE text, as its first bytes say; byte 0x61 at offset 4 is not"):
        decode(written_decoding(tmp_path, "\ufeffba".encode("utf-16-le")[:-1]))


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_refused(tmp_path_factory, content):
    path = written_decoding(tmp_path_factory.getbasetemp(), content, "any.csv")
    try:
        assert isinstance(decode(path), str)
    except DataError as refused:
        assert "any.csv must be" in str(refused)


ROWS_DELIMITED = [{"text": 'one, "two"\nthree; four | five', "label": "a"}, {"text": "six\tseven", "label": "b"}]


def table(separator, rows=ROWS_DELIMITED):
    def quoted(value):
        return '"' + value.replace('"', '""') + '"'

    lines = [rows[0].keys(), *(row.values() for row in rows)]
    return "".join(separator.join(map(quoted, line)) + "\r\n" for line in lines)


def test_every_separator_is_recognised_and_noted_where_unusual():
    for separator in SEPARATORS:
        for usual in [",", "\t"]:
            file = read_delimited("a.csv", table(separator), usual)
            assert (file.columns, list(file.records)) == (("text", "label"), ROWS_DELIMITED)
            assert file.places == ["line 2", "line 4"]
            noted = f"a.csv: columns are separated by {SEPARATORS[separator]}"
            assert file.notes == (() if separator == usual else (noted,))


def test_excels_first_line_names_the_separator_and_is_no_header():
    for line in ["sep=;\n", "SEP=;\r\n", '"sep=;"\r\n']:
        file = read_delimited("a.csv", f"{line}text, long;label\nx,y;1\n", ",")
        assert (file.columns, file.places, list(file.rows)) == (("text, long", "label"), ["line 3"], [1])


def test_any_character_may_be_named_as_separator():
    file = read_delimited("a.csv", "sep=^\na^b\n1^2\n", ",")
    assert (file.columns, file.notes) == (("a", "b"), ("a.csv: columns are separated by '^'",))


def test_the_separator_cuts_header_and_rows_alike():
    for content, separator in [
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
    ]:
        assert sniff(content, ",") == separator


def test_columns_without_a_name_are_numbered_where_there_are_several():
    assert read_delimited("a.csv", ",text,label\n1,2,3\n", ",").columns == ("", "text", "label")
    assert read_delimited("a.csv", "text,label,,\n1,2,,\n", ",").columns == ("text", "label", "column 3", "column 4")


fields = st.text(alphabet="ab ,;|\t\"\n'\u00e9", max_size=8)


@given(st.lists(st.tuples(fields, st.sampled_from("xyz")), min_size=1, max_size=6), st.sampled_from(list(SEPARATORS)))
def test_what_is_written_with_quotation_marks_is_read_again(rows, separator):
    records = [{"text": text, "label": label} for text, label in rows]
    file = read_delimited("a.csv", table(separator, records).replace("\r\n", "\n"), ",")
    assert list(file.records) == records


FRAME = polars.DataFrame(
    {
        "text": [f"text number {n}" for n in range(60)],
        "label": ["a", "b", "c"] * 20,
        "rationale": [[[0, n % 3]] for n in range(60)],
    }
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a[1]*.parquet"
    FRAME.write_parquet(file)
    return file


def test_a_table_is_read_whatever_its_name(path):
    assert read_parquet(path).equals(FRAME)


def test_what_is_no_parquet_file_or_not_all_of_one_is_refused(path):
    whole = path.read_bytes()
    for content in (b"", b"PAR1", b"PAR1 nothing", b"text,label\n", b"PAR1\xff\xff\xff\xffPAR1", whole[:-20]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="parquet cannot be read as parquet: .*Write or download it again"):
            read_parquet(path)


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        ("import os; os.abort()", "its reader ended with code -6"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "its reader ended with code -11"),
        ("import sys; sys.exit('panicked')", "panicked"),
    ],
)
def test_a_reader_that_dies_is_an_error_not_our_death(path, monkeypatch, reader, reason):
    monkeypatch.setattr(records, "_READER", reader)
    with pytest.raises(DataError, match=f"cannot be read as parquet: {reason}. Write or download it again"):
        read_parquet(path)


def flip(path, seed):
    """Turn one bit of the file's last part, which says how to read the rest."""
    draw = random.Random(seed)
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content) // 2, len(content))] ^= 1 << draw.randrange(8)
    path.with_name("flipped.parquet").write_bytes(content)
    return path.with_name("flipped.parquet")


MANY = """
import io, sys
from pathlib import Path
import polars
for name in sys.argv[2:]:
    print(name, end=" ", flush=True)
    real, sys.stdout, sys.argv[1] = sys.stdout, io.TextIOWrapper(io.BytesIO()), name
    try:
        exec(Path("reader.py").read_text())
        ending = polars.read_ipc(io.BytesIO(sys.stdout.buffer.getvalue())).to_dicts() and "read"
    except SystemExit as left:
        ending = "refused" if isinstance(left.code, str) else f"left with {left.code}"
    sys.stdout = real
    print(ending, flush=True)
"""
"""What each process of ours does, for many files in one process, which is quicker by far."""


def test_the_reader_of_two_hundred_flipped_files_reads_refuses_or_dies(path, tmp_path):
    (tmp_path / "reader.py").write_text(records._READER, encoding="utf-8")
    left = [str(flip(path, seed).rename(tmp_path / f"{seed}.parquet")) for seed in range(200)]
    endings = Counter()
    while left:  # a reader that dies leaves the others to the next
        ended = subprocess.run(
            [sys.executable, "-c", MANY, "", *left], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        lines = ended.stdout.splitlines()
        left = left[len(lines) :]
        endings.update(line.partition(" ")[2] or "died" for line in lines)
        assert lines and endings["died"] < 20
    assert endings.keys() <= {"read", "refused", "died"}
    assert endings["read"] > 20 and endings["refused"] > 20
