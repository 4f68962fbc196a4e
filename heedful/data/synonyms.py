"""A synonym to put in the place of each word: WordNet's, where pretrained word vectors agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import nan
from pathlib import Path
from typing import Literal

import torch

from heedful.data.word_vectors import find_vectors, load_vectors, nearest_neighbours, nearest_rows
from heedful.data.wordnet import (
    FILE,
    Candidate,
    Wordnet,
    are_forms_of_one_word,
    is_replaceable,
    read_wordnet,
    readings,
    synonym_candidates,
    wordnet_path,
)
from heedful.errors import DataError

Kind = Literal["both", "wordnet", "vectors"]
NEIGHBOURS = 10
SEARCHED = 100
"""So many nearest words are searched for one that fits."""
OVERLAP_WEIGHT = 0.3
OTHER_PARTS = 0.2
MIN_COSINE = 0.7
MIN_SIMILARITY: dict[Kind, float] = {"both": 0.12, "wordnet": 0.65, "vectors": 0.2}
"""Chosen by reading the pairs of sst2 under GloVe's vectors; see docs/stability.md."""


@dataclass(frozen=True)
class Synonym:
    """The word to put in the place of another, how similar they are, and the cosine of their vectors."""

    word: str
    similarity: float
    cosine: float = nan


@dataclass(frozen=True)
class Synonyms:
    """For each word of a vocabulary that has one, its synonym in that vocabulary.

    Args:
        source: where they come from, as a sentence.
    """

    pairs: Mapping[str, Synonym]
    source: str


def missing_sources(kind: Kind, vectors: str) -> str:
    """What is missing for synonyms of this kind, and how to give it, as a sentence; empty where all is there."""
    missing = []
    if kind != "vectors" and wordnet_path() is None:
        missing.append(f"WordNet's synonyms (put the file {FILE} into the folder that HEEDFUL_DATA names)")
    if kind != "wordnet" and not vectors:
        missing.append(
            "pretrained word vectors (train with `--vectors NAME`, or give the audit "
            "`--set audit.word_substitution.vectors=NAME`)"
        )
    return f"To find synonyms, the audit needs {' and '.join(missing)}." if missing else ""


def find_synonyms(
    words: Sequence[str], kind: Kind = "both", vectors: str = "", min_similarity: float | None = None
) -> Synonyms:
    """The best synonym of each word of a vocabulary among the others, where one is good enough.

    Never of function words, numbers and names with digits, words of one or two letters, or forms of the same word.

    - `both`: WordNet's synonyms, by `confirmed_similarity`.
    - `wordnet`: WordNet's alone, by `first_synonyms`.
    - `vectors`: the nearest word, by `nearest_words`.

    Only the first is good enough to be the default: see docs/stability.md.

    Args:
        vectors: a file, or a name under HEEDFUL_DATA.
        min_similarity: the least similarity; None: that of MIN_SIMILARITY.
    """
    if missing := missing_sources(kind, vectors):
        raise DataError(missing)
    least = MIN_SIMILARITY[kind] if min_similarity is None else min_similarity
    paths = (wordnet_path(), find_vectors(vectors) if kind != "wordnet" else None)
    return _found(tuple(words), kind, vectors, least, tuple(_stamp(path) for path in paths if path))


@lru_cache(maxsize=2)
def _found(
    words: tuple[str, ...], kind: Kind, vectors: str, least: float, files: tuple[tuple[Path, int, int], ...]
) -> Synonyms:
    """As `find_synonyms`; kept, since a process that audits many models of one vocabulary asks again.

    Args:
        files: those that are read, with size and time: what was found in others does not count.
    """
    path = wordnet_path()
    wordnet = read_wordnet(path) if path else {}
    if kind == "vectors":
        scored, source = nearest_words(words, wordnet, vectors), f"the nearest words by the vectors '{vectors}'"
    elif kind == "wordnet":
        scored = first_synonyms(synonym_candidates(words, wordnet))
        source = "WordNet's synonyms in the most frequent sense of both words, with no word vectors to confirm them"
    else:
        scored = confirmed_similarity(synonym_candidates(words, wordnet), wordnet, vectors)
        source = f"WordNet's synonyms that the word vectors '{vectors}' confirm (cosine at least {MIN_COSINE:g})"
    return Synonyms(_best(scored, least), f"Synonyms are {source}; similarity at least {least:g}.")


def _stamp(path: Path) -> tuple[Path, int, int]:
    facts = path.stat()
    return path.resolve(), facts.st_size, facts.st_mtime_ns


def first_synonyms(candidates: Iterable[Candidate]) -> list[tuple[str, Synonym]]:
    """WordNet's synonyms in the most frequent sense of both words and in all parts of speech, by their overlap."""
    return [
        (each.word, Synonym(each.synonym, each.overlap)) for each in candidates if each.is_first and each.in_all_parts
    ]


def confirmed_similarity(candidates: Sequence[Candidate], wordnet: Wordnet, vectors: str) -> list[tuple[str, Synonym]]:
    """How similar WordNet's synonyms are, for those whose vectors have a cosine of MIN_COSINE or more.

    2 cos(w, s) - c(w) - c(s) + 0.3 overlap, and 0.2 less where they are synonyms in some of the parts of speech of w
    only. c(w) is the mean cosine of w with its ten nearest words: common words (`make`, `take`) are near to many, so
    that only a larger cosine says as much of them. This is the CSLS of Conneau et al. (2018), within one language.
    """
    loaded = load_vectors(
        vectors, only={word for each in candidates for word in (each.word, each.synonym)} | {*wordnet}
    )
    place = {word: number for number, word in enumerate(loaded.words)}
    known = [each for each in candidates if each.word in place and each.synonym in place]
    if not known:
        return []
    first, second = (
        torch.tensor([place[word] for word in side])
        for side in ([each.word for each in known], [each.synonym for each in known])
    )
    cosines = torch.cosine_similarity(loaded.matrix[first], loaded.matrix[second], dim=1)
    near = cosines >= MIN_COSINE
    rows = torch.cat([first[near], second[near]]).unique()
    crowding = torch.zeros(len(loaded.words))
    crowding[rows] = nearest_rows(loaded.matrix, rows, NEIGHBOURS)[0].mean(1)
    relative = 2 * cosines - crowding[first] - crowding[second]
    weights = [OVERLAP_WEIGHT * each.overlap - (0.0 if each.in_all_parts else OTHER_PARTS) for each in known]
    similar = (relative + torch.tensor(weights)).tolist()
    return [
        (each.word, Synonym(each.synonym, similarity, cosine))
        for each, is_near, similarity, cosine in zip(known, near.tolist(), similar, cosines.tolist(), strict=True)
        if is_near
    ]


def nearest_words(words: Sequence[str], wordnet: Wordnet, vectors: str) -> list[tuple[str, Synonym]]:
    """The nearest of these words to each by the cosine of their vectors, as Hu et al. (2023) have it.

    Where WordNet knows both, only words with a part of speech and a form in common. How similar they are is
    2 cos(w, s) - c(w) - c(s), with c as in `confirmed_similarity`: from -4 to 4.
    """
    loaded = load_vectors(vectors, only=[word for word in words if is_replaceable(word)])
    if not loaded.words:
        return []
    near = nearest_neighbours(loaded, loaded.words, SEARCHED)
    crowding = {
        word: sum(cosine for _, cosine in others[:NEIGHBOURS]) / max(1, len(others[:NEIGHBOURS]))
        for word, others in near.items()
    }
    kinds = {word: {(each.part, each.form) for each in readings(word, wordnet)} for word in near}
    nearest = [(word, each) for word, others in near.items() for each in _first_fitting(word, others, kinds)]
    return [
        (word, Synonym(other, 2 * cosine - crowding[word] - crowding[other], cosine))
        for word, (other, cosine) in nearest
    ]


def _first_fitting(
    word: str, others: Iterable[tuple[str, float]], kinds: Mapping[str, set[tuple[str, str]]]
) -> list[tuple[str, float]]:
    """The first of these words that may stand for the word, with its cosine; none where none fits."""
    return list(islice((each for each in others if _fit(word, each[0], kinds)), 1))


def _fit(word: str, other: str, kinds: Mapping[str, set[tuple[str, str]]]) -> bool:
    """Whether one may stand for the other, by these parts of speech and forms."""
    is_alike = bool(kinds[word] & kinds[other]) or not (kinds[word] and kinds[other])
    return is_alike and not are_forms_of_one_word(word, other)


def _best(scored: Iterable[tuple[str, Synonym]], least: float) -> dict[str, Synonym]:
    """The most similar synonym of each word; of several, the first."""
    best: dict[str, Synonym] = {}
    for word, synonym in scored:
        if synonym.similarity >= least and (word not in best or synonym.similarity > best[word].similarity):
            best[word] = synonym
    return best
