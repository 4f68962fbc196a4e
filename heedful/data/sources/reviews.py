"""Hotel and restaurant reviews made by a small grammar, in which the words that decide the label are known."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TypeVar

import torch

from heedful.data.labeled_texts import LabeledText, LabeledTexts
from heedful.data.sampling import labels_in_blocks, seeded_generator
from heedful.settings import DataSettings, TextSettings

LABELS = ("negative", "positive")
TRAIN, TEST = 1_400, 300
SHORTEST, LONGEST = 8, 30
NEGATED, CONTRASTED, WITH_OPENING = 0.1, 0.1, 0.6
"""Shares of texts with a negated opinion ("not good"), a contrast ("small but quiet") and an opening clause."""
NUM_OPINIONS = (1, 2, 3, 3)
NUM_NEUTRAL = (0, 1, 1, 2)
"""Numbers of deciding opinion words and of neutral clauses, each as often as it is listed."""

GRAMMAR = tomllib.loads((resources.files("heedful.data") / "words" / "reviews.toml").read_text(encoding="utf-8"))
NEGATORS: list[str] = GRAMMAR["negators"]
GENERAL: list[list[str]] = GRAMMAR["general"]
"""Opinion words about anything: those of each label."""


@dataclass(frozen=True)
class Topic:
    """What is reviewed, and the opinion words about it: those of each label."""

    nouns: list[str]
    words: tuple[list[str], list[str]]


TOPICS = [Topic(topic["nouns"], (topic["negative"], topic["positive"])) for topic in GRAMMAR["topics"]]
OPINIONS = {
    word: label
    for label in range(len(LABELS))
    for words in (GENERAL, *(topic.words for topic in TOPICS))
    for word in words[label]
}
"""The label that each opinion word supports unless a negator precedes it."""

Word = tuple[str, bool]
"""A word, and whether it decides the label."""
Choice = TypeVar("Choice")


def load(data: DataSettings, text: TextSettings) -> LabeledTexts:
    """Return 2,000 reviews of 8 to 30 words, half of them positive: 1,400 to train on, 300 for dev and 300 for test.

    One to three opinion words decide the label, and all of them agree. A tenth of the texts negate one of them ("not
    good"), and a tenth have a contrast, in which only the side after "but" counts. The rationale consists of the
    deciding words and their negators. No text occurs twice. A limit keeps the first texts of a split.
    """
    del text  # every tokenization leaves the words whole
    texts = _draw_texts(data.split_seed)
    train, dev, test = texts[:TRAIN], texts[TRAIN : TRAIN + TEST], texts[TRAIN + TEST :]
    return LabeledTexts(
        name=data.source,
        is_generated=True,
        task="classification",
        labels=LABELS,
        train=train[: data.train_limit],
        dev=dev[: data.test_limit],
        test=test[: data.test_limit],
    )


@lru_cache(maxsize=4)
def _draw_texts(seed: int) -> tuple[LabeledText, ...]:
    """All texts of the dataset; each label has its share in every split."""
    generator = seeded_generator("reviews", seed)
    labels = labels_in_blocks((1, 1), TRAIN + 2 * TEST, generator)
    texts: dict[str, LabeledText] = {}
    for label in labels:
        is_negated, is_contrasted = _happens(NEGATED, generator), _happens(CONTRASTED, generator)
        drawn = None
        while drawn is None or drawn.text in texts or not SHORTEST <= len(drawn.text.split()) <= LONGEST:
            drawn = _draw_text(label, is_negated, is_contrasted, generator)
        texts[drawn.text] = drawn
    return tuple(texts.values())


def _draw_text(label: int, is_negated: bool, is_contrasted: bool, generator: torch.Generator) -> LabeledText:
    topics = _shuffled(TOPICS, generator)[: _choose(NUM_OPINIONS, generator)]
    opinions = [_opinion(topic, label, generator) for topic in topics[1:]]
    first = _opinion(topics[0], label, generator, is_negated=is_negated)
    if is_contrasted:
        other = _choose([topic for topic in TOPICS if topic != topics[0]], generator)
        opposing = _opinion(other, 1 - label, generator)
        first = [(word, False) for word, _ in opposing] + [("but", False), *first]
    elif opinions and _happens(0.5, generator):
        first = [*first, ("and", False), *opinions.pop()]
    neutral = _shuffled(GRAMMAR["neutral"], generator)[: _choose(NUM_NEUTRAL, generator)]
    clauses = _shuffled([first, *opinions, *(_filled(template, generator) for template in neutral)], generator)
    if _happens(WITH_OPENING, generator):
        clauses = [_filled(_choose(GRAMMAR["openings"], generator), generator), *clauses]
    return _joined(clauses, label)


def _opinion(topic: Topic, label: int, generator: torch.Generator, *, is_negated: bool = False) -> list[Word]:
    """A clause with one deciding opinion word, and its negator if there is one."""
    polarity = label != is_negated
    general = GENERAL[polarity][:1] if is_negated else GENERAL[polarity]  # "not good", but never "not wonderful"
    opinion = [(_choose(topic.words[polarity] + general, generator), True)]
    if is_negated:
        opinion = [(_choose(NEGATORS, generator), True), *opinion]
    elif _happens(0.3, generator):
        opinion = [(_choose(GRAMMAR["adverbs"], generator), False), *opinion]
    template = _choose(GRAMMAR["by_verb"] + ([] if is_negated else GRAMMAR["by_noun"]), generator)
    parts = {"{noun}": [(_choose(topic.nouns, generator), False)], "{opinion}": opinion}
    return [word for part in template.split() for word in parts.get(part, [(part, False)])]


def _filled(template: str, generator: torch.Generator) -> list[Word]:
    """A neutral clause."""
    words = (
        _choose(GRAMMAR["fillers"][word[1:-1]], generator) if word[0] == "{" else word for word in template.split()
    )
    return [(word, False) for word in words]


def _joined(clauses: Sequence[Sequence[Word]], label: int) -> LabeledText:
    words = [word for clause in clauses for word in (*clause, (";", False))]
    words[-1] = (".", False)
    rationale = tuple((position, position + 1) for position, (_, decides) in enumerate(words) if decides)
    return LabeledText(" ".join(word for word, _ in words), LABELS[label], rationale=rationale)


def _choose(choices: Sequence[Choice], generator: torch.Generator) -> Choice:
    return choices[int(torch.randint(len(choices), (), generator=generator))]


def _shuffled(values: Sequence[Choice], generator: torch.Generator) -> list[Choice]:
    return [values[index] for index in torch.randperm(len(values), generator=generator).tolist()]


def _happens(probability: float, generator: torch.Generator) -> bool:
    return bool(torch.rand((), generator=generator) < probability)
