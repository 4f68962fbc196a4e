"""Synonyms from WordNet, where the user has them."""

import gzip
import json
from collections.abc import Sequence

from heedful.data.folder import data_folder
from heedful.errors import DataError

FILE = "synonyms/wordnet_synonyms.json.gz"


def wordnet_synonyms(words: Sequence[str]) -> dict[int, tuple[int, ...]]:
    """For each word of a vocabulary that has any, the numbers of its synonyms in that vocabulary.

    Those of all parts of speech, in the order of the file; read from `synonyms` under HEEDFUL_DATA. WordNet has words
    in lower case and uninflected, so plurals and past tenses have none.
    """
    path = data_folder("synonyms='wordnet'") / FILE
    try:
        known = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"synonyms='wordnet' needs {path}, gzipped JSON as {{word: {{part of speech: [synonyms]}}}}; it cannot be "
            f"read: {error}. Or use synonyms='neighbours'."
        ) from error
    number = {word: place for place, word in enumerate(words)}
    synonyms = {}
    for word, place in number.items():
        same = dict.fromkeys(other for senses in known.get(word, {}).values() for other in senses)
        if numbers := tuple(number[other] for other in same if other in number and other != word):
            synonyms[place] = numbers
    return synonyms
