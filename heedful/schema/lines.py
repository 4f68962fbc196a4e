"""The tests that explain an answer, and rankings side by side."""

from typing import Literal

from pydantic import NonNegativeInt

from heedful.formatting import format_estimate
from heedful.schema.part import Group, Number, VerdictPart


class SeedScore(VerdictPart):
    """What one training says on a question that several were asked."""

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
        value, low, high: the mean over texts and its 95 % interval.
        floor, best: what no information, and the best possible, would give on the same texts.
        best_kind: `ceiling` where nothing can be better, `yardstick` where it can.
        score: (value - floor) / (best - floor); None where there is nothing to measure.
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
