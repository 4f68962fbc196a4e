"""Bounds of settings, and what all of them have in common."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""What torch's generators take."""
Option = bool | int | float | str
OptionValue = Option | tuple[Option, ...]


class Settings(BaseModel):
    """Settings: frozen, nothing unknown among them, finite; shown by what is not as usual."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What is set otherwise than by default."""
        for name, field in type(self).model_fields.items():
            if (value := getattr(self, name)) != field.get_default(call_default_factory=True):
                yield name, value
