"""verdict.json, whole."""

from typing import Any

from pydantic import NonNegativeInt

from heedful.schema.answers import AuditAnswer, ShownText
from heedful.schema.facts import Heads, Substitution, Training, Words
from heedful.schema.lines import Line, Ranking
from heedful.schema.part import Number, VerdictPart


class Verdict(VerdictPart):
    """verdict.json: what was audited and how, the answer, what to do, and every test that explains it.

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
        answer: whether attention can be shown; None if the answer was not asked for.
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
    learnt: bool | None = None
    redundancy: Number = None
    answer: AuditAnswer | None = None
    lines: tuple[Line, ...]
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
