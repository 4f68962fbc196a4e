"""What a question of the verdict is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

Values = Float[Tensor, "seed text"]
Columns = Mapping[str, Values]
"""One measure of one test, `test.measure`, for each seed and text."""

Triple = tuple[Values, Values, Values]
"""Value, floor, and best possible, text by text."""


@dataclass(frozen=True)
class Question:
    """How a line is made from columns: what is measured, against which floor and best, and how it is said."""

    name: str
    question: str
    needs: tuple[str, ...]
    """Tests, or single measures `test.measure`, without which it is not asked."""
    measured: Callable[[Columns], Triple]
    best_kind: str
    said: Callable[[float, float, float, dict[str, float]], str]
    beside: Callable[[Columns], dict[str, float]] = lambda columns: {}
    unless_exact: str = ""
    """What must be added where the test was not answered exactly; the best is then a yardstick."""
    is_of_words: bool = False
    """Whether it speaks of words even where attention weighs sentences."""


def mean(name: str) -> Callable[[Columns], float]:
    """The mean of one measure over all texts that have it."""
    return lambda columns: columns[name].nanmean().item()


def percent(share: float) -> str:
    """A share as a reader says it.

    >>> percent(0.881)
    '88 of 100'
    """
    return "none" if share != share else f"{100 * share:.0f} of 100"
