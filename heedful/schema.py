"""What an audit's files hold, stated once: the columns of rows and examples, and the verdict.

Whatever writes or reads these files does it by this module. It imports no torch.
"""

import math
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeInt

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
    }
)
"""rows.parquet: one number each. `item` is null in rows that speak of a whole text."""

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
    }
)
"""examples.parquet: the texts that are shown word by word."""

OPTIONAL = ("query", "replaced")
"""Columns of examples that files from elsewhere may lack: read as null."""
NULLABLE = ("item", "value", "probability", "adversarial_probability", "query", "replaced")
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


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Line(_Part):
    """One question of the verdict and its answer.

    Args:
        question: in words.
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


class ShowInstead(_Part):
    """The ranking to show in place of attention, chosen on dev, with every ranking's mean fraction erased on test."""

    ranking: str
    sentence: str = ""
    fractions: dict[str, Number] = {}


class Word(_Part):
    """A word, the label it speaks for in the training texts, and its attention score."""

    word: str
    speaks_for: str = ""
    score: Number = None


class Words(_Part):
    """The most and the least attended words.

    Args:
        auroc: the chance that a label-indicative word has a larger attention score than a neutral one.
        polar, neutral: how many words of each kind were read.
    """

    auroc: Number = None
    polar: NonNegativeInt = 0
    neutral: NonNegativeInt = 0
    most: tuple[Word, ...] = ()
    least: tuple[Word, ...] = ()


class Verdict(_Part):
    """verdict.json: what was audited and how, and every question answered.

    Args:
        redundancy: the share of texts in which no single deletion changes the decision and two words or more give it,
            each alone: there, that other attention would do as well is no reproach.
        learnt: whether the model is surely better than always giving the most common answer, in accuracy or balanced
            accuracy, on these texts; None where that is not known.
    """

    run: str
    model: str = ""
    data: str
    split: str = "test"
    texts: NonNegativeInt
    labels: tuple[str, ...]
    scores: dict[str, Number] = {}
    learnt: bool | None = None
    redundancy: Number = None
    lines: tuple[Line, ...]
    show_instead: ShowInstead | None = None
    words: Words | None = None
    settings: dict[str, Any] = {}
    command: str = ""
    seconds: Number = None
    versions: dict[str, str] = {}
