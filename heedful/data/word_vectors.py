"""Pretrained word vectors: read in bounded memory, arranged by vocabulary, and searched for neighbours."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.data.tokenizer import SPECIAL
from heedful.data.vector_formats import read_binary, read_npz, read_text
from heedful.errors import DataError, SettingError, pick
from heedful.settings.folder import data_folder, data_folder_problem, data_path, user_path

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
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
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
    return pick("vectors", source, {file.stem: file for file in sorted(folder.glob("*")) if file.suffix != ".json"})
