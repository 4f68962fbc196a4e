"""Models beside the audited one, as keys, as runs to be trained, or as models at hand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Companion = TypeVar("Companion", covariant=True)


Other = TypeVar("Other")


@dataclass(frozen=True, repr=False)
class ComparisonModels(Generic[Companion]):
    """The models beside an audited one: as keys, as runs to be trained, or as models at hand.

    Args:
        retrained: the same model trained with uniform attention, for the question whether attention is needed at all.
        seeds: the same model trained from other seeds.
        adversaries: models trained to predict as it does and attend elsewhere.
        reference: the run whose attention a model of ours with frozen attention imposes.
    """

    retrained: Companion | None = None
    seeds: tuple[Companion, ...] = ()
    adversaries: tuple[Companion, ...] = ()
    reference: Companion | None = None

    def by_role(self) -> dict[str, tuple[Companion, ...]]:
        """Those that add rows of their own, in a fixed order."""
        retrained = () if self.retrained is None else (self.retrained,)
        return {"retrained": retrained, "seed": self.seeds, "adversary": self.adversaries}

    def map(self, function: Callable[[Companion], Other]) -> "ComparisonModels[Other]":
        """The same models as something else."""
        return ComparisonModels(
            retrained=None if self.retrained is None else function(self.retrained),
            seeds=tuple(map(function, self.seeds)),
            adversaries=tuple(map(function, self.adversaries)),
            reference=None if self.reference is None else function(self.reference),
        )

    def __repr__(self) -> str:
        roles = {**self.by_role(), "reference": () if self.reference is None else (self.reference,)}
        named = [
            f"{role} {_name(companion)}" for role, comparison_models in roles.items() for companion in comparison_models
        ]
        return f"ComparisonModels({', '.join(named)})"

    def __iter__(self) -> Iterator[Companion]:
        for comparison_models in self.by_role().values():
            yield from comparison_models
        if self.reference is not None:
            yield self.reference


def _name(companion: object) -> str:
    return companion if isinstance(companion, str) else type(companion).__name__
