"""A synonym to replace each word with: WordNet's, if pretrained word vectors agree.

WordNet's are read from a file of the user's: by part of speech, and for inflected words too.
"""

import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import islice
from math import nan
from pathlib import Path
from typing import Literal, NamedTuple, TypeGuard

import torch

from heedful.data.word_vectors import find_vectors, load_vectors, nearest_neighbours, nearest_rows
from heedful.errors import DataError
from heedful.settings.data_folder import data_folder_problem, data_path

FUNCTION_WORDS = frozenset(
    (resources.files("heedful.data") / "words" / "function_words.txt").read_text("utf-8").split()
)
"""Words of grammar, number and time that have no synonym to replace them: our own closed list.

WordNet has some of these as nouns (`a`: ampere, `in`: inch) without any information on their grammar."""


FILE = "synonyms/wordnet_synonyms.json.gz"

Wordnet = Mapping[str, Mapping[str, Sequence[str]]]
"""For each word, by part of speech (n, v, a, r), its synonyms in all senses, the most frequent sense first."""

ENDINGS = (
    ("s", "", "nv", "s"),
    ("es", "", "nv", "s"),
    ("ies", "y", "nv", "s"),
    ("ed", "", "v", "ed"),
    ("ed", "e", "v", "ed"),
    ("ied", "y", "v", "ed"),
    ("ing", "", "v", "ing"),
    ("ing", "e", "v", "ing"),
)
"""What an inflected word ends in, what its lemma has there, the parts of speech of which it can be, and its form."""


class Reading(NamedTuple):
    """A way to read a word: as this form of this lemma, of this part of speech."""

    lemma: str
    part: str
    form: str = ""


@dataclass(frozen=True)
class Candidate:
    """Two words that WordNet has as synonyms, in the same part of speech and form.

    Args:
        overlap: the share of their synonyms, taken together, that are synonyms of both; 1 where all are.
        in_all_parts: whether they are synonyms in every part of speech in which WordNet has synonyms of the first.
        is_first: whether each is the first synonym that WordNet lists for the other, so in its most frequent sense.
    """

    word: str
    synonym: str
    overlap: float
    in_all_parts: bool
    is_first: bool


def wordnet_path() -> Path | None:
    """The path of the file in the data folder; None if it is missing."""
    if data_folder_problem():
        return None
    path = data_path() / FILE
    return path if path.is_file() else None


def read_wordnet(path: Path) -> Wordnet:
    """What the file holds: gzipped JSON as {word: {part of speech: [synonyms]}}, lower case, uninflected."""
    wanted = f"{path} must be gzipped JSON as {{word: {{part of speech: [synonyms]}}}}"
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise DataError(f"{wanted}; it cannot be read: {error}.") from error
    if not _is_wordnet(content):
        raise DataError(f"{wanted}; it is JSON of another form.")
    return content


def _is_wordnet(content: object) -> TypeGuard[Wordnet]:
    if not isinstance(content, dict) or not all(isinstance(parts, dict) for parts in content.values()):
        return False
    lists = [synonyms for parts in content.values() for synonyms in parts.values()]
    return all(isinstance(synonyms, list) and all(isinstance(word, str) for word in synonyms) for synonyms in lists)


def is_replaceable(word: str) -> bool:
    """Whether a word may have a synonym: three letters or more, nothing but letters, and no function word.

    >>> [word for word in ("film", "the", "tv", "1984", "n't", "<pad>") if is_replaceable(word)]
    ['film']
    """
    return len(word) > 2 and word.isalpha() and word.lower() not in FUNCTION_WORDS


def are_forms_of_one_word(word: str, other: str) -> bool:
    """Whether one begins as the other, except for a last letter after the third: such words are not synonyms.

    >>> are_forms_of_one_word("ending", "end"), are_forms_of_one_word("movies", "moving")
    (True, False)
    >>> are_forms_of_one_word("create", "creating"), are_forms_of_one_word("man", "male")
    (True, False)
    """
    short, long = sorted((word, other), key=len)
    return long.startswith(short[: max(3, len(short) - 1)])


def readings(word: str, wordnet: Wordnet) -> list[Reading]:
    """All ways to read a word that WordNet has synonyms for.

    >>> wordnet = {"stop": {"v": ["end"]}, "end": {"n": [], "v": ["stop"]}}
    >>> readings("stopped", wordnet), readings("end", wordnet)
    ([Reading(lemma='stop', part='v', form='ed')], [Reading(lemma='end', part='v', form='')])
    """
    possible = [Reading(word, part) for part in "nvar"]
    for ending, lemma_ending, parts, form in ENDINGS:
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            is_doubled = form in ("ed", "ing") and stem[-1:] == stem[-2:-1]
            lemmas = {stem + lemma_ending, stem[:-1] if is_doubled else stem + lemma_ending}
            possible += [Reading(lemma, part, form) for lemma in sorted(lemmas) for part in parts]
    return [reading for reading in dict.fromkeys(possible) if wordnet.get(reading.lemma, {}).get(reading.part)]


def synonym_candidates(words: Iterable[str], wordnet: Wordnet) -> list[Candidate]:
    """All pairs of these words that WordNet has as synonyms, function words and forms of one word aside.

    >>> wordnet = {"film": {"n": ["movie"], "v": ["shoot"]}, "movie": {"n": ["film"]}}
    >>> for candidate in synonym_candidates(["film", "movie"], wordnet):
    ...     print(candidate)
    Candidate(word='film', synonym='movie', overlap=1.0, in_all_parts=False, is_first=True)
    Candidate(word='movie', synonym='film', overlap=1.0, in_all_parts=True, is_first=True)
    """
    known = {word: own for word in words if is_replaceable(word) and (own := readings(word, wordnet))}
    by_reading: defaultdict[Reading, list[str]] = defaultdict(list)
    for word, own in known.items():
        for reading in own:
            by_reading[reading].append(word)
    return [candidate for word, own in known.items() for candidate in _candidates(word, own, by_reading, wordnet)]


def _candidates(
    word: str, own: Sequence[Reading], by_reading: Mapping[Reading, Sequence[str]], wordnet: Wordnet
) -> list[Candidate]:
    shared: defaultdict[str, list[tuple[Reading, str]]] = defaultdict(list)
    for reading in own:
        for lemma in wordnet[reading.lemma][reading.part]:
            for other in by_reading.get(reading._replace(lemma=lemma), ()):
                if not are_forms_of_one_word(word, other):
                    shared[other].append((reading, lemma))
    parts = _parts(word, own, wordnet)
    return [
        Candidate(
            word,
            other,
            overlap=max(_overlap(reading, lemma, wordnet) for reading, lemma in both),
            in_all_parts=_parts(word, (reading for reading, _ in both), wordnet) == parts,
            is_first=all(_is_first(reading, lemma, wordnet) for reading, lemma in both),
        )
        for other, both in shared.items()
    ]


def _overlap(reading: Reading, lemma: str, wordnet: Wordnet) -> float:
    own = {reading.lemma, *wordnet[reading.lemma][reading.part]}
    other = {lemma, *wordnet[lemma][reading.part]}
    return len(own & other) / len(own | other)


def _is_first(reading: Reading, lemma: str, wordnet: Wordnet) -> bool:
    first, other_first = (wordnet[each][reading.part][0] for each in (reading.lemma, lemma))
    return (first, other_first) == (lemma, reading.lemma)


def _parts(word: str, own: Iterable[Reading], wordnet: Wordnet) -> set[str]:
    """The parts of speech of these readings; a participle that WordNet has as an adjective counts as that alone."""
    is_adjective = bool(wordnet.get(word, {}).get("a"))
    return {"a" if is_adjective and reading.form in ("ed", "ing") else reading.part for reading in own}


# The best synonym of each word of a vocabulary.

Kind = Literal["both", "wordnet", "vectors"]
NEIGHBOURS = 10
SEARCHED = 100
"""Number of nearest words that are searched for one that fits."""
OVERLAP_WEIGHT = 0.3
OTHER_PARTS = 0.2
MIN_COSINE = 0.7
MIN_SIMILARITY: dict[Kind, float] = {"both": 0.12, "wordnet": 0.65, "vectors": 0.2}
"""Chosen by reading the pairs of sst2 under GloVe's vectors; see docs/stability.md."""


@dataclass(frozen=True)
class Synonym:
    """The word that replaces another, how similar they are, and the cosine of their vectors."""

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
    """What is missing for synonyms of this kind, and how to give it, as a sentence; empty if nothing is missing."""
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

    def fit(word: str, other: str) -> bool:
        is_alike = bool(kinds[word] & kinds[other]) or not (kinds[word] and kinds[other])
        return is_alike and not are_forms_of_one_word(word, other)

    return [
        (word, Synonym(other, 2 * cosine - crowding[word] - crowding[other], cosine))
        for word, others in near.items()
        for other, cosine in islice((each for each in others if fit(word, each[0])), 1)
    ]


def _best(scored: Iterable[tuple[str, Synonym]], least: float) -> dict[str, Synonym]:
    """The most similar synonym of each word; of several, the first."""
    best: dict[str, Synonym] = {}
    for word, synonym in scored:
        if synonym.similarity >= least and (word not in best or synonym.similarity > best[word].similarity):
            best[word] = synonym
    return best
