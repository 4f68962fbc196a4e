"""WordNet's synonyms, from a file of the user's: by part of speech, and for inflected words too."""

import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple, TypeGuard

from heedful.errors import DataError
from heedful.settings.data_folder import data_folder_problem, data_path

FUNCTION_WORDS = frozenset(
    (resources.files("heedful.data") / "words" / "function_words.txt").read_text("utf-8").split()
)
"""Words of grammar, number and time that have no synonym to put in their place: a closed list of our own.

WordNet has some of these as nouns (`a`: ampere, `in`: inch) and knows nothing of their grammar."""


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
    """Where the file is: in the data folder; None where there is none."""
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
    """Whether one begins as the other, but for a last letter after the third: such words are no synonyms.

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
