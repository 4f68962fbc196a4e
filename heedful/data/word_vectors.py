"""Pretrained word vectors: read in bounded memory, arranged by vocabulary, and searched for neighbours."""

import gzip
import struct
import zipfile
import zlib
from array import array
from collections.abc import Collection, Sequence
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

from heedful.data.fetch import VECTORS, fetch_vectors
from heedful.data.tokenizer import SPECIAL
from heedful.errors import DataError, HeedfulError, SettingError, lookup
from heedful.settings.data_folder import data_folder, data_folder_problem, data_path, user_path
from heedful.store.folders import reason, sha256_of

# Files of word vectors: our own .npz, word2vec's .bin, and text as word2vec, GloVe and fastText write it.

WordsAndMatrix = tuple[tuple[str, ...], numpy.ndarray]
"""Words, each once, and a float32 matrix with a row for each."""


def read_npz(path: Path, only: frozenset[str] | None) -> WordsAndMatrix:
    """The arrays `words`, `vectors` and `row` of our own format: the vector of `words[i]` is `vectors[row[i]]`."""
    with path.open("rb") as file:
        archive = numpy.load(file, allow_pickle=False)
        arrays = dict(archive) if isinstance(archive, NpzFile) else {}
    words, vectors = arrays.get("words", numpy.zeros(0)), arrays.get("vectors", numpy.zeros(0))
    rows = arrays.get("row", numpy.arange(words.size))
    are_arrays = words.ndim == 1 and words.dtype.kind == "U" and vectors.ndim == 2 and vectors.dtype.kind == "f"
    are_rows = rows.shape == words.shape and rows.dtype.kind in "iu"
    if not (are_arrays and are_rows and vectors.size) or (
        rows.size and not 0 <= rows.min() <= rows.max() < len(vectors)
    ):
        raise DataError(
            f"{path} must hold the arrays words (strings), vectors (a matrix of floating-point numbers) and row (for "
            f"each word the number of its vector); it holds {', '.join(arrays) or 'none'}, or they do not fit together."
        )
    places: dict[str, int] = {}
    for word, row in zip(words.tolist(), rows.tolist(), strict=True):
        if only is None or word in only:
            places.setdefault(word, row)
    return tuple(places), vectors[list(places.values())].astype(numpy.float32).reshape(len(places), vectors.shape[1])


def read_binary(path: Path, only: frozenset[str] | None) -> WordsAndMatrix:
    """The vectors of word2vec's binary format, all of them in memory."""
    try:
        keyed_vectors = import_module("gensim.models").KeyedVectors
    except ImportError as error:
        raise SettingError(f"{path}: .bin files need gensim. Install it: pip install 'heedful[vectors]'.") from error
    loaded = keyed_vectors.load_word2vec_format(str(path), binary=True)
    words = tuple(word for word in loaded.index_to_key if only is None or word in only)
    return words, numpy.array(loaded.vectors[[loaded.key_to_index[word] for word in words]], dtype=numpy.float32)


def read_text(path: Path, only: frozenset[str] | None) -> WordsAndMatrix:
    """The vectors of a text file, a word and its numbers on each line, read line by line: gensim would keep them all.

    All that precedes the numbers is the word, spaces included; bytes that are no characters match no word.
    """
    places: dict[str, None] = {}
    numbers = array("f")
    first_words = None if only is None else {word.split(None, 1)[0].encode() for word in only if word.strip()}
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        first = stream.readline().removeprefix(b"\xef\xbb\xbf")
        fields = first.split()
        if len(fields) < 2 or b"\x00" in first:
            raise DataError(
                f"{path}, line 1: must be a word and its numbers, or a count and a size, as UTF-8 text; it is "
                f"{first[:40]!r}."
            )
        has_header = len(fields) == 2 and all(field.isdigit() and len(field) < 19 for field in fields)
        size = int(fields[1]) if has_header else len(fields) - 1
        lines, seen = stream if has_header else chain([first], stream), 0
        for number, line in enumerate(lines, start=2 if has_header else 1):
            beginning = line.split(None, 1)
            seen += bool(beginning)
            if not beginning or (first_words is not None and beginning[0] not in first_words):
                continue
            parts = line.split()
            spelt, values = parts[:-size], parts[-size:]
            if not spelt and line[:1].isspace():
                continue  # published files have a line or two without a word
            if not spelt or not all(map(_is_number, values)) or (spelt[1:] and all(map(_is_number, spelt[1:]))):
                raise DataError(f"{path}, line {number}: must have a word and {size} numbers; it is {line[:60]!r}.")
            word = b" ".join(spelt).decode(errors="replace")
            if word not in places and (only is None or word in only):
                places[word] = None
                numbers.extend(map(float, values))
    if has_header and seen < int(fields[0]):
        raise DataError(
            f"{path} should have {int(fields[0])} words by its first line, but has {seen}: it was truncated. Download "
            "it again."
        )
    return tuple(places), numpy.array(numbers, dtype=numpy.float32).reshape(len(places), size)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


USUAL = ("glove_6b_300d", "glove_6b_100d", "glove_6b_50d")
"""Default vectors, if none are named: the first of these that are there; see docs/stability.md."""
CHUNK = 256

_DAMAGE = (
    *(OSError, EOFError, ValueError, KeyError, MemoryError, OverflowError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""What reading a damaged file may raise."""


@dataclass(frozen=True)
class Vectors:
    """One vector per word, each word once."""

    words: tuple[str, ...]
    matrix: Float[Tensor, "word size"]


def load_vectors(source: str, only: Collection[str] | None = None) -> Vectors:
    """The vectors of a file, or of a name in the data folder's `embeddings`; of a repeated word, the first.

    The file is a text file as written by word2vec, GloVe and fastText (word and numbers on a line, perhaps a first line
    with count and size, perhaps gzipped), word2vec's `.bin` (with gensim) or our `.npz`: arrays `words`, `vectors` and
    `row`, where the vector of `words[i]` is `vectors[row[i]]`.

    Args:
        only: the words wanted. Others are neither kept nor checked, so a file larger than memory can be read (but not a
            `.bin`).
    """
    path = find_vectors(source)
    suffix = path.suffix.lower()
    if suffix in (".kv", ".model", ".pkl", ".pickle"):
        raise DataError(
            f"{path} is a pickle, which may run any program when opened. If you trust it, save it as text first: "
            "KeyedVectors.load(FILE).save_word2vec_format('vectors.txt')."
        )
    read = {".npz": read_npz, ".bin": read_binary}.get(suffix, read_text)
    try:
        words, matrix = read(path, None if only is None else frozenset(only))
    except HeedfulError:
        raise
    except _DAMAGE as error:
        hint = " If it is a model of fastText, use the .vec file that comes with it." if suffix == ".bin" else ""
        raise DataError(f"{path} cannot be read as word vectors: {reason(error)}.{hint}") from error
    if wrong := numpy.flatnonzero(~numpy.isfinite(matrix).all(axis=1)).tolist():
        raise DataError(f"{path}: the vector of {words[wrong[0]]!r:.60} must be finite numbers; it is not.")
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
    zero, as in their code. Vectors that have none of the words are refused.

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
    """The name of the vectors that confirm synonyms for a model without its own; empty if none are available."""
    if data_folder_problem():
        return ""
    names = {file.stem for file in (data_path() / "embeddings").glob("*") if file.suffix != ".json"}
    return next((name for name in USUAL if name in names), "")


def find_vectors(source: str) -> Path:
    """The file of these vectors: a path, a name in the data folder's `embeddings`, or public vectors, fetched once."""
    path = user_path(source, "--vectors")
    if path.is_file():
        return path
    if source in VECTORS:
        return fetch_vectors(source)
    if len(path.parts) > 1:
        raise DataError(f"there is no vector file {path}.")
    folder = data_folder(f"vectors '{source}' (there is no such file here)") / "embeddings"
    if (folder / source).is_file():
        return folder / source
    known = {file.stem: file for file in sorted(folder.glob("*")) if file.suffix != ".json"}
    return lookup("vectors", source, known | dict.fromkeys(VECTORS, folder))
