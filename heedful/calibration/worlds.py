"""Worlds whose truth is known: models that are functions of the set of words left, and attention given by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.measures.outcome import JudgedText, ReadSets, TextToJudge, is_moved, judge_texts
from heedful.schema import Outcome
from heedful.settings import OutcomeSettings
from heedful.verdict.answers import REASONS

LIKELY, EVEN = 0.95, 0.5
"""Probability of the prediction if a deciding word is left, and if none is."""
LENGTHS = tuple(range(12, 31))
LOG_ODDS = 2.94
"""Log odds of the whole text if many weak words decide: a probability of 0.95."""

POINTS: dict[Outcome, float] = {"points": 1.0, "misses": 0.0, "no_small_set": nan}

Left = Bool[ndarray, "set special"]
"""Which of a text's special words are left."""
Model = Callable[[Left, Float[ndarray, " set"], Int[ndarray, " set"]], Float[ndarray, " set"]]
"""Probability of the label, given the special words left, the share of words left and the label of the text."""
Attention = Callable[[Int[ndarray, " special"], Float[ndarray, " item"]], Float[ndarray, " item"]]
"""Scores of a text's words, given the positions of the special words and a random number for each word."""


@dataclass(frozen=True)
class World:
    """Texts with some special words, a model that reads them, and attention of known quality.

    Args:
        lengths: numbers of words of a text, each as often as it is listed.
        states: probability of the label from the states of the words, if they differ from the words.
    """

    name: str
    special: int
    model: Model
    attentions: Mapping[str, Attention]
    lengths: tuple[int, ...] = LENGTHS
    states: Model | None = None


@dataclass(frozen=True)
class Texts:
    """Texts drawn from a world: half of them of class 0.

    Args:
        special: positions of the special words of each text.
        noise: a random number for each word.
    """

    labels: Int[ndarray, " text"]
    special: list[Int[ndarray, " special"]]
    noise: list[Float[ndarray, " item"]]
    seed: int


@dataclass(frozen=True)
class Judged:
    """Outcomes of one attention on texts of a world.

    Args:
        points: 1 if attention points, 0 if it misses, NaN if no small set decides.
        reason: place in REASONS, -1 if a small set decides.
        moved: whether the top words show moved information; NaN if no small set decides or states are words.
    """

    points: Float[ndarray, " text"]
    luck: Float[ndarray, " text"]
    reason: Int[ndarray, " text"]
    moved: Float[ndarray, " text"]


def draw_texts(world: World, texts: int, seed: int) -> Texts:
    """Texts of a world; they depend on the arguments alone."""
    generator = np.random.default_rng(seed)
    lengths = generator.choice(world.lengths, texts)
    noise = [generator.random(length) for length in lengths]
    special = [generator.permutation(length)[: world.special] for length in lengths]
    return Texts(np.arange(texts) % 2, special, noise, seed)


def judge(world: World, texts: Texts, settings: OutcomeSettings) -> dict[str, Judged]:
    """Outcomes of each attention of the world. None of them helps the search for the key words."""
    all_left, none_left = (np.full((len(texts.labels), world.special), is_left) for is_left in (True, False))
    ones = np.ones(len(texts.labels))
    whole = _by_class(world.model(all_left, ones, texts.labels), texts.labels)
    empty = world.model(none_left, 0 * ones, texts.labels)
    to_judge = {
        number: TextToJudge(
            whole=whole[number],
            scores={name: attend(special, noise) for name, attend in world.attentions.items()},
            seed=(texts.seed, number),
            empty=float(empty[number]),
        )
        for number, (special, noise) in enumerate(zip(texts.special, texts.noise, strict=True))
    }
    judged = judge_texts(to_judge, _reader(world, texts), settings)
    each = [judged[number] for number in to_judge]
    luck = np.array([text.luck for text in each])
    reason = np.array([-1 if text.reason is None else REASONS.index(text.reason) for text in each])
    return {
        name: Judged(
            points=np.array([POINTS[text.outcomes[name]] for text in each]),
            luck=luck,
            reason=reason,
            moved=np.array(
                [
                    _moved(world, special, name, text, settings)
                    for special, text in zip(texts.special, each, strict=True)
                ]
            ),
        )
        for name in world.attentions
    }


def _reader(world: World, texts: Texts) -> ReadSets:
    def read(requests: dict[int, Bool[ndarray, "set item"]]) -> dict[int, Float[ndarray, "set classes"]]:
        sizes = [len(sets) for sets in requests.values()]
        left = np.concatenate([sets[:, texts.special[number]] for number, sets in requests.items()])
        share = np.concatenate([np.count_nonzero(sets, axis=1) / sets.shape[1] for sets in requests.values()])
        labels = texts.labels[[*requests]].repeat(sizes)
        probabilities = _by_class(world.model(left, share, labels), labels)
        return dict(zip(requests, np.split(probabilities, np.cumsum(sizes)[:-1]), strict=True))

    return read


def _by_class(of_label: Float[ndarray, " set"], labels: Int[ndarray, " set"]) -> Float[ndarray, "set 2"]:
    return np.where(labels[:, None] == np.arange(2), of_label[:, None], 1 - of_label[:, None])


def _moved(
    world: World, special: Int[ndarray, " special"], attention: str, judged: JudgedText, settings: OutcomeSettings
) -> float:
    if world.states is None or judged.reason is not None:
        return nan
    top = np.isin(special, judged.tops[attention].words)[None]
    states = world.states(top, np.zeros(1), np.array([judged.predicted])).item()
    return float(is_moved(judged, attention, states, settings))


def some_left(left: Left, share: Float[ndarray, " set"], label: Int[ndarray, " set"]) -> Float[ndarray, " set"]:
    """Each special word is enough."""
    return np.where(left.any(1), LIKELY, EVEN)


def all_left(left: Left, share: Float[ndarray, " set"], label: Int[ndarray, " set"]) -> Float[ndarray, " set"]:
    """The special words decide only together."""
    return np.where(left.all(1), LIKELY, EVEN)


def opposed(left: Left, share: Float[ndarray, " set"], label: Int[ndarray, " set"]) -> Float[ndarray, " set"]:
    """The first special word supports the label, the second one opposes it and is weaker."""
    return np.array([[0.5, 0.3], [0.95, 0.85]])[left[:, 0].astype(int), left[:, 1].astype(int)]


def many_weak(left: Left, share: Float[ndarray, " set"], label: Int[ndarray, " set"]) -> Float[ndarray, " set"]:
    """Every word adds the same log odds."""
    return 1 / (1 + np.exp(-LOG_ODDS * share))


def by_default(left: Left, share: Float[ndarray, " set"], label: Int[ndarray, " set"]) -> Float[ndarray, " set"]:
    """The model predicts class 1 unless the special word of a text of class 0 is left."""
    return np.where((label == 1) | left.any(1), LIKELY, 1 - LIKELY)


def word_left(word: int) -> Model:
    """This special word decides."""
    return lambda left, share, label: np.where(left[:, word], LIKELY, EVEN)


def on(*words: int) -> Attention:
    """Most on these special words, something random on all others."""

    def scores(special: Int[ndarray, " special"], noise: Float[ndarray, " item"]) -> Float[ndarray, " item"]:
        return noise + np.isin(np.arange(len(noise)), special[list(words)])

    return scores


def at_random(special: Int[ndarray, " special"], noise: Float[ndarray, " item"]) -> Float[ndarray, " item"]:
    """Something random on every word."""
    return noise


def reversed_on(special: Int[ndarray, " special"], noise: Float[ndarray, " item"]) -> Float[ndarray, " item"]:
    """The least on the first special word."""
    return -on(0)(special, noise)


def uniform(special: Int[ndarray, " special"], noise: Float[ndarray, " item"]) -> Float[ndarray, " item"]:
    """The same on every word."""
    return np.ones_like(noise)


def first_word(special: Int[ndarray, " special"], noise: Float[ndarray, " item"]) -> Float[ndarray, " item"]:
    """All on the first word."""
    return (np.arange(len(noise)) == 0).astype(float)


ON, RANDOM, REVERSED = "on the deciding word", "random", "reversed"
HALF = "on half of them"
HIT_OR_MISS = {ON: on(0), REVERSED: reversed_on}
WORLDS = {
    world.name: world
    for world in (
        World(
            "one word decides",
            1,
            some_left,
            {**HIT_OR_MISS, RANDOM: at_random, "uniform": uniform, "on the first word": first_word},
        ),
        World("two words decide together", 2, all_left, {"on both": on(0, 1), "on one of them": on(0)}),
        World("three words, each enough", 3, some_left, {"on one of them": on(0), RANDOM: at_random}),
        World(
            "one word supports, a weaker one opposes",
            2,
            opposed,
            {"on the supporting word": on(0), "on the opposing word": on(1)},
        ),
        World("one word in 200", 1, some_left, {ON: on(0), RANDOM: at_random}, (200,)),
        World("10 of 100 words, each enough", 10, some_left, {HALF: on(*range(5)), RANDOM: at_random}, (100,)),
        World("20 of 200 words, each enough", 20, some_left, {HALF: on(*range(10)), RANDOM: at_random}, (200,)),
        World("many weak words", 0, many_weak, {RANDOM: at_random}),
        World("class 1 is the default", 1, by_default, {"on the words for class 0": on(0)}),
        World("one word decides, luck 0.35", 1, some_left, HIT_OR_MISS, (5, 6, 6, 6)),
        World("one word decides, luck 0.45", 1, some_left, HIT_OR_MISS, (4, 5)),
        World("one word decides, luck 0.2", 1, some_left, HIT_OR_MISS, (10,)),
        World("the state at j carries word i", 2, word_left(0), {"on j": on(1), "on i": on(0)}, states=word_left(1)),
    )
}
