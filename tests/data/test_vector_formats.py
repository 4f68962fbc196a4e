"""Damaged and lying files of vectors; what sound ones give is tested with `load_vectors`."""

import random
import struct

import numpy
import pytest

from heedful.data.vector_formats import read_binary, read_npz, read_text
from heedful.errors import DataError

NONE = frozenset({"absent"})


def written(folder, content, name="vectors.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("only", [None, NONE])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 3\n", "line 2: must have a word and 2 numbers; it has 2 fields"),
        ("a 1 2\nb 3 4 5\n", "line 2: must have a word and 2 numbers; it has 4 fields"),
        ("2 3\na 1 2\nb 3 4\n", "line 2: must have a word and 3 numbers; it has 3 fields"),
        ("2 300\na 1 2 3\nb 3 4 5\n", "line 2: must have a word and 300 numbers"),
        ("2 2\na 1 2 3\nb 3 4 5\n", "line 2: must have a word and 2 numbers; it has 4 fields"),
        ("a 1 2\nb nan 4\n", "line 2: the vector of 'b' must be finite numbers"),
        ("a 1 2\nb -inf 4\n", "line 2: the vector of 'b' must be finite numbers"),
        ("a 1 2\nb 1 Infinity\n", "line 2: the vector of 'b' must be finite numbers"),
        ("a\t1\t2\nb\tNaN\t2\n", "line 2: the vector of 'b' must be finite numbers"),
        ("9 2\na 1 2\nb 3 4\n", "should have 9 words by its first line, but has 2"),
        ("9" * 5000 + " 2\na 1 2\n", "line 2: must have a word and 1 numbers"),
    ],
)
def test_a_bad_line_is_refused_whether_or_not_its_word_is_wanted(tmp_path, content, message, only):
    with pytest.raises(DataError, match=message):
        read_text(written(tmp_path, content), only)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused(tmp_path, encoding):
    with pytest.raises(DataError, match="must be UTF-8 text; it is UTF-16 or binary.*iconv"):
        read_text(written(tmp_path, "a 1 2\nb 3 4\n".encode(encoding)), None)


@pytest.mark.parametrize("line", ["n n 1 2", "nan 1 2", ". . . 1 2", "b\t1\t2", "b 1 2 ", "b  1 2", "in n 1 2"])
def test_odd_words_and_spaces_are_no_fault(tmp_path, line):
    assert read_text(written(tmp_path, f"a 1 2\n{line}\nc 3 4\n"), frozenset({"c"}))[1].tolist() == [[3, 4]]
    assert len(read_text(written(tmp_path, f"a 1 2\n{line}\nc 3 4\n"), None)[0]) == 3


@pytest.mark.parametrize("only", [None, frozenset({"c"})])
def test_a_line_without_a_word_is_left_out(tmp_path, only):
    words, matrix = read_text(written(tmp_path, "a 1 2\n 5 6\nc 3 4\n"), only)
    assert words[-1] == "c"
    assert matrix[-1].tolist() == [3, 4]
    assert "" not in words


def binary(folder, header):
    content = header + b"".join(b"%c %b\n" % (letter, struct.pack("<3f", 1, 2, 3)) for letter in b"ab")
    return written(folder, content, "vectors.bin")


@pytest.mark.parametrize(
    "header", [b"2 3000000000\n", b"999999999999 300\n", b"3 3\n", b"%d %d\n" % (10**18 - 1, 10**17)]
)
def test_a_header_that_promises_more_than_there_is_makes_no_room_for_it(tmp_path, header):
    with pytest.raises(DataError, match=r"vectors\.bin should have \d+ vectors of size .*damaged or truncated"):
        read_binary(binary(tmp_path, header), None)


@pytest.mark.parametrize("header", [b"", b"two 3\n", b"2\n", b"2 0\n", b"9" * 5000 + b" 3\n", b"-2 3\n"])
def test_a_binary_file_needs_a_header(tmp_path, header):
    with pytest.raises(DataError, match=r"vectors\.bin must begin with a line that has a count and a size"):
        read_binary(binary(tmp_path, header), None)


def test_a_binary_file_of_nan_is_refused(tmp_path):
    pytest.importorskip("gensim", reason="needs the vectors extra")
    content = b"1 3\na " + struct.pack("<3f", 1, float("nan"), 3) + b"\n"
    with pytest.raises(DataError, match="the vector of 'a' must be finite"):
        read_binary(written(tmp_path, content, "vectors.bin"), None)


def test_a_damaged_archive_is_refused_or_read(tmp_path):
    numpy.savez_compressed(tmp_path / "v.npz", words=numpy.array(["a", "b"]), vectors=numpy.ones((2, 3)))
    sound = (tmp_path / "v.npz").read_bytes()
    refused = 0
    for seed in range(300):
        draw = random.Random(seed)
        content = bytearray(sound)
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        try:
            read_npz(written(tmp_path, bytes(content), "flipped.npz"), None)
        except DataError:
            refused += 1
    assert refused > 100
