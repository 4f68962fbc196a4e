"""The mock sets of Amini and Kosseim: opinion words of the label's own polarity among one filler word.

What makes a mock text is three draws, each a function below: how long it is, where its informative words stand, and
which words these are. One list of words a class, so more classes are more lists.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from heedful.datasets.draws import generator_of, labels_in_blocks
from heedful.datasets.lexicon import opinion_words
from heedful.datasets.rows import Row, Rows
from heedful.errors import SettingError, pick
from heedful.settings import DataSettings, TextSettings
from heedful.text import WordTokenizer

FILLER = "filler"
LABELS = ("negative", "positive")
TRAIN, TEST = 8_000, 1_000
SHORTEST, LONGEST = 50, 100


@dataclass(frozen=True)
class Amount:
    """How many words of a text are informative: a fixed count, or so many quarters of its length."""

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


def load(data: DataSettings, text: TextSettings) -> Rows:
    """The mock set that `data.source` names: 8,000 texts to train, 1,000 for dev and 1,000 for test, half positive.

    Length uniform in 50..100; informative words drawn with replacement, their positions without; all else is one filler
    word. The informative positions are the rationale. Limits are met by drawing no more, and the first texts of a
    larger set are those of a smaller one.

    Amini and Kosseim (How (Un)Faithful is Attention?, section 4.1), who have no dev set and leave replacement and
    rounding open.
    """
    amount = pick("mock set", data.source, AMOUNTS)
    lexicon = opinion_words(data.lexicon, WordTokenizer.from_settings(text))
    if not all(lexicon):
        raise SettingError(f"no word of lexicon='{data.lexicon}' is left whole by words='{text.words}'; use another.")

    def draw(split: str, most: int, limit: int | None) -> tuple[Row, ...]:
        generator = generator_of(data.source, split, data.split_seed)
        for_labels = generator_of(data.source, split, data.split_seed, "labels")
        labels = labels_in_blocks((1,) * len(lexicon), min(most, limit or most), for_labels)
        return tuple(_row(LABELS[label], lexicon[label], amount, generator) for label in labels)

    return Rows(
        name=data.source,
        task="classification",
        labels=LABELS,
        train=draw("train", TRAIN, data.train_limit),
        dev=draw("dev", TEST, data.test_limit),
        test=draw("test", TEST, data.test_limit),
    )


def _row(label: str, lexicon: Sequence[str], amount: Amount, generator: torch.Generator) -> Row:
    length = _length(generator)
    places = _places(length, amount.of(length), generator)
    words = [FILLER] * length
    for place, word in zip(places, _words(lexicon, len(places), generator), strict=True):
        words[place] = word
    return Row(" ".join(words), label, rationale=tuple((place, place + 1) for place in places))


def _length(generator: torch.Generator) -> int:
    return int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))


def _places(length: int, count: int, generator: torch.Generator) -> list[int]:
    return sorted(torch.randperm(length, generator=generator)[:count].tolist())


def _words(lexicon: Sequence[str], count: int, generator: torch.Generator) -> list[str]:
    numbers: list[int] = torch.randint(len(lexicon), (count,), generator=generator).tolist()
    return [lexicon[number] for number in numbers]
