"""What an audit's files hold, stated once: verdict.json here, the columns of the tables in `table_columns`.

Whatever writes or reads these files does it by this package. It imports no torch.
"""

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeInt, field_validator

from heedful.formatting import format_estimate

# What the parts of a verdict have in common.


def _finite(number: float | None) -> float | None:
    """JSON as Python writes it may say NaN; here an undefined number is None, however it was written."""
    return number if number is not None and math.isfinite(number) else None


Group = Literal["relevance", "exclusivity", "stability", "plausibility"]
GROUPS: dict[Group, str] = {
    "relevance": "Does attention rank words as other evidence of relevance does?",
    "exclusivity": "Could other attention do as well?",
    "stability": "Does attention stay when little changes?",
    "plausibility": "Does attention point where people would?",
}
"""The kinds of evidence, never mixed, and what each asks."""

Number = Annotated[float | None, AfterValidator(_finite)]

Outcome = Literal["points", "misses", "no_small_set"]
"""Result for one text and one ranking."""
Reason = Literal["many words", "default", "any words", "default or any words"]
"""Why no small set of words decides the prediction of a text."""


class VerdictPart(BaseModel):
    """A part of a verdict: frozen. Fields that a newer version added are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Part = TypeVar("Part", bound=VerdictPart)


def updated(part: Part, **changes: Any) -> Part:
    """The same part of a verdict with these fields changed, validated as when it was made."""
    return type(part).model_validate({**dict(part), **changes})


# The tests that explain an answer, and rankings side by side.


class SeedScore(VerdictPart):
    """The result of one seed for a question that several seeds answered."""

    run: str
    seed: int | None = None
    value: Number = None
    score: Number = None
    score_low: Number = None
    score_high: Number = None


class Line(VerdictPart):
    """One test of attention: it explains the answer and does not vote.

    Args:
        question: in words.
        topic: what is asked about, in a few words.
        value, low, high: the mean over texts and its 95% interval.
        floor, best: what no information, and the best possible, would give on the same texts.
        best_kind: `ceiling` where nothing can be better, `yardstick` where it can.
        score: (value - floor) / (best - floor); None if there is nothing to measure.
        texts, undefined: texts that count, and texts for which the value has no meaning.
        group: what kind of evidence the answer is: relevance, exclusivity, stability or plausibility.
        unit: how value, floor and best are shown: as numbers, or as shares in percent.
        details: further numbers by what they are.
    """

    name: str
    question: str
    value: Number = None
    low: Number = None
    high: Number = None
    floor: Number = None
    best: Number = None
    best_kind: Literal["ceiling", "yardstick"] | None = None
    score: Number = None
    score_low: Number = None
    score_high: Number = None
    texts: NonNegativeInt = 0
    undefined: NonNegativeInt = 0
    group: Group | None = None
    unit: Literal["number", "share"] = "number"
    sentence: str = ""
    details: dict[str, Number] = {}
    topic: str = ""
    by_seed: tuple[SeedScore, ...] = ()

    def __repr__(self) -> str:
        score = format_estimate(self.score, self.score_low, self.score_high)
        return f"Line({self.name}: score {score})"


class Ranking(VerdictPart):
    """One ranking of words: how faithful to the model and, apart from it, how plausible to people.

    Args:
        name, title: as measures and as readers call it.
        faithful, faithful_low, faithful_high: how much of a text is erased before the prediction flips, on a scale from
            a random order (0) to the smallest set that flips it (1), with its 95% interval.
        plausible, plausible_low, plausible_high: average precision against the human rationales, on a scale from the
            best uninformed ranking (0) to the rationales themselves (1), with its 95% interval.
        erased, comprehensiveness, sufficiency, average_precision, token_f1: means over texts.
        agreement: mean Kendall's tau with each other ranking.
        texts: for how many it was tested.
    """

    name: str
    title: str = ""
    faithful: Number = None
    faithful_low: Number = None
    faithful_high: Number = None
    plausible: Number = None
    plausible_low: Number = None
    plausible_high: Number = None
    erased: Number = None
    comprehensiveness: Number = None
    sufficiency: Number = None
    average_precision: Number = None
    token_f1: Number = None
    agreement: dict[str, Number] = {}
    texts: NonNegativeInt = 0


# Facts of a verdict: trained models, words, heads, intervals.


class Training(VerdictPart):
    """One trained model behind a verdict."""

    run: str
    seed: int | None = None
    scores: dict[str, Number] = {}


class Substitution(VerdictPart):
    """A word that was replaced, by which, and in how many texts."""

    word: str
    replacement: str
    texts: NonNegativeInt = 1


class Word(VerdictPart):
    """A word, the label that it indicates where it was counted, and its attention score."""

    word: str
    speaks_for: str = ""
    score: Number = None


class Words(VerdictPart):
    """The most and the least attended words.

    Args:
        auroc: the chance that a label-indicative word has a larger attention score than a neutral one; None if there
            are too few of them.
        polar, neutral: how many words of each kind were read.
    """

    auroc: Number = None
    polar: NonNegativeInt = 0
    neutral: NonNegativeInt = 0
    most: tuple[Word, ...] = ()
    least: tuple[Word, ...] = ()

    def __repr__(self) -> str:
        first = ", ".join(word.word for word in self.most[:3])
        return f"Words({self.polar} label-indicative, {self.neutral} neutral; most attended: {first:.100})"


class Interval(VerdictPart):
    """A mean with its 95% interval, and over how many texts."""

    value: Number = None
    low: Number = None
    high: Number = None
    n: NonNegativeInt = 0


class Heads(VerdictPart):
    """All heads of a transformer at a glance, and whether any of them can be shown.

    Args:
        measures: what each head shows or does, the mean over texts: one row per layer, one column per head.
        layer, head: the head that agrees best with leave-one-out on the texts that it was chosen on.
        agreement, mean_agreement: its Kendall's tau with leave-one-out on other texts, and that of the mean over the
            last layer's heads.
        gain: the former less the latter, text by text.
    """

    measures: dict[str, tuple[tuple[Number, ...], ...]]
    layer: NonNegativeInt
    head: NonNegativeInt
    chosen_on: str = ""
    agreement: Interval
    mean_agreement: Interval
    gain: Interval
    sentence: str = ""

    def __repr__(self) -> str:
        return f"Heads(best: {self.layer}.{self.head}, tau {self.agreement.value}; mean {self.mean_agreement.value})"


# The answer of an audit: for all texts, and for each class that the model predicts.

Answer = Literal["Yes", "No", "For some texts", "No small set decides", "Too few texts", "Nothing to explain"]
"""Whether attention can be shown as an explanation."""
Removal = Literal["delete", "replace"]
"""How words are removed: the text closes up, or other words take their places."""


class TextOutcome(VerdictPart):
    """The outcome of one text for one ranking, as every view shows it; a row of outcomes.parquet.

    Args:
        reason: why no small set decides; of a text without an outcome, why it has none.
        probability: p_y, the probability of the predicted class.
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


class Verdict(VerdictPart):
    """verdict.json: what was audited and how, the answer, what to do, and every test that explains it.

    Args:
        run: the audited run, the first one if several seeds are pooled.
        fingerprint: fingerprint of the audited data; empty if unknown.
        `trainings`: every audited run; they differ in the seed only.
        rankings: attention and all others that were tested, side by side.
        item: what attention weighs: "word" or "sentence".
        redundancy: the share of texts in which no single deletion flips the prediction and two or more words each give
            it alone. There, it does not count against attention that different weights would give the same prediction.
        beats_constant: whether the model is significantly better than always predicting the most common class, in
            accuracy or balanced accuracy, on these texts; None if unknown.
        scores: prediction scores, averaged over the seeds.
        indicative_words: how many label-indicative words the texts have; None if they were not counted.
        counted_on: the texts on which label-indicative words were counted.
        skipped: the reason, for each question that was skipped.
        about: what is to be known of the audited attention, as sentences; empty if there is no choice.
        heads: what each head of a transformer shows and does.
        answer: whether attention can be shown; None if the answer was not requested.
        milliseconds: per text, that the scores of each ranking took.
        passes: texts and parts of texts that outcomes read, by purpose.
        moved_note: why there is no share of moved information; empty if there is one.
        example: one of the audited texts, with its outcome.
        substitutions, synonym_source: which words were replaced by which synonyms, and where these come from.
        notes: what loading did to the data.
        date: when the audit was made.
    """

    run: str
    model: str = ""
    data: str
    fingerprint: str = ""
    split: str = "test"
    texts: NonNegativeInt
    labels: tuple[str, ...]
    scores: dict[str, Number] = {}
    beats_constant: bool | None = None
    redundancy: Number = None
    answer: AuditAnswer | None = None
    lines: tuple[Line, ...]
    rankings: tuple[Ranking, ...] = ()
    words: Words | None = None
    indicative_words: NonNegativeInt | None = None
    counted_on: str = "the training texts"
    skipped: dict[str, str] = {}
    substitutions: tuple[Substitution, ...] = ()
    synonym_source: str = ""
    trainings: tuple[Training, ...] = ()
    item: str = "word"
    about: tuple[str, ...] = ()
    heads: Heads | None = None
    milliseconds: dict[str, Number] = {}
    passes: dict[str, NonNegativeInt] = {}
    moved_note: str = ""
    example: ShownText | None = None
    notes: tuple[str, ...] = ()
    date: str = ""
    settings: dict[str, Any] = {}
    command: str = ""
    seconds: Number = None
    versions: dict[str, str] = {}

    def __repr__(self) -> str:
        lead = f": {self.answer.headline}" if self.answer else ""
        return (
            f"Verdict({self.model or self.run}, {self.texts:,} {self.split} texts, {len(self.lines)} questions{lead})"
        )
