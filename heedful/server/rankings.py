"""Rankings of a text's items, and what people marked."""

import math

from heedful.auditing.explanation import SIGNED
from heedful.battery.evidence import RANKINGS
from heedful.models.transformers.model import TransformerModel
from heedful.server.contract import RankedItems
from heedful.server.outcomes import outcomes_of, weights_by_word
from heedful.server.reading import ReadText
from heedful.settings import AuditSettings
from heedful.verdict.outcome_text import BADGES
from heedful.verdict.ranking_names import ranking_title

MARKED = "marked by people"
COSTLY = ("gradient_x_input", "leave_one_out")
"""Rankings that take a pass through the encoder, or one an item."""
AFFORDABLE, AFFORDABLE_FOR_TRANSFORMERS = 40_000, 4_096
"""Items times words up to which costly rankings are computed: 200 words, and 64."""
JUDGING = 4
"""Passes per item that an outcome takes: outcomes are computed up to half of these lengths."""


def is_affordable(read: ReadText, passes: int = 1) -> bool:
    """Whether costly rankings of the text are computed while a person waits.

    Args:
        passes: through the encoder, per item.
    """
    is_large = isinstance(read.evidence.model, TransformerModel)
    return passes * read.count * len(read.words) <= (AFFORDABLE_FOR_TRANSFORMERS if is_large else AFFORDABLE)


def can_be_judged(read: ReadText) -> bool:
    """Whether the outcome of the text is computed while a person waits."""
    return is_affordable(read, JUDGING)


def rankings_of(read: ReadText, settings: AuditSettings, *, is_quick: bool = False) -> list[RankedItems]:
    """Attention, all rankings of an audit as far as they are affordable, and people's marks if there are any.

    Args:
        settings: by which the text is judged.
        is_quick: whether to leave out costly rankings and outcomes, whatever the text.
    """
    evidence, is_whole = read.evidence, not is_quick and is_affordable(read)
    is_judged = not is_quick and can_be_judged(read)
    weights = {
        name: read.listed(evidence.attention if name == "attention" else RANKINGS[name](evidence))
        for name in RANKINGS
        if name not in COSTLY or is_whole
    }
    outcomes = outcomes_of(read, settings) if is_judged else {}
    if is_judged:
        weights |= {name: list(own) for name, own in weights_by_word(read, settings).items()}
    ranked = [
        RankedItems(
            name=name,
            title=ranking_title(name),
            is_signed=name in SIGNED,
            weights=_defined(own),
            badge=BADGES[outcomes[name].outcome] if name in outcomes else "",
        )
        for name, own in weights.items()
    ]
    marks = _marks(read)
    if marks is not None:
        ranked.append(RankedItems(name="rationale", title=MARKED, is_signed=False, weights=marks))
    return ranked


def _marks(read: ReadText) -> list[float | None] | None:
    """The share of each item's words that people marked; None where nobody marked any."""
    if read.marks is None:
        return None
    marked = set(read.marks)
    return [sum(place in marked for place in words) / len(words) for words in read.items]


def _defined(values: list[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]
