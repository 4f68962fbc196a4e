"""Files of word vectors: our own .npz, word2vec's .bin, and text as word2vec, GloVe and fastText write it."""

import gzip
import math
import struct
import zipfile
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy
from numpy.lib.npyio import NpzFile

from heedful.errors import DataError, SettingError

FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

WordsAndMatrix = tuple[tuple[str, ...], numpy.ndarray]
"""Words, each once, and a float32 matrix with a row for each."""


def read_npz(path: Path, only: frozenset[str] | None) -> WordsAndMatrix:
    """The arrays `words`, `vectors` and `row` of our own format: the vector of `words[i]` is `vectors[row[i]]`."""
    try:
        with path.open("rb") as file:
            archive = numpy.load(file, allow_pickle=False)
            arrays = dict(archive) if isinstance(archive, NpzFile) else {}
    except (OSError, EOFError, ValueError, KeyError, MemoryError, OverflowError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    except (zipfile.BadZipFile, zlib.error, struct.error, SyntaxError) as error:
        raise _unreadable(path, error) from error
    if not {"words", "vectors"} <= set(arrays):
        raise DataError(f"{path} must hold the arrays words, vectors and row.")
    words, vectors = arrays["words"], arrays["vectors"]
    rows = arrays.get("row", numpy.arange(words.size))
    _check_npz(path, words, rows, vectors)
    places: dict[str, int] = {}
    for word, row in zip(words.tolist(), rows.tolist(), strict=True):
        if only is None or word in only:
            places.setdefault(word, row)
    matrix = (
        vectors[list(places.values())].astype(numpy.float32) if places else numpy.zeros((0, vectors.shape[1]), "f4")
    )
    _check_finite(path, tuple(places), matrix)
    return tuple(places), matrix


def _check_npz(path: Path, words: numpy.ndarray, rows: numpy.ndarray, vectors: numpy.ndarray) -> None:
    problem = ""
    if words.ndim != 1 or words.dtype.kind != "U":
        problem = f"words must be a one-dimensional array of strings; it is {words.dtype} of shape {words.shape}"
    elif vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.size:
        problem = f"vectors must be a matrix of floating-point numbers; it is {vectors.dtype} of shape {vectors.shape}"
    elif rows.shape != words.shape or rows.dtype.kind not in "iu":
        problem = f"row must be one integer per word; it is {rows.dtype} of shape {rows.shape}"
    elif len(rows) and not 0 <= rows.min() <= rows.max() < len(vectors):
        problem = f"row must lie in 0..{len(vectors) - 1}; it goes from {rows.min()} to {rows.max()}"
    if problem:
        raise DataError(f"{path}: {problem}.")


def read_binary(path: Path, only: frozenset[str] | None) -> WordsAndMatrix:
    """The vectors of word2vec's binary format, all of them in memory."""
    _check_binary(path)
    try:
        keyed_vectors = import_module("gensim.models").KeyedVectors
    except ImportError as error:
        raise SettingError(f"{path}: .bin files need gensim. Install it: pip install 'heedful[vectors]'.") from error
    try:
        loaded = keyed_vectors.load_word2vec_format(str(path), binary=True)
    except (OSError, EOFError, ValueError, MemoryError, OverflowError) as error:
        raise _unreadable(path, error) from error
    words = tuple(word for word in loaded.index_to_key if only is None or word in only)
    matrix = numpy.array(loaded.vectors[[loaded.key_to_index[word] for word in words]], dtype=numpy.float32)
    _check_finite(path, words, matrix)
    return words, matrix


def _check_binary(path: Path) -> None:
    """Refuse a fastText model, and a header that promises more than the file holds, before room is made for it."""
    try:
        with path.open("rb") as stream:
            header = stream.readline(100)
    except OSError as error:
        raise _unreadable(path, error) from error
    if header.startswith(FASTTEXT_MODEL):
        raise DataError(f"{path} is a fastText model, not a file of vectors; use the .vec file that comes with it.")
    counted = _header(header.split())
    if counted is None:
        raise DataError(f"{path} must begin with a line that has a count and a size; it begins with {header[:40]!r}.")
    needed, size = counted[0] * (4 * counted[1] + 2), path.stat().st_size
    if needed > size:
        raise DataError(
            f"{path} should have {counted[0]} vectors of size {counted[1]} by its first line, which take {needed} "
            f"bytes or more, but it has {size}: it is damaged or truncated. Download it again."
        )


def read_text(path: Path, only: frozenset[str] | None) -> WordsAndMatrix:
    """The vectors of a text file: a word and its numbers on each line. Lines of words not wanted are checked, too."""
    places: dict[str, None] = {}
    numbers = array("f")
    wanted = None if only is None else {word.encode() for word in only}
    with _entries(path) as (count, size, lines):
        seen = 0
        for number, line in lines:
            seen += 1
            if wanted is not None and _first_word(line) not in wanted and _is_sound(line, size):
                continue
            word, values = _entry(f"{path}, line {number}", line, size)
            if word and word not in places and (only is None or word in only):
                places[word] = None
                numbers.extend(values)
    if count is not None and seen < count:
        raise DataError(
            f"{path} should have {count} words by its first line, but has {seen}: it was truncated. Download it again."
        )
    matrix = numpy.frombuffer(numbers, dtype=numpy.float32) if places else numpy.zeros(0, numpy.float32)
    matrix = matrix.reshape(len(places), size)
    _check_finite(path, tuple(places), matrix)
    return tuple(places), matrix


@contextmanager
def _entries(path: Path) -> Iterator[tuple[int | None, int, Iterator[tuple[int, bytes]]]]:
    """The word count in a text file's header, the size of its vectors, and its non-blank lines, numbered."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            first = stream.readline().removeprefix(b"\xef\xbb\xbf")
            if first.startswith(UTF16_MARKS) or b"\x00" in first:
                raise DataError(
                    f"{path} must be UTF-8 text; it is UTF-16 or binary. If it is text, convert it: "
                    "iconv -f UTF-16 -t UTF-8 OLD > NEW."
                )
            fields = first.split()
            if len(fields) < 2:
                raise DataError(
                    f"{path}, line 1: must be a word and its numbers, or a count and a size; it is {first[:40]!r}."
                )
            count, size = _header(fields) or (None, len(fields) - 1)
            lines = enumerate(chain([first], stream) if count is None else stream, start=1 if count is None else 2)
            yield count, size, ((number, line) for number, line in lines if line.strip())
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def _header(fields: Sequence[bytes]) -> tuple[int, int] | None:
    """Count and size, if that is what a first line has."""
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 19 for field in fields) or not int(fields[1]):
        return None
    return int(fields[0]), int(fields[1])


def _first_word(line: bytes) -> bytes:
    return line.split(None, 1)[0]


def _is_sound(line: bytes, size: int) -> bool:
    """Whether a line looks like a word and `size` finite numbers, at a glance: nan and inf have an n."""
    separator = b"\t" if b"\t" in line else b" "
    _, _, numbers = line.rstrip().partition(separator)
    return numbers.count(separator) == size - 1 and b"n" not in numbers and b"N" not in numbers


def _entry(place: str, line: bytes, size: int) -> tuple[str, list[float]]:
    """The word of a line and its numbers; all that precedes the last `size` fields is the word, spaces included.

    Published files have a line or two with no word before the numbers; theirs is empty.
    """
    fields = line.split()
    extra = fields[1:-size]
    is_wordless = len(fields) == size and line[:1].isspace()
    if not is_wordless and (len(fields) <= size or (extra and all(map(_is_number, extra)))):
        raise DataError(f"{place}: must have a word and {size} numbers; it has {len(fields)} fields.")
    # Undecodable bytes occur in published files; such a word matches no token, so it does no harm.
    word = b" ".join(fields[:-size]).decode(errors="replace")
    try:
        values = [float(field) for field in fields[-size:]]
    except ValueError:
        wrong = next(field for field in fields[-size:] if not _is_number(field))
        raise DataError(f"{place}: {wrong.decode(errors='replace')!r:.60} is not a number.") from None
    if not all(map(math.isfinite, values)):
        raise DataError(f"{place}: the vector of {word!r:.60} must be finite numbers; it is not.")
    return word, values


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _check_finite(path: Path, words: Sequence[str], matrix: numpy.ndarray) -> None:
    wrong = numpy.flatnonzero(~numpy.isfinite(matrix).all(axis=1))
    if len(wrong):
        raise DataError(f"{path}: the vector of {words[wrong[0]]!r:.60} must be finite numbers; it is not.")


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} cannot be read as word vectors: {error}")
