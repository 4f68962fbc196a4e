"""The mock sets of Amini and Kosseim: opinion words of the label's own polarity among one filler word.

A mock text is sampled in four steps, each a function below: its length, the positions of its informative words, which
words of its own class these are, and which of them are replaced by words of another class. Texts that differ only in
`positions` or `agreement` have the same lengths and the same words of their own class.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Literal

import torch

from heedful.data.labeled_texts import LabeledText, LabeledTexts
from heedful.data.sampling import labels_in_blocks, seeded_generator
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import DataError, SettingError, lookup
from heedful.settings import DataSettings, TextSettings
from heedful.settings.data_folder import data_folder

# Opinion words for the mock sets: our own 150 + 150, or Hu and Liu's list where the user has it.

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


FILLER = {"heedful": "filler", "hu_liu": "something"}
"""The one word that fills the rest of a text, by lexicon: with Hu and Liu's it is that of the paper."""
LABELS = ("negative", "positive")
TRAIN, TEST = 8_000, 1_000
SHORTEST, LONGEST = 50, 100


@dataclass(frozen=True)
class Amount:
    """How many words of a text are informative: a fixed count, or a number of quarters of its length."""

    count: int = 0
    quarters: int = 0

    def of(self, length: int) -> int:
        """The number of informative words in a text of that length, halves rounded to even.

        >>> Amount(count=5).of(50), Amount(quarters=1).of(50), Amount(quarters=1).of(51), Amount(quarters=4).of(51)
        (5, 12, 13, 51)
        """
        return self.count + round(self.quarters * length / 4)


AMOUNTS = {
    "mock-1": Amount(count=1),
    "mock-2": Amount(count=2),
    "mock-5": Amount(count=5),
    "mock-10": Amount(count=10),
    "mock-1q": Amount(quarters=1),
    "mock-2q": Amount(quarters=2),
    "mock-3q": Amount(quarters=3),
    "mock-4q": Amount(quarters=4),
}


@dataclass(frozen=True)
class Recipe:
    """How the texts of one set are made: a label and a list of words for each class, and what the settings ask for."""

    labels: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]
    amount: Amount
    filler: str
    positions: str
    agreement: float


def load(data: DataSettings, text: TextSettings) -> LabeledTexts:
    """The mock set that `data.source` names: 8,000 texts to train, 1,000 for dev and 1,000 for test, half positive.

    Length uniform in 50..100; informative words drawn with replacement, their positions without; all else is one filler
    word. The positions of the words of the text's own class are the rationale. A limit stops the sampling early, so a
    smaller set is a prefix of a larger one.

    Amini and Kosseim (2022, How (Un)Faithful is Attention?, section 4.1), who have no dev set and leave replacement and
    rounding open. Not in the paper: `positions` other than scattered, `agreement` below 1, more than two `classes`.
    """
    recipe = _recipe(data, text)

    def draw(split: str, most: int, limit: int | None) -> tuple[LabeledText, ...]:
        generator = seeded_generator(data.source, split, data.split_seed)
        for_labels = seeded_generator(data.source, split, data.split_seed, "labels")
        for_others = seeded_generator(data.source, split, data.split_seed, "others")
        labels = labels_in_blocks((1,) * data.classes, min(most, limit or most), for_labels)
        return tuple(_draw_text(recipe, label, generator, for_others) for label in labels)

    return LabeledTexts(
        name=data.source,
        is_generated=True,
        task="classification",
        labels=recipe.labels,
        train=draw("train", TRAIN, data.train_limit),
        dev=draw("dev", TEST, data.test_limit),
        test=draw("test", TEST, data.test_limit),
    )


def _recipe(data: DataSettings, text: TextSettings) -> Recipe:
    amount = lookup("mock set", data.source, AMOUNTS)
    opinions = opinion_words(data.lexicon, WordTokenizer.from_settings(text))
    if not all(opinions):
        raise SettingError(f"no word of lexicon='{data.lexicon}' is left whole by words='{text.words}'; use another.")
    labels, lists = class_words(opinions, data.classes)
    if not all(lists):
        raise SettingError(
            f"lexicon='{data.lexicon}' has too few words for {data.classes} classes: {sum(map(len, opinions))}. "
            "Lower `classes`, or use another lexicon."
        )
    return Recipe(labels, lists, amount, FILLER[data.lexicon], data.positions, data.agreement)


def class_words(opinions: Lexicon, classes: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The label and the words of each class: the two polarities, or all words assigned in turn to more groups.

    Groups mix both polarities; all that they mean is that no two share a word. To a model that learns its embeddings
    from the mock texts the two polarities mean no more; a model with pretrained vectors has more to learn.

    >>> class_words((("bad", "sad"), ("good", "glad")), 2)
    (('negative', 'positive'), (('bad', 'sad'), ('good', 'glad')))
    >>> class_words((("bad", "sad"), ("good", "glad")), 3)
    (('group 1', 'group 2', 'group 3'), (('bad', 'glad'), ('sad',), ('good',)))
    """
    if classes == len(opinions):
        return LABELS, opinions
    words = tuple(chain(*opinions))
    return tuple(f"group {n + 1}" for n in range(classes)), tuple(words[n::classes] for n in range(classes))


def own_words(count: int, agreement: float) -> int:
    """How many of `count` informative words are of the text's own class: `agreement` of them, always more than half.

    >>> own_words(10, 1.0), own_words(10, 0.8), own_words(10, 0.51), own_words(1, 0.51)
    (10, 8, 6, 1)
    """
    return max(round(agreement * count), count // 2 + 1)


def _draw_text(recipe: Recipe, label: int, generator: torch.Generator, for_others: torch.Generator) -> LabeledText:
    length = _length(generator)
    places = _places(length, recipe.amount.of(length), recipe.positions, generator)
    own = dict(zip(places, _words(recipe.lists[label], len(places), generator), strict=True))
    others = _others(recipe, label, places, for_others)
    words = [recipe.filler] * length
    for place, word in (own | others).items():
        words[place] = word
    rationale = tuple((place, place + 1) for place in places if place not in others)
    return LabeledText(" ".join(words), recipe.labels[label], rationale=rationale)


def _length(generator: torch.Generator) -> int:
    return int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))


def _places(length: int, count: int, positions: str, generator: torch.Generator) -> list[int]:
    # Drawn even where it is not used, so that the words, which are drawn next, do not depend on `positions`.
    scattered = sorted(torch.randperm(length, generator=generator)[:count].tolist())
    if positions == "scattered":
        return scattered
    first = {"start": 0, "middle": (length - count) // 2, "end": length - count}[positions]
    return [*range(first, first + count)]


def _words(lexicon: Sequence[str], count: int, generator: torch.Generator) -> list[str]:
    numbers: list[int] = torch.randint(len(lexicon), (count,), generator=generator).tolist()
    return [lexicon[number] for number in numbers]


def _others(recipe: Recipe, label: int, places: Sequence[int], generator: torch.Generator) -> dict[int, str]:
    """The words that indicate another class, each drawn from any other class, by position."""
    count = len(places) - own_words(len(places), recipe.agreement)
    if not count:
        return {}
    order: list[int] = torch.randperm(len(places), generator=generator)[:count].tolist()
    rivals = recipe.lists[:label] + recipe.lists[label + 1 :]
    chosen: list[int] = torch.randint(len(rivals), (count,), generator=generator).tolist()
    return {places[place]: _words(rivals[rival], 1, generator)[0] for place, rival in zip(order, chosen, strict=True)}
