"""Outcome of one text: do the words that a ranking puts first decide the prediction?

A text is judged by a generator: it yields sets of words to be left (`[set item]`, True on the words that stay) and
receives the class probabilities of each (`[set classes]`). So the same lines serve models of every kind, several texts
at a time (`judge_texts`), and worlds whose truth is known. docs/answer.md has the definition and its reasons.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import ceil, comb, nan

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.schema import Outcome, Reason
from heedful.settings import OutcomeSettings

TIE = 1e-6
"""Effects and scores closer than this are tied; thresholds are met within it."""
BLOCK = 8
"""Swaps that the search reads at a time."""
CANDIDATES = ("attention", "gradient_x_input", "attention_x_gradient", "leave_one_out", "alone", "effect")
"""Rankings whose top words the search for the key words starts from."""

Words = tuple[int, ...]
"""Positions in a text, ascending."""
Sets = Bool[ndarray, "set item"]
Asking = Generator[Sets, Float[ndarray, "set classes"], "JudgedText | None"]
ReadSets = Callable[[dict[int, Sets]], dict[int, Float[ndarray, "set classes"]]]
"""Reads the sets of several texts, given by the index of the text."""


@dataclass(frozen=True)
class TextToJudge:
    """What is known of a text before words are removed.

    Args:
        whole: class probabilities of the whole text.
        scores: importance of each word by ranking, dense ranks or values; all NaN if the ranking has none here.
        seed: seed of everything that is drawn for this text.
        empty: probability of the predicted class with no words left; NaN if the model has none.
        without: class probabilities without each word, if they were read already.
        extra: sets that the search starts from, too.
    """

    whole: Float[ndarray, " classes"]
    scores: Mapping[str, Float[ndarray, " item"]]
    seed: Sequence[int]
    empty: float = nan
    without: Float[ndarray, "item classes"] | None = None
    extra: Sequence[Words] = ()


@dataclass(frozen=True)
class SetReading:
    """A set of words, with class probabilities from these words alone and without them."""

    words: Words
    effect: float
    alone: tuple[float, ...]
    without: tuple[float, ...]


@dataclass(frozen=True)
class JudgedText:
    """Outcomes of one text.

    Args:
        predicted: the class that the model predicts for the whole text.
        key: the key words.
        chance, luck: mean effect of k random words, and the share of such sets that would point.
        is_exact: whether all sets of k words were read.
        tops: top words of each ranking.
        outcomes: outcome of each ranking.
        reason: why no small set decides; None if one does.
        sets: how many sets were read for each purpose: singles, random, tops, swaps.
        evaluated: the sets of k words that were read.
    """

    predicted: int
    whole: float
    key: SetReading
    chance: float
    luck: float
    is_exact: bool
    tops: dict[str, SetReading]
    outcomes: dict[str, Outcome]
    reason: Reason | None
    sets: dict[str, int] = field(default_factory=dict)
    evaluated: tuple[Words, ...] = ()

    @property
    def best(self) -> float:
        """Effect of the key words."""
        return self.key.effect


def shown_count(n: int, settings: OutcomeSettings = OutcomeSettings(), more: int = 0) -> int:  # noqa: B008 (frozen)
    """Number of words that count as shown in a text of n words: k.

    Args:
        more: added to k, which stays within 1..n - 1.

    >>> [shown_count(n) for n in (2, 3, 4, 20, 21, 41, 200)]
    [1, 1, 2, 2, 3, 5, 5]
    """
    # 0.1 * 30 is 3.0000000000000004: a hair above an integer does not round up.
    tenth = ceil(n * settings.share - 1e-9)
    k = max(min(settings.least, n // 2), min(settings.most, tenth))
    return min(n - 1, max(1, min(n - 1, k) + more))


def effect_of(
    alone: Float[ndarray, "*set"], without: Float[ndarray, "*set"], alone_weight: float = 2 / 3
) -> Float[ndarray, "*set"]:
    """Effect of a set of words, from 0 to 1: weight * p_y(only the set) + (1 - weight) * (1 - p_y(without the set)).

    The effect of the words alone is sufficiency, what is lost without them comprehensiveness (DeYoung et al. 2020).

    >>> effect_of(np.array(0.9), np.array(0.6)).item()
    0.7333...
    """
    return alone_weight * alone + (1 - alone_weight) * (1 - without)


def outcome_of(effect: float, chance: float, best: float, settings: OutcomeSettings) -> Outcome:
    """Outcome of a ranking whose top words have this effect.

    >>> [outcome_of(effect, 0.4, best, OutcomeSettings()) for effect, best in ((0.6, 0.8), (0.59, 0.8), (0.5, 0.5))]
    ['points', 'misses', 'no_small_set']
    """
    if best - chance < settings.decisive - TIE:
        return "no_small_set"
    return "points" if effect - chance >= settings.enough * (best - chance) - TIE else "misses"


def reason_of(alone: float, empty: float, whole: float, settings: OutcomeSettings) -> Reason:
    """Why no small set decides, given p_y of the key words alone, of no words, and of the whole text."""
    if alone < whole - settings.near - TIE:
        return "many words"
    if empty != empty:
        return "default or any words"
    return "default" if empty >= whole - settings.near - TIE else "any words"


def is_moved(judged: "JudgedText", ranking: str, states: float, settings: OutcomeSettings) -> bool:
    """Whether the ranking misses because the states of its top words carry information from other words.

    The states of its top words alone give the prediction, and these words alone do not.

    Args:
        states: p_y of the whole text with all weight on its top words: their weights, renormalized.
    """
    nearly = judged.whole - settings.near - TIE
    alone = judged.tops[ranking].alone[judged.predicted]
    return judged.outcomes[ranking] == "misses" and states >= nearly > alone


def estimate_chance(effects: Float[ndarray, " set"], sums: Float[ndarray, " set"], mean_sum: float) -> float:
    """Mean effect of a random set, from a few sets, with the sums of single effects as a control variate.

    chance = mean(effect) - b * (mean(sum) - mean_sum), b the regression slope clipped to 0..1.5.

    >>> round(estimate_chance(np.array([0.4, 0.6]), np.array([0.2, 0.4]), 0.2), 3)  # slope 1: the sets are 0.1 too good
    0.4
    """
    deviations = sums - sums.mean()
    spread = (deviations**2).sum()
    slope = 0.0 if spread < TIE**2 else min(1.5, max(0.0, float((deviations * effects).sum() / spread)))
    return float(effects.mean() - slope * (sums.mean() - mean_sum))


def top_words(scores: Float[ndarray, " item"], k: int, order: Int[ndarray, " item"]) -> Words:
    """The k words with the highest scores, ties in the given order; undefined scores come last.

    Scores closer than 1e-6 of the largest are tied.

    >>> top_words(np.array([0.1, 0.5, 0.5, np.nan]), 2, np.array([3, 2, 1, 0]))
    (1, 2)
    """
    is_defined = scores > -np.inf
    largest = np.abs(scores[is_defined]).max(initial=0.0)
    # The subtraction of infinities is undefined, so undefined scores are finite and below all others.
    values = np.where(is_defined, scores, -2 * largest - 1)
    ranked = np.argsort(-values, kind="stable")
    descending = values[ranked]
    group, place = np.zeros((2, len(values)), dtype=np.int64)
    group[ranked[1:]] = np.cumsum(descending[:-1] - descending[1:] > TIE * largest)
    place[order] = np.arange(len(values))
    return tuple(sorted(np.lexsort((place, group))[:k].tolist()))


def judge_text(text: TextToJudge, settings: OutcomeSettings, more: int = 0) -> Asking:
    """Outcomes of one text of two words or more, given what is read; None if some probability is undefined.

    Args:
        more: added to the number of words that count as shown.
    """
    n, predicted = len(next(iter(text.scores.values()))), int(text.whole.argmax())
    whole, k = float(text.whole[predicted]), shown_count(n, settings, more)
    generator = np.random.default_rng(list(text.seed))
    order = generator.permutation(n)
    readings = _Readings(n, predicted, settings.alone_weight)

    singles = np.eye(n, dtype=bool)
    alone = yield singles
    without = text.without if text.without is not None else (yield ~singles)
    effects = effect_of(alone[:, predicted], without[:, predicted], settings.alone_weight)
    if np.isnan(effects).any():
        return None
    if k == 1:
        readings.add([(i,) for i in range(n)], alone, without)
    by_word = {"leave_one_out": whole - without[:, predicted], "alone": alone[:, predicted], "effect": effects}
    rankings = {**by_word, **text.scores}
    tops = {name: top_words(scores, k, order) for name, scores in rankings.items() if not np.isnan(scores).all()}

    drawn = _drawn_sets(n, k, generator, settings)
    yield from readings.read([*drawn, *tops.values(), *text.extra])
    if readings.is_undefined:
        return None
    is_exact = len(drawn) == comb(n, k)
    started = [*drawn, *(tops[name] for name in CANDIDATES if name in tops), *text.extra]
    key = yield from _search(
        started, effects, readings, 0 if is_exact else min(settings.most_swaps, int(settings.swaps * n))
    )
    if readings.is_undefined:
        return None

    sums = np.array([effects[list(words)].sum() for words in drawn])
    drawn_effects = np.array([readings.effects[words] for words in drawn])
    chance = drawn_effects.mean() if is_exact else estimate_chance(drawn_effects, sums, k * effects.mean())
    best = readings.effects[key]
    points = [outcome_of(effect, chance, best, settings) == "points" for effect in drawn_effects.tolist()]
    reason = None
    if outcome_of(best, chance, best, settings) == "no_small_set":
        reason = reason_of(readings[key].alone[predicted], text.empty, whole, settings)
    return JudgedText(
        predicted=predicted,
        whole=whole,
        key=readings[key],
        chance=float(chance),
        luck=float(np.mean(points)),
        is_exact=is_exact,
        tops={name: readings[words] for name, words in tops.items()},
        outcomes={name: outcome_of(readings.effects[words], chance, best, settings) for name, words in tops.items()},
        reason=reason,
        sets={"singles": 2 * n, **readings.counts(drawn, tops.values())},
        evaluated=tuple(readings.effects),
    )


class _Readings:
    """Sets of words of one text that were read, with their effects."""

    def __init__(self, n: int, predicted: int, alone_weight: float):
        self.n, self.predicted, self.alone_weight = n, predicted, alone_weight
        self.effects: dict[Words, float] = {}
        self.rows: dict[Words, tuple[Float[ndarray, "set classes"], Float[ndarray, "set classes"], int]] = {}
        self.is_undefined = False

    def __getitem__(self, words: Words) -> SetReading:
        alone, without, row = self.rows[words]
        return SetReading(words, self.effects[words], tuple(alone[row].tolist()), tuple(without[row].tolist()))

    def add(
        self, sets: Sequence[Words], alone: Float[ndarray, "set classes"], without: Float[ndarray, "set classes"]
    ) -> None:
        effects = effect_of(alone[:, self.predicted], without[:, self.predicted], self.alone_weight)
        self.is_undefined |= bool(np.isnan(effects).any())
        self.effects.update(zip(sets, effects.tolist(), strict=True))
        self.rows.update((words, (alone, without, row)) for row, words in enumerate(sets))

    def read(self, sets: Iterable[Words]) -> Generator[Sets, Float[ndarray, "set classes"], None]:
        """Read the sets that are new, each alone and without its words."""
        new = [words for words in dict.fromkeys(sets) if words not in self.effects]
        if new:
            masks = np.zeros((len(new), self.n), dtype=bool)
            masks[np.arange(len(new))[:, None], np.array(new)] = True
            read = yield np.concatenate([masks, ~masks])
            self.add(new, read[: len(new)], read[len(new) :])

    def counts(self, drawn: Sequence[Words], tops: Iterable[Words]) -> dict[str, int]:
        """Passes of each purpose, single words apart; each set needs two, unless another purpose had read it."""
        several = [words for words in self.effects if len(words) > 1]
        random, top = {*drawn}, {*tops} - {*drawn}
        counted = {"random": sum(words in random for words in several), "tops": sum(words in top for words in several)}
        counted["swaps"] = len(several) - sum(counted.values())
        return {purpose: 2 * count for purpose, count in counted.items()}


def _drawn_sets(n: int, k: int, generator: np.random.Generator, settings: OutcomeSettings) -> list[Words]:
    """All sets of k words if there are few, else different random ones."""
    total = comb(n, k)
    if total <= max(settings.all_sets, settings.random_sets):
        return list(combinations(range(n), k))
    drawn: dict[Words, None] = {}
    while len(drawn) < settings.random_sets:
        drawn[tuple(sorted(generator.choice(n, k, replace=False).tolist()))] = None
    return list(drawn)


def _search(
    started: Sequence[Words], singles: Float[ndarray, " item"], readings: _Readings, budget: int
) -> Generator[Sets, Float[ndarray, "set classes"], Words]:
    """The set with the largest effect that swaps of one word find, from the best of some sets that were read."""
    known = dict.fromkeys(started)
    best = _best(known, singles, readings.effects)
    swaps = _swaps(best, singles)
    while budget > 0:
        block = list(islice((words for words in swaps if words not in known), min(BLOCK, budget)))
        if not block:
            break
        budget -= len(block)
        known.update(dict.fromkeys(block))
        yield from readings.read(block)
        if readings.is_undefined:
            break
        better = _best([best, *block], singles, readings.effects)
        if better != best:
            best, swaps = better, _swaps(better, singles)
    return best


def _swaps(words: Words, singles: Float[ndarray, " item"]) -> Iterator[Words]:
    """Sets with one word swapped, the largest gain of single effects first."""
    others = np.delete(np.arange(len(singles)), words)
    losses = (singles[list(words)] - singles[others][:, None]).ravel()
    new, out = np.divmod(np.argsort(losses, kind="stable"), len(words))
    swapped = np.where(np.arange(len(words)) == out[:, None], others[new, None], words)
    return (tuple(row.tolist()) for row in np.sort(swapped, axis=1))


def _best(sets: Iterable[Words], singles: Float[ndarray, " item"], effects: Mapping[Words, float]) -> Words:
    """The largest effect; among ties the largest sum of single effects, then the earlier words."""
    sets = list(sets)
    threshold = max(effects[words] for words in sets) - TIE
    tied = [words for words in sets if effects[words] >= threshold]
    if len(tied) == 1:
        return tied[0]
    sums = singles[np.array(tied)].sum(1)
    return min(words for words, is_best in zip(tied, sums >= sums.max() - TIE, strict=True) if is_best)


def judge_texts(
    texts: Mapping[int, TextToJudge], read: ReadSets, settings: OutcomeSettings, more: int = 0
) -> dict[int, JudgedText]:
    """Outcomes of several texts, whose sets are read together; texts with an undefined probability are left out.

    Args:
        more: added to the number of words that count as shown.
    """
    asking = {number: judge_text(text, settings, more) for number, text in texts.items()}
    requests = {number: next(asker) for number, asker in asking.items()}
    judged: dict[int, JudgedText] = {}
    while requests:
        answers, following = read(requests), {}
        for number in requests:
            try:
                following[number] = asking[number].send(answers[number])
            except StopIteration as end:
                if end.value is not None:
                    judged[number] = end.value
        requests = following
    return judged
