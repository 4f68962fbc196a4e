"""What the parts of a verdict have in common."""

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict


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
    """A part of a verdict: frozen; what a newer version has beside is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Part = TypeVar("Part", bound=VerdictPart)


def updated(part: Part, **changes: Any) -> Part:
    """The same part of a verdict with these fields changed, validated as when it was made."""
    return type(part).model_validate({**dict(part), **changes})
