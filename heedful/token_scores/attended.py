"""The words of a vocabulary from the most attended to the least, and how well that tells polar from neutral ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor

from heedful.measures import shares_below
from heedful.token_scores.classes import NEUTRAL, token_classes
from heedful.token_scores.scores import TokenScores, local_scores
from heedful.types import Batch, LinearModel

SHOWN = 12
"""Words at each end of the list."""

LEAST = 5
"""Times that a word must occur to be listed: of a rarer one nothing was learnt."""


@dataclass(frozen=True)
class Word:
    """A word, the label it speaks for ("neutral", or "" for none of these), and its attention score."""

    word: str
    speaks_for: str
    score: float


@dataclass(frozen=True)
class Attended:
    """How attention treats the words of a vocabulary.

    Args:
        auroc: the chance that a word that speaks for a label has a larger attention score than a neutral one.
        polar, neutral: how many words of each kind were read.
    """

    auroc: float
    polar: int
    neutral: int
    most: tuple[Word, ...]
    least: tuple[Word, ...]


def attended(
    model: LinearModel,
    batches: Iterable[Batch],
    counts: Int[Tensor, "token classes"],
    words: Sequence[str],
    labels: Sequence[str],
) -> Attended:
    """The words by their mean attention score over the texts, in evaluation mode; words that are not read are left out.

    Args:
        counts: how often each token occurs under each label of the training texts.
        words: of each number; where there are none, numbers are named by themselves.
    """
    return standing(local_scores(model, batches, len(counts)), counts, words, labels)


def standing(
    scores: TokenScores, counts: Int[Tensor, "token classes"], words: Sequence[str], labels: Sequence[str]
) -> Attended:
    """As `attended`, from scores.

    >>> import torch
    >>> scores = TokenScores(torch.zeros(7), torch.tensor([0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 2.0]))
    >>> counts = torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0], [0, 9], [5, 5], [9, 1]])
    >>> found = standing(scores, counts, (), ("bad", "good"))
    >>> found.auroc, found.most[0]
    (1.0, Word(word='token 4', speaks_for='good', score=3.0))
    """
    attention, classes = scores.attention.cpu(), token_classes(counts)
    is_read = attention.isfinite()
    polar, neutral = (classes >= 0) & is_read, (classes == NEUTRAL) & is_read
    listed = (is_read & (counts.sum(1) >= LEAST)).nonzero()[:, 0]
    order = listed[attention[listed].argsort(descending=True, stable=True)].tolist()
    names = [*labels, "", "neutral"]  # by class number: -1 is neutral, -2 none

    def word(number: int) -> Word:
        said = words[number] if words else f"token {number}"
        return Word(said, names[int(classes[number])], attention[number].item())

    return Attended(
        auroc=shares_below(attention, neutral)[polar].mean().item(),
        polar=int(polar.sum()),
        neutral=int(neutral.sum()),
        most=tuple(word(number) for number in order[:SHOWN]),
        least=tuple(word(number) for number in order[::-1][:SHOWN]),
    )
