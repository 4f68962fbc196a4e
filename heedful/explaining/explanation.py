"""Explanations of single predictions as plain data, to be shown without torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import heedful
from heedful.schema import ClassAnswer, TextOutcome, Verdict
from heedful.schema.rankings import METHODS, ranking_title
from heedful.schema.rankings import SHOWN as RANKINGS
from heedful.settings import AuditSettings
from heedful.verdict.answer_text import BADGES, QUESTION

Show = Literal["attention", "ranking", "key words", "nothing", "not audited"]
Solver = Literal["exact", "bound", "search"]

NO_AUDIT = "No audit of this model is known."
NO_ANSWER = "The audit of this model did not judge texts, so it has no answer."

SHOWN = 60
"""Characters of the text that the representation of an explanation shows."""

SIGNED = (
    "attention_x_gradient",
    "gradient_x_input",
    "weight_gradient",
    "leave_one_out",
    "integrated_gradients",
    "smoothgrad",
    "lime",
    "shap",
)
"""Rankings whose weights have a sign: positive for the prediction, negative against it."""


@dataclass(frozen=True)
class Guidance:
    """The answer of the model's audit, and its recommendation.

    Args:
        show: the recommendation; "not audited" if there is no answer.
        ranking: the ranking that the heat map shows.
        name: that ranking as text.
        headline: the audit's answer in one line, or why there is none.
        sentence: the headline's numbers; empty if it depends on the class.
        recommendation: what to show, or how to get an answer.
        basis: what was audited; empty without an audit.
        overall: the answer for all texts; None without an answer.
        classes: the answer for each predicted class, by label.
    """

    show: Show
    ranking: str
    name: str
    headline: str
    sentence: str
    recommendation: str
    basis: str = ""
    overall: ClassAnswer | None = None
    classes: Mapping[str, ClassAnswer] = field(default_factory=dict)

    def sentences(self, predicted: Sequence[str]) -> tuple[str, ...]:
        """The answers for texts with these predicted labels, and the recommendation."""
        if self.overall is None:
            return (self.headline, self.recommendation)
        labels = [label for label in dict.fromkeys(predicted) if label in self.classes]
        answers = [(f"If the model predicts {label}", self.classes[label]) for label in labels]
        if all(answer.answer == "Too few texts" for _, answer in answers):
            answers.append(("All texts", self.overall))
        return (
            f"{self.basis} {QUESTION}",
            *(f"{texts}: {answer.answer}. {answer.sentence}" for texts, answer in answers),
            self.recommendation,
        )


def guidance_of(verdict: Verdict | None, how_to_audit: str) -> Guidance:
    """The answers and the recommendation of the verdict.

    Args:
        how_to_audit: what to run if there is no answer.
    """
    answer = verdict.answer if verdict is not None else None
    if verdict is None or answer is None:
        headline = NO_AUDIT if verdict is None else NO_ANSWER
        how = f"To learn in how many texts attention points to the key words, run {how_to_audit}."
        return Guidance("not audited", "attention", "attention", headline, "", how)
    advice = answer.recommendation
    show, ranking, sentence = (
        ("key words", "", "") if advice is None else (advice.show, advice.ranking, advice.sentence)
    )
    if show != "ranking":
        ranking = "attention"
    elif ranking not in {**RANKINGS, **METHODS}:
        # External scores are not available for new texts.
        sentence += " Those scores came from outside and cannot be computed here: the heat map shows attention."
        show, ranking = "key words", "attention"
    count = max(1, len(verdict.trainings))
    seeds = "1 seed" if count == 1 else f"{count} seeds"
    texts = "1 text" if verdict.texts == 1 else f"{verdict.texts:,} texts"
    return Guidance(
        show=show,
        ranking=ranking,
        name=ranking_title(ranking),
        headline=answer.headline,
        sentence=answer.sentence,
        recommendation=sentence,
        basis=f"Audit of {seeds} and {texts}{'; another seed might give a different answer' if count == 1 else ''}.",
        overall=answer.overall,
        classes={each.shares.label: each for each in answer.classes if each.shares.label is not None},
    )


def settings_of(verdict: Verdict | None) -> AuditSettings:
    """The settings by which the audit judged texts; the defaults without an audit."""
    used = verdict.settings.get("audit") if verdict is not None else None
    return AuditSettings.model_validate(used) if used else AuditSettings()


@dataclass(frozen=True)
class SmallestSet:
    """The fewest items whose erasure changes the prediction: their weight goes to the others, in proportion.

    Args:
        positions: positions of the items, counted from 0.
        becomes: the label that the model predicts without them.
        probability: probability of that label.
    """

    positions: tuple[int, ...]
    becomes: str
    probability: float


@dataclass(frozen=True)
class OtherAttention:
    """Adversarial attention: the farthest from the model's own that keeps the prediction within eps.

    Args:
        js: its Jensen-Shannon divergence from the model's attention, in nats.
        share: `js` as a share of the largest divergence that any weights have.
        predicted: label under it; it differs only if the prediction was closer than `eps`.
        probability: probability of the model's own label under it.
        eps: how far the prediction was allowed to move, in total variation distance.
        solver: "exact"; "bound" if attention might be farther still; "search" if it might be much farther.
    """

    weights: tuple[float, ...]
    js: float
    share: float
    predicted: str
    probability: float
    eps: float
    solver: Solver


@dataclass(frozen=True, repr=False)
class Explanation:
    """Which words decide the prediction for one text, and whether attention points to them. A notebook shows it.

    Args:
        text: as it was written; empty if only tokens are known.
        items: the words (or sentences) that attention weighs, as written in the text.
        probabilities: probability of each label.
        outcome: outcome for attention; its positions are of `items`.
        shown_outcome: outcome for the ranking of the heat map.
        weights: weight of each item in `ranking`; NaN if undefined.
        smallest_set: None if no set of items changes the prediction, or none was found.
        other_attention: None if there is a single item, or none was found.
        solver: "exact" if everything after attention is linear, otherwise "search".
        item: name of an item: "word", "sentence" or "item".
        notes: what a reader should know about this text, such as words that the model does not know.
    """

    text: str
    query: str
    items: tuple[str, ...]
    predicted: str
    probabilities: Mapping[str, float]
    outcome: TextOutcome
    shown_outcome: TextOutcome
    attention: tuple[float, ...]
    weights: tuple[float, ...]
    smallest_set: SmallestSet | None
    other_attention: OtherAttention | None
    solver: Solver
    guidance: Guidance
    item: str = "word"
    notes: tuple[str, ...] = ()

    @property
    def probability(self) -> float:
        """Probability of the predicted label."""
        return self.probabilities[self.predicted]

    @property
    def ranking(self) -> str:
        """Name of the ranking that the heat map shows."""
        return self.guidance.ranking

    @property
    def is_signed(self) -> bool:
        """Whether negative weights oppose the prediction."""
        return self.ranking in SIGNED

    def _repr_html_(self) -> str:
        return heedful.explanations_in_notebook([self])

    def __repr__(self) -> str:
        text = self.text or " ".join(self.items)
        shown = f"{text[:SHOWN]} ..." if len(text) > SHOWN else text
        return f"Explanation({shown!r}: {self.predicted} {self.probability:.2f}; {BADGES[self.outcome.outcome]})"
