"""The words of a vocabulary ranked by attention score, and how well that score separates polar from neutral words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan

from jaxtyping import Int
from torch import Tensor

from heedful.measures import shares_below
from heedful.token_scores.classes import NEUTRAL, token_classes
from heedful.token_scores.scores import TokenScores, local_scores
from heedful.types import Batch, LinearModel

SHOWN = 12
"""Words listed at each end of the ranking."""

FEWEST = 20
"""Label-indicative words below which nothing is reported of how attention treats them."""

MIN_COUNT = 5
"""Occurrences that a word needs to be listed: rarer words are hardly trained."""


@dataclass(frozen=True)
class Word:
    """A word, the label it indicates ("neutral", or "" if it is neither), and its attention score."""

    word: str
    speaks_for: str
    score: float


@dataclass(frozen=True)
class AttendedWords:
    """How attention treats the words of a vocabulary.

    Polar is Sun and Lu's (2020) term for label-indicative words: those that occur mostly under one label.

    Args:
        auroc: the probability that a polar word has a larger attention score than a neutral one; NaN where there are
            fewer than 20 polar words.
        polar, neutral: how many words of each kind occur in the texts.
        most, least: the words with the largest scores, from the top, and with the smallest, from the bottom.
    """

    auroc: float
    polar: int
    neutral: int
    most: tuple[Word, ...]
    least: tuple[Word, ...]


def attended_words(
    model: LinearModel,
    batches: Iterable[Batch],
    counts: Int[Tensor, "token classes"],
    words: Sequence[str],
    labels: Sequence[str],
) -> AttendedWords:
    """The words ranked by mean attention score over the texts; words that do not occur there are left out.

    The model must be in evaluation mode.

    Args:
        counts: how often each token occurs under each label, in the training texts where these are at hand.
        words: the word of each token number; if empty, words are named by their numbers.
    """
    return rank_words(local_scores(model, batches, len(counts)), counts, words, labels)


def rank_words(
    scores: TokenScores, counts: Int[Tensor, "token classes"], words: Sequence[str], labels: Sequence[str]
) -> AttendedWords:
    """As `attended_words`, from precomputed scores; a token whose score is NaN is left out.

    >>> import torch
    >>> scores = TokenScores(torch.zeros(7), torch.tensor([0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 2.0]))
    >>> counts = torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0], [0, 9], [5, 5], [9, 1]])
    >>> ranking = rank_words(scores, counts, (), ("bad", "good"))
    >>> ranking.auroc, ranking.most[0]  # too few words to say how attention treats them
    (nan, Word(word='token 4', speaks_for='good', score=3.0))
    """
    attention, classes = scores.attention.cpu(), token_classes(counts)
    is_scored = attention.isfinite()
    polar, neutral = (classes >= 0) & is_scored, (classes == NEUTRAL) & is_scored
    listed = (is_scored & (counts.sum(1) >= MIN_COUNT)).nonzero()[:, 0]
    order = listed[attention[listed].argsort(descending=True, stable=True)].tolist()
    class_names = [*labels, "", "neutral"]  # indexed by class number: -1 is neutral, -2 is neither

    def entry(token: int) -> Word:
        word = words[token] if words else f"token {token}"
        return Word(word, class_names[int(classes[token])], attention[token].item())

    return AttendedWords(
        auroc=shares_below(attention, neutral)[polar].mean().item() if polar.sum() >= FEWEST else nan,
        polar=int(polar.sum()),
        neutral=int(neutral.sum()),
        most=tuple(entry(token) for token in order[:SHOWN]),
        least=tuple(entry(token) for token in order[::-1][:SHOWN]),
    )
