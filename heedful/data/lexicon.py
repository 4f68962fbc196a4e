"""Opinion words for the mock sets: our own 150 + 150, or Hu and Liu's list where the user has it."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Literal

from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError
from heedful.settings.folder import data_folder

Lexicon = tuple[tuple[str, ...], tuple[str, ...]]


def opinion_words(name: Literal["heedful", "hu_liu"], tokenizer: WordTokenizer) -> Lexicon:
    """The negative and the positive words that are in one list only and that the tokenizer leaves whole.

    Hu and Liu's lists (2004) are read from `opinion_lexicon` in the data folder.

    >>> from heedful.settings import TextSettings
    >>> negative, positive = opinion_words("heedful", WordTokenizer.from_settings(TextSettings()))
    >>> len(negative), len(positive), negative[0], positive[0]
    (150, 150, 'bad', 'good')
    """
    negative, positive = _own() if name == "heedful" else _hu_liu(data_folder("lexicon='hu_liu'") / "opinion_lexicon")
    in_both = set(negative) & set(positive)
    return _usable(negative, in_both, tokenizer), _usable(positive, in_both, tokenizer)


def _own() -> Lexicon:
    folder = resources.files("heedful.data") / "words"
    negative, positive = (
        (folder / file).read_text(encoding="utf-8").split() for file in ("negative.txt", "positive.txt")
    )
    return tuple(negative), tuple(positive)


def _hu_liu(folder: Path) -> Lexicon:
    lists: list[tuple[str, ...]] = []
    for file in (folder / "negative-words.txt", folder / "positive-words.txt"):
        if not file.is_file():
            raise DataError(
                f"lexicon='hu_liu' needs {file}, which is not there. Put the opinion lexicon of Hu and Liu in that "
                "folder (one word per line), or use lexicon='heedful'."
            )
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise DataError(f"{file} must be UTF-8 text, one word per line; it cannot be read: {error}.") from error
        lists.append(tuple(line.strip() for line in lines if line.strip() and not line.startswith(";")))
    return lists[0], lists[1]


def _usable(words: Iterable[str], in_both: set[str], tokenizer: WordTokenizer) -> tuple[str, ...]:
    return tuple(word for word in words if word not in in_both and tokenizer.split(word)[0] == (word,))
