"""What an audit's files hold, stated once: the columns of rows and examples, and the verdict.

Whatever writes or reads these files does it by this module. It imports no torch.
"""

import math
from typing import Annotated, Any, Literal, TypeVar

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeInt

from heedful.formatting import format_estimate

ROWS = pl.Schema(
    {
        "run": pl.String(),
        "split": pl.String(),
        "example": pl.Int32(),
        "item": pl.Int32(),
        "test": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),
        "solver": pl.String(),
        "site": pl.String(),
        "scope": pl.String(),
    }
)
"""rows.parquet: one number each. `item` is null in rows that speak of a whole text.

Of a transformer `site` is which attention is shown, `scope` where other attention is imposed; else they are null.
"""

EXAMPLES = pl.Schema(
    {
        "run": pl.String(),
        "split": pl.String(),
        "example": pl.Int32(),
        "text": pl.String(),
        "query": pl.String(),
        "items": pl.List(pl.String()),
        "label": pl.String(),
        "predicted": pl.String(),
        "probability": pl.Float64(),
        "adversarial_probability": pl.Float64(),
        "replaced": pl.List(pl.String()),
        "row": pl.Int64(),
        "id": pl.String(),
    }
)
"""examples.parquet: the texts that are shown word by word; `row` and `id` are where each one is in its data file."""

OPTIONAL = ("query", "replaced", "row", "id", "site", "scope")
"""Columns that files from elsewhere, or older ones, may lack: read as null."""
NULLABLE = ("item", "value", "probability", "adversarial_probability", *OPTIONAL)
"""Columns that may have empty cells."""


def _finite(number: float | None) -> float | None:
    """JSON as Python writes it may say NaN; here an undefined number is None, however it was written."""
    return number if number is not None and math.isfinite(number) else None


Group = Literal["relevance", "exclusivity", "stability", "plausibility"]
GROUPS: dict[Group, str] = {
    "relevance": "Does attention point at what the decision rests on?",
    "exclusivity": "Could other attention do as well?",
    "stability": "Does attention stay when little changes?",
    "plausibility": "Does attention point where people would?",
}
"""The kinds of evidence, never mixed, and what each asks."""

Number = Annotated[float | None, AfterValidator(_finite)]

Outcome = Literal["holds", "fails", "undecided", "not counted"]
"""What a line says of attention."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


Part = TypeVar("Part", bound=_Part)


def updated(part: Part, **changes: Any) -> Part:
    """The same part of a verdict with these fields changed, validated as when it was made."""
    return type(part).model_validate({**dict(part), **changes})


class SeedScore(_Part):
    """What one training says on a question that several were asked."""

    run: str
    seed: int | None = None
    value: Number = None
    score: Number = None
    score_low: Number = None
    score_high: Number = None


class Line(_Part):
    """One question of the verdict and its answer.

    Args:
        question: in words.
        topic: what is asked about, in a few words.
        value, low, high: the mean over texts and its 95 % interval.
        floor, best: what no information, and the best possible, would give on the same texts.
        best_kind: `ceiling` where nothing can be better, `yardstick` where it can.
        score: (value - floor) / (best - floor); None where there is nothing to measure.
        texts, undefined: texts that count, and texts for which the value has no meaning.
        group: what kind of evidence the answer is: relevance, exclusivity, stability or plausibility.
        unit: how value, floor and best are shown: as numbers, or as shares in percent.
        material: the smallest difference of best and floor that matters.
        attainable, attainable_low: the score of the best attention over the same encodings, and the lower end of its
            95 % interval, where that may fall short of the best possible.
        uninformed, uninformed_high: the score of the same weights permuted and imposed, and the higher end of its 95 %
            interval, where the model has then still learnt its task.
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
    material: Number = None
    attainable: Number = None
    attainable_low: Number = None
    uninformed: Number = None
    uninformed_high: Number = None
    sentence: str = ""
    details: dict[str, Number] = {}
    topic: str = ""
    outcome: Outcome = "not counted"
    reason: str = ""
    by_seed: tuple[SeedScore, ...] = ()

    def __repr__(self) -> str:
        score = format_estimate(self.score, self.score_low, self.score_high)
        return f"Line({self.name}: score {score}, {self.outcome})"


class Advice(_Part):
    """What to show a reader: attention, another ranking in its place, or nothing.

    Args:
        action: what to do.
        ranking: the one to show; the best of the others where nothing should be shown.
        sentence: what to do and why.
        chosen_on: the texts that the ranking was chosen on.
        fractions: the mean share of a text erased, in the order of each ranking, before the decision changes; `random`
            is a random order, `minimal` the smallest set that changes it.
        score, score_low, score_high: where the ranking lies between a random order and the smallest set.
    """

    action: Literal["attention", "instead", "nothing"]
    ranking: str = ""
    sentence: str = ""
    chosen_on: str = ""
    fractions: dict[str, Number] = {}
    score: Number = None
    score_low: Number = None
    score_high: Number = None


class Ranking(_Part):
    """One ranking of words: how faithful to the model and, apart from it, how plausible to people.

    Args:
        name, title: as measures and as readers call it.
        faithful, faithful_low, faithful_high: where it lies between a random order (0) and the smallest set that
            changes the decision (1), by how much of a text is erased before the decision changes; its 95 % interval.
        plausible, plausible_low, plausible_high: where its average precision against people's marks lies between the
            best of the rankings that know nothing of the model (0) and the marks themselves (1); its 95 % interval.
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


class Headline(_Part):
    """The answer, in the words that terminal, page and files share.

    Args:
        lead: the answer in a few words.
        text: what the questions of relevance come to, and on how much evidence.
        beside: a sentence each on exclusivity, stability and, where people marked words, plausibility.
        advice: what to do.
    """

    answer: Literal["yes", "in part", "no", "undecided", "nothing to explain", "too few texts"]
    lead: str
    text: str
    beside: tuple[str, ...] = ()
    advice: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything but the lead, in order."""
        return tuple(part for part in (self.text, *self.beside, self.advice) if part)


class Training(_Part):
    """One trained model behind a verdict."""

    run: str
    seed: int | None = None
    scores: dict[str, Number] = {}


class Substitution(_Part):
    """A word that was replaced, by which, and in how many texts."""

    word: str
    replacement: str
    texts: NonNegativeInt = 1


class Word(_Part):
    """A word, the label it speaks for where it was counted, and its attention score."""

    word: str
    speaks_for: str = ""
    score: Number = None


class Words(_Part):
    """The most and the least attended words.

    Args:
        auroc: the chance that a label-indicative word has a larger attention score than a neutral one; None where there
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


class Interval(_Part):
    """A mean with its 95 % interval, and over how many texts."""

    value: Number = None
    low: Number = None
    high: Number = None
    n: NonNegativeInt = 0


class Heads(_Part):
    """All heads of a transformer at a glance, and whether any of them may be shown.

    Args:
        measures: what each head shows or does, the mean over texts: a row a layer, a column a head.
        descriptions: what each measure is, in words.
        layer, head: the head that agrees best with leave-one-out on the texts that it was chosen on.
        agreement, mean_agreement: its Kendall's tau with leave-one-out on other texts, and that of the mean over the
            last layer's heads.
        gain: the former less the latter, text by text.
    """

    measures: dict[str, tuple[tuple[Number, ...], ...]]
    descriptions: dict[str, str] = {}
    layer: NonNegativeInt
    head: NonNegativeInt
    chosen_on: str = ""
    agreement: Interval
    mean_agreement: Interval
    gain: Interval
    sentence: str = ""

    def __repr__(self) -> str:
        return f"Heads(best: {self.layer}.{self.head}, tau {self.agreement.value}; mean {self.mean_agreement.value})"


class Verdict(_Part):
    """verdict.json: what was audited and how, every question answered, the answer, and what to do.

    Args:
        run: the audited run, the first where several trainings are pooled.
        fingerprint: of the audited data; empty where nobody knows it.
        trainings: every audited training; they differ in the seed alone.
        rankings: attention and all others that were tested, side by side.
        item: what attention weighs: "word" or "sentence".
        redundancy: the share of texts in which no single deletion changes the decision and two words or more give it,
            each alone: there, that other attention would do as well is no reproach.
        learnt: whether the model is surely better than always giving the most common answer, in accuracy or balanced
            accuracy, on these texts; None where that is not known.
        scores: of predictions, the mean over trainings.
        indicative_words: how many label-indicative words the texts have; None where they were not asked for.
        counted_on: the texts on which label-indicative words were counted.
        not_asked: why, for each question that could not be asked.
        about: what is to be known of the audited attention, as sentences; empty where there is no choice.
        heads: of a transformer, what each head shows and does.
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
    learnt: bool | None = None
    redundancy: Number = None
    headline: Headline | None = None
    lines: tuple[Line, ...]
    advice: Advice | None = None
    rankings: tuple[Ranking, ...] = ()
    words: Words | None = None
    indicative_words: NonNegativeInt | None = None
    counted_on: str = "the training texts"
    not_asked: dict[str, str] = {}
    substitutions: tuple[Substitution, ...] = ()
    synonym_source: str = ""
    trainings: tuple[Training, ...] = ()
    item: str = "word"
    about: tuple[str, ...] = ()
    heads: Heads | None = None
    notes: tuple[str, ...] = ()
    date: str = ""
    settings: dict[str, Any] = {}
    command: str = ""
    seconds: Number = None
    versions: dict[str, str] = {}

    def __repr__(self) -> str:
        lead = f": {self.headline.lead}" if self.headline else ""
        return (
            f"Verdict({self.model or self.run}, {self.texts:,} {self.split} texts, {len(self.lines)} questions{lead})"
        )
