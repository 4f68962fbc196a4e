"""Sun and Lu's synthetic sets: two polar words planted among ten neutral ones.

The words are named for what they are (`positive_aab`, `neutral_bcd`), in letters alone, so that no tokenization and no
mapping of digits merges two of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import torch

from heedful.data.labeled_texts import LabeledText, LabeledTexts
from heedful.data.sampling import labels_in_blocks, seeded_generator
from heedful.errors import lookup
from heedful.settings import DataSettings, TextSettings

LABELS = {2: ("negative", "positive"), 3: ("first", "second", "third")}
TRAIN, TEST = 12_000, 2_000
NEUTRAL_IN_TEXT, POLAR_IN_TEXT = 10, 2


@dataclass(frozen=True)
class Recipe:
    """How the classes are mixed, negative : positive, and the share of texts with the next class's polar words."""

    ratio: tuple[int, ...] = (1, 1)
    noise: float = 0.0


RECIPES = {
    "planted": Recipe(),
    "planted-noisy": Recipe(noise=0.1),
    "planted-1:2": Recipe(ratio=(2, 1)),
    "planted-1:5": Recipe(ratio=(5, 1)),
    "planted-2:1": Recipe(ratio=(1, 2)),
    "planted-2:5": Recipe(ratio=(5, 2)),
    "planted-three": Recipe(ratio=(1, 1, 1)),
}
"""By name; the ratios in the names are positive : negative, as the paper writes them."""


def _named(kind: str, count: int) -> tuple[str, ...]:
    a = ascii_lowercase
    return tuple(f"{kind}_{a[n // 676]}{a[n // 26 % 26]}{a[n % 26]}" for n in range(count))


NEUTRAL = _named("neutral", 1_000)
POLAR = {label: _named(label, 50) for labels in LABELS.values() for label in labels}


def load(data: DataSettings, text: TextSettings) -> LabeledTexts:
    """The planted set that `data.source` names: 12,000 texts to train, 2,000 for dev and 2,000 for test.

    Each text has 10 distinct of 1,000 neutral words and 2 distinct of its class's 50 polar words, all in random order;
    the polar positions are the rationale. In `planted-noisy` each text has a chance of 0.1 to take the other class's
    polar words.

    Sun and Lu (2020), supplementary material: Data I and, noisy, Data II, whose share of noise is not stated. Their
    code puts the polar words last, which a model that reads in order would notice, and makes no dev or test set. Of
    their set with three labels they say nothing; `planted-three` is as Data I.
    """
    del text  # every tokenization leaves the words whole
    recipe = lookup("planted set", data.source, RECIPES)
    names = LABELS[len(recipe.ratio)]

    def draw(split: str, most: int, limit: int | None) -> tuple[LabeledText, ...]:
        generator = seeded_generator(data.source, split, data.split_seed)
        for_labels = seeded_generator(data.source, split, data.split_seed, "labels")
        labels = labels_in_blocks(recipe.ratio, min(most, limit or most), for_labels)
        return tuple(_draw_text(names, label, recipe.noise, generator) for label in labels)

    return LabeledTexts(
        name=data.source,
        is_generated=True,
        task="classification",
        labels=names,
        train=draw("train", TRAIN, data.train_limit),
        dev=draw("dev", TEST, data.test_limit),
        test=draw("test", TEST, data.test_limit),
    )


def _draw_text(names: Sequence[str], label: int, noise: float, generator: torch.Generator) -> LabeledText:
    is_noisy = bool(torch.rand((), generator=generator) < noise)
    polar = _some(POLAR[names[(label + is_noisy) % len(names)]], POLAR_IN_TEXT, generator)
    words = [*polar, *_some(NEUTRAL, NEUTRAL_IN_TEXT, generator)]
    order = torch.randperm(len(words), generator=generator).tolist()
    places = sorted(place for place, word in enumerate(order) if word < POLAR_IN_TEXT)
    return LabeledText(
        " ".join(words[word] for word in order),
        names[label],
        rationale=tuple((place, place + 1) for place in places),
    )


def _some(words: Sequence[str], count: int, generator: torch.Generator) -> list[str]:
    numbers: list[int] = torch.randperm(len(words), generator=generator)[:count].tolist()
    return [words[number] for number in numbers]
