"""Facts of a verdict: trained models, words, heads, intervals."""

from pydantic import NonNegativeInt

from heedful.schema.part import Number, VerdictPart


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
    """A word, the label it speaks for where it was counted, and its attention score."""

    word: str
    speaks_for: str = ""
    score: Number = None


class Words(VerdictPart):
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


class Interval(VerdictPart):
    """A mean with its 95 % interval, and over how many texts."""

    value: Number = None
    low: Number = None
    high: Number = None
    n: NonNegativeInt = 0


class Heads(VerdictPart):
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
