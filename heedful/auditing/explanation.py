"""Explanations of single decisions as plain data: what shows them needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import heedful

Action = Literal["attention", "instead", "nothing", "not audited"]
Solver = Literal["exact", "bound", "search"]

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
"""Rankings whose weights have a sign: positive for the decision, negative against it."""


@dataclass(frozen=True)
class Guidance:
    """What the model's audit says about explaining its decisions.

    Args:
        action: what to show; "not audited" where nobody knows.
        ranking: the ranking to show; where nothing should be shown, the best of those tested.
        name: that ranking in words.
        lead: what to do, in a few words.
        trust: how far to trust the explanation, and why.
    """

    action: Action
    ranking: str
    name: str
    lead: str
    trust: str

    @property
    def is_reliable(self) -> bool:
        """Whether the audit says that the ranking may be shown."""
        return self.action in ("attention", "instead")


@dataclass(frozen=True)
class SmallestSet:
    """The fewest items whose erasure changes the decision: their weight goes to the others, in proportion.

    Args:
        positions: of the items, counted from 0.
        becomes: what the model answers without them.
        probability: of that answer.
    """

    positions: tuple[int, ...]
    becomes: str
    probability: float


@dataclass(frozen=True)
class OtherAttention:
    """The most different attention with which the model still gives the same answer.

    Args:
        js: its Jensen-Shannon divergence from the model's attention, in nats.
        share: of the largest divergence from the model's attention that any weights have.
        predicted: what the model answers under it; another label only where the decision was closer than `eps`.
        probability: of the model's own answer under it.
        eps: how far the prediction was allowed to move, in total variation distance.
        solver: "exact"; "bound" where attention may be more different still; "search" where it may be much more so.
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
    """Why a model decided as it did on one text, and how far to trust that. A notebook shows it.

    Args:
        text: as it was written; empty where only tokens are known.
        items: what attention weighs, as written in the text.
        probabilities: by label.
        weights: of each item in `ranking`; NaN where it has none.
        smallest_set: None where no set of items changes the decision, or none was found.
        other_attention: None where there is a single item, or no other attention was found.
        solver: "exact" where all that follows attention is linear, otherwise "search".
        item: what an item is called: "word", "sentence" or "item".
        notes: what a reader should know about this text, such as words that the model does not know.
    """

    text: str
    query: str
    items: tuple[str, ...]
    predicted: str
    probabilities: Mapping[str, float]
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
        """Of the predicted label."""
        return self.probabilities[self.predicted]

    @property
    def ranking(self) -> str:
        """The name of the ranking to show: one that every audit tests, or another that this audit tested."""
        return self.guidance.ranking

    @property
    def is_signed(self) -> bool:
        """Whether negative weights speak against the decision."""
        return self.ranking in SIGNED

    @property
    def trust(self) -> str:
        """How far to trust the explanation."""
        return self.guidance.trust

    def _repr_html_(self) -> str:
        return heedful.explanations_in_notebook([self])

    def __repr__(self) -> str:
        text = self.text or " ".join(self.items)
        shown = f"{text[:SHOWN]} ..." if len(text) > SHOWN else text
        return f"Explanation({shown!r}: {self.predicted} {self.probability:.2f}; {self.guidance.lead})"
