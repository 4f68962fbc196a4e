"""Pretrained word vectors: read in bounded memory, arranged by vocabulary, and searched for neighbours."""

import gzip
import math
import struct
import zipfile
import zlib
from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy
import torch
from jaxtyping import Float, Int
from numpy.lib.npyio import NpzFile
from torch import Tensor

from heedful.data.tokenizer import SPECIAL
from heedful.errors import DataError, SettingError, lookup
from heedful.settings.data_folder import data_folder, data_folder_problem, data_path, user_path
from heedful.store.folders import sha256_of

# Files of word vectors: our own .npz, word2vec's .bin, and text as word2vec, GloVe and fastText write it.

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


USUAL = ("glove_6b_300d", "glove_6b_100d", "glove_6b_50d")
"""Vectors that are taken where nobody names any, the first that are there; see docs/stability.md."""
CHUNK = 256


@dataclass(frozen=True)
class Vectors:
    """One vector per word, each word once."""

    words: tuple[str, ...]
    matrix: Float[Tensor, "word size"]


def load_vectors(source: str, only: Collection[str] | None = None) -> Vectors:
    """The vectors of a file, or of a name in the data folder's `embeddings`; of a repeated word, the first.

    Read are text files as word2vec, GloVe and fastText write them (word and numbers on a line, perhaps a first line
    with count and size, perhaps gzipped), word2vec's `.bin` (with gensim) and our `.npz`: arrays `words`, `vectors` and
    `row`, where the vector of `words[i]` is `vectors[row[i]]`.

    Args:
        only: the words wanted. Others are not kept, so a file larger than memory can be read (but not a `.bin`).
    """
    path = find_vectors(source)
    wanted = None if only is None else frozenset(only)
    suffix = path.suffix.lower()
    if suffix in (".kv", ".model", ".pkl", ".pickle"):
        raise DataError(
            f"{path} is a pickle, which may run any program when opened. If you trust it, save it as text first: "
            "KeyedVectors.load(FILE).save_word2vec_format('vectors.txt')."
        )
    words, matrix = {".npz": read_npz, ".bin": read_binary}.get(suffix, read_text)(path, wanted)
    return Vectors(words, torch.from_numpy(matrix))


def vectors_fingerprint(source: str) -> str:
    """A hash of the file's content: other vectors under the same name make another run."""
    path = find_vectors(source)
    facts = path.stat()
    return _hashed(path, facts.st_size, facts.st_mtime_ns)


@lru_cache
def _hashed(path: Path, size: int, modified: int) -> str:
    """The hash as computed before, where the file is as it was."""
    try:
        return sha256_of(path)[:16]
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def embedding_matrix(
    words: Sequence[str],
    vectors: Vectors,
    *,
    missing: Literal["normal", "zero"],
    unit: bool,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "vocab size"], float]:
    """One row for each word of the vocabulary, and the share of the words (our symbols aside) that have a vector.

    Row 0, the padding, is zero. Words without a vector are drawn from N(0, 1), as Jain and Wallace (2019) write, or
    zero, as their code has it. Vectors that have none of the words are refused.

    Args:
        unit: scale every row but zero ones to length 1, as Serrano and Smith (2019) do.

    >>> vectors = Vectors(("good", "bad"), torch.tensor([[3.0, 4.0], [0.0, -2.0]]))
    >>> vocabulary = ["<pad>", "<unk>", "<start>", "<end>", "bad", "film"]
    >>> matrix, coverage = embedding_matrix(
    ...     vocabulary, vectors, missing="zero", unit=True, generator=torch.Generator().manual_seed(0)
    ... )
    >>> matrix[4:], coverage
    (tensor([[ 0., -1.], [ 0.,  0.]]), 0.5)
    """
    size = vectors.matrix.shape[1]
    initial = (
        torch.randn(len(words), size, generator=generator) if missing == "normal" else torch.zeros(len(words), size)
    )
    place = {word: number for number, word in enumerate(vectors.words)}
    known = [number for number, word in enumerate(words) if word in place]
    matrix = initial.index_copy(
        0, torch.tensor(known, dtype=torch.long), vectors.matrix[[place[words[n]] for n in known]]
    )
    matrix = torch.cat([torch.zeros(1, size), matrix[1:]])
    if unit:
        matrix = torch.nn.functional.normalize(matrix, dim=1)
    real = [word for word in words if word not in SPECIAL]
    coverage = sum(word in place for word in real) / max(1, len(real))
    if real and not coverage:
        raise DataError(
            f"the pretrained vectors have none of the {len(real):,} words of the vocabulary ({', '.join(real[:5])} "
            "...). Are they of another language, or cased otherwise (--set text.lowercase=false)? Give others by "
            "--vectors."
        )
    return matrix, coverage


def nearest_neighbours(vectors: Vectors, words: Sequence[str], n: int) -> dict[str, tuple[tuple[str, float], ...]]:
    """The n other words whose vectors make the smallest angle with that of each word, nearest first, with the cosine.

    Words without a vector are left out; where there are fewer than n others, all are given.

    >>> vectors = Vectors(("up", "high", "down"), torch.tensor([[0.0, 1.0], [0.6, 0.8], [0.0, -1.0]]))
    >>> nearest_neighbours(vectors, ["up", "left"], 1)
    {'up': (('high', 0.800000011920929),)}
    """
    if n < 1:
        raise SettingError(f"n must be at least 1; it is {n}.")
    place = {word: number for number, word in enumerate(vectors.words)}
    known = [word for word in dict.fromkeys(words) if word in place]
    cosines, rows = nearest_rows(vectors.matrix, torch.tensor([place[word] for word in known], dtype=torch.long), n)
    return {
        word: tuple((vectors.words[row], value) for row, value in zip(*near, strict=True))
        for word, *near in zip(known, rows.tolist(), cosines.tolist(), strict=True)
    }


def nearest_rows(
    matrix: Float[Tensor, "word size"], rows: Int[Tensor, " row"], n: int
) -> tuple[Float[Tensor, "row n"], Int[Tensor, "row n"]]:
    """Cosine and number of the n other rows that make the smallest angle with each of these, nearest first.

    >>> nearest_rows(torch.tensor([[0.0, 1.0], [0.6, 0.8], [0.0, -1.0]]), torch.tensor([2]), 1)
    (tensor([[-0.8000]]), tensor([[1]]))
    """
    # Only the lengths, not a matrix of unit vectors: a large one takes longer to write than to multiply.
    length = matrix.norm(dim=1).clamp_min(1e-12)
    most, near = min(n, len(matrix) - 1), []
    for own in rows.split(CHUNK):
        cosine = matrix[own] @ matrix.T / length / length[own, None]
        near.append(cosine.scatter(1, own[:, None], -torch.inf).topk(most, dim=1))
    return torch.cat([top.values for top in near]), torch.cat([top.indices for top in near])


def usual_vectors() -> str:
    """The name of the vectors that confirm synonyms where a model has none of its own; empty where none are at hand."""
    if data_folder_problem():
        return ""
    names = {file.stem for file in (data_path() / "embeddings").glob("*") if file.suffix != ".json"}
    return next((name for name in USUAL if name in names), "")


def find_vectors(source: str) -> Path:
    """The file of these vectors: a path, or a name in the data folder's `embeddings`."""
    path = user_path(source, "--vectors")
    if path.is_file():
        return path
    if len(path.parts) > 1:
        raise DataError(f"there is no vector file {path}.")
    folder = data_folder(f"vectors '{source}' (there is no such file here)") / "embeddings"
    if (folder / source).is_file():
        return folder / source
    return lookup("vectors", source, {file.stem: file for file in sorted(folder.glob("*")) if file.suffix != ".json"})
