"""The answer of an audit: for all texts, and for each class that the model predicts."""

from typing import Any, Literal

from pydantic import NonNegativeInt, field_validator

from heedful.schema.facts import Interval
from heedful.schema.part import Number, Outcome, Reason, VerdictPart

Answer = Literal["Yes", "No", "For some texts", "No small set decides", "Too few texts", "Nothing to explain"]
"""Whether attention can be shown as an explanation."""
Removal = Literal["delete", "replace"]
"""How words are removed: the text closes up, or other words take their places."""


class TextOutcome(VerdictPart):
    """The outcome of one text for one ranking, as every view shows it; a row of outcomes.parquet.

    Args:
        reason: why no small set decides; of a text without an outcome, why it has none.
        probability: of the predicted class, p_y.
        top_words, key_words: positions of items.
        top_alone, top_without: p_y of the top words alone, and without them.
        key_alone, key_without: p_y of the key words alone, and without them.
        alone_predicted, alone_probability: what the model predicts from the key words alone.
        without_predicted, without_probability: what it predicts without them.
        is_moved: whether the states of the top words give the prediction and the words alone do not; None if unknown.
        words: number of items.
    """

    ranking: str = "attention"
    removal: Removal = "delete"
    predicted: str
    probability: Number = None
    words: NonNegativeInt = 0
    outcome: Outcome | None = None
    reason: str | None = None
    effect: Number = None
    chance: Number = None
    best: Number = None
    luck: Number = None
    top_words: tuple[NonNegativeInt, ...] = ()
    top_alone: Number = None
    top_without: Number = None
    is_moved: bool | None = None
    key_words: tuple[NonNegativeInt, ...] = ()
    key_alone: Number = None
    key_without: Number = None
    alone_predicted: str | None = None
    alone_probability: Number = None
    without_predicted: str | None = None
    without_probability: Number = None

    @field_validator("top_words", "key_words", mode="before")
    @classmethod
    def _or_empty(cls, words: Any) -> Any:
        """A text without an outcome has null here."""
        return words or ()


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


class ShownText(VerdictPart):
    """An audited text as an example: its words, and its outcome for attention."""

    example: NonNegativeInt
    items: tuple[str, ...]
    outcome: TextOutcome


class RankingShare(VerdictPart):
    """One ranking of words, judged by the same outcome as attention.

    Args:
        title: as readers call it.
        price: forward passes of a whole text, as a formula in n, the number of words.
        milliseconds: per text, measured in this audit; None if it was not measured.
        answer: overall, on the audited texts.
        points: share of texts in which it points, among those in which a small set decides.
        replaced: the same if words are replaced.
    """

    name: str
    title: str
    price: str = ""
    milliseconds: Number = None
    answer: Answer
    points: Interval = Interval()
    replaced: Interval | None = None


class Recommendation(VerdictPart):
    """What to show a reader.

    Args:
        show: attention, another ranking, the key words of each text with its outcome, or nothing.
        ranking: the ranking to show; of key words, the best of the rankings that did not qualify.
        sentence: what to show, and why.
        chosen_on: the texts on which the ranking was chosen.
    """

    show: Literal["attention", "ranking", "key words", "nothing"]
    ranking: str = ""
    sentence: str = ""
    chosen_on: str = ""


class AuditAnswer(VerdictPart):
    """Whether attention can be shown as an explanation: for all texts, and for each class that the model predicts.

    Args:
        headline: the answer in one line.
        sentence: the headline's numbers, as a sentence.
        classes: in the order of the labels.
        rankings: attention and all others, each judged by the same outcome.
        variants: overall answers by other definitions of the outcome; empty unless details were asked for.
        moved: share of texts in which the words that attention marks carry information from other words, among those
            in which a small set decides; `moved_note` says why there is none.
        wrong: shares of texts whose prediction is wrong; `wrong_sentence` if there are enough of them.
        uncounted: number of texts without an outcome, over all seeds, by why.
        left_out: seeds that are not better than a constant prediction, which count nowhere.
        most_common: share of the most common class among the audited texts; None without labels.
        is_checked: whether the model was compared with a constant prediction: the texts have labels.
        example: a text of the first seed that counts.
    """

    headline: str
    sentence: str = ""
    overall: ClassAnswer
    classes: tuple[ClassAnswer, ...] = ()
    recommendation: Recommendation | None = None
    rankings: tuple[RankingShare, ...] = ()
    variants: dict[str, ClassAnswer] = {}
    moved: Interval | None = None
    moved_note: str = ""
    wrong: Shares | None = None
    wrong_sentence: str = ""
    uncounted: dict[str, NonNegativeInt] = {}
    left_out: tuple[str, ...] = ()
    most_common: Number = None
    is_checked: bool = True
    example: ShownText | None = None
    notes: tuple[str, ...] = ()

    @property
    def shares(self) -> tuple[Shares, ...]:
        """Shares of texts by outcome: of all texts, then of each predicted class."""
        return tuple(each.shares for each in (self.overall, *self.classes))
