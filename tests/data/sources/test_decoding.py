import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.sources.decoding import decode
from heedful.errors import DataError

TEXT = "text;label\r\ncaf\u00e9 \U0001f4af;\u0434\u0430\n"


def written(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl.gz"])
def test_an_encoding_with_its_mark_is_read(tmp_path, encoding, name):
    assert decode(written(tmp_path, f"\ufeff{TEXT}".encode(encoding), name)) == TEXT


def test_utf8_needs_no_mark(tmp_path):
    assert decode(written(tmp_path, TEXT.encode())) == TEXT
    assert decode(written(tmp_path, b"")) == ""
    assert decode(written(tmp_path, b"a\0b,1\n")) == "a\0b,1\n"


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE"])
@pytest.mark.parametrize("text", ["text,label\nfine,1\n", "\u0442\u0435\u043a\u0441\u0442,\u0434\u0430\n" * 9])
def test_utf16_without_a_mark_is_named_with_how_to_convert(tmp_path, encoding, text):
    with pytest.raises(
        DataError, match=rf"seems to be {encoding} without a byte-order mark.*iconv -f {encoding} -t UTF-8"
    ):
        decode(written(tmp_path, text.encode(encoding)))


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE"])
def test_utf16_of_wide_characters_without_a_mark_is_named(tmp_path, encoding):
    text = "\u6587\u672c,\u6807\u7b7e\n\u597d\u770b,\u6b63\n" * 5
    with pytest.raises(DataError, match=f"must be UTF-8 text.*iconv -f {encoding} -t UTF-8"):
        decode(written(tmp_path, text.encode(encoding)))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00", "a zip archive or an Excel workbook. Save it as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an Excel workbook"),
        (gzip.compress(b"text,label\n", mtime=0), "gzipped. Let its name end in .gz"),
        (b"PAR1\x15\x04", "a parquet file. Let its name end in .parquet"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"SQLite format 3\x00\x10\x00", "an SQLite database"),
    ],
)
def test_other_formats_are_named(tmp_path, content, what):
    with pytest.raises(DataError, match=f"must be text, but it is {what}"):
        decode(written(tmp_path, content))


def test_control_characters_are_no_text(tmp_path):
    with pytest.raises(DataError, match="most of it is control characters: it is a binary file"):
        decode(written(tmp_path, bytes(range(1, 9)) * 9))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_another_encoding_is_named_with_the_byte_and_how_to_convert(tmp_path, mark):
    content = mark + b"text,label\ncaf\xe9,1\n"
    offset = content.index(b"\xe9")
    with pytest.raises(
        DataError, match=rf"byte 0xe9 at offset {offset} \(line 2\) is not.*iconv -f WINDOWS-1252 -t UTF-8"
    ):
        decode(written(tmp_path, content))


def test_utf16_cut_in_the_middle_of_a_character_is_named(tmp_path):
    with pytest.raises(DataError, match="must be UTF-16-LE text, as its first bytes say; byte 0x61 at offset 4 is not"):
        decode(written(tmp_path, "\ufeffba".encode("utf-16-le")[:-1]))


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_refused(tmp_path_factory, content):
    path = written(tmp_path_factory.getbasetemp(), content, "any.csv")
    try:
        assert isinstance(decode(path), str)
    except DataError as refused:
        assert "any.csv must be" in str(refused)
