"""The answer of an audit: for all texts, and for each class that the model predicts."""

from typing import Literal

from pydantic import NonNegativeInt

from heedful.schema.facts import Interval
from heedful.schema.part import Number, Outcome, Reason, VerdictPart

Answer = Literal["Yes", "No", "For some texts", "No small set decides", "Too few texts", "Nothing to explain"]
"""Whether attention can be shown as an explanation."""
Removal = Literal["delete", "replace"]
"""How words are removed: the text closes up, or other words take their places."""


class SeedShare(VerdictPart):
    """Shares of one seed: texts in which the ranking points, and in which a small set of words decides."""

    run: str
    points: Number = None
    decided: Number = None


class Shares(VerdictPart):
    """Shares of texts, of all or of one predicted class.

    Args:
        label: the predicted class; None for all texts.
        texts, decided_texts: distinct texts, and those of them in which a small set of words decides.
        points: share of texts in which the ranking points, among those in which a small set decides.
        luck: what random words would reach of this share.
        beyond_luck: (points - luck) / (1 - luck).
        no_small_set: share of texts in which no small set decides.
        outcomes: share of each outcome among all texts.
        reasons: number of texts (over all seeds) by why no small set decides.
    """

    label: str | None = None
    texts: NonNegativeInt = 0
    decided_texts: NonNegativeInt = 0
    points: Interval = Interval()
    luck: Number = None
    beyond_luck: Interval = Interval()
    no_small_set: Interval = Interval()
    outcomes: dict[Outcome, Number] = {}
    reasons: dict[Reason, NonNegativeInt] = {}
    seeds: tuple[SeedShare, ...] = ()


class ClassAnswer(VerdictPart):
    """The answer for all texts or for one predicted class.

    Args:
        sentence: the answer in words, with its numbers.
        replaced: the same shares where words are replaced instead of deleted, and the answer from them alone.
    """

    answer: Answer
    sentence: str
    shares: Shares
    replaced: Shares | None = None
    replaced_answer: Answer | None = None
