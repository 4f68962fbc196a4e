"""Models beside the audited one: from other seeds, without attention, or trained against it; and their rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import polars as pl
import torch
from torch import Tensor

from heedful.auditing.rows import ORDER, batch_rows, item_rows, shown_texts
from heedful.auditing.subject import Subject, float64_eval_copy
from heedful.battery import PAIRS
from heedful.battery.adversarial_models import REACHABLE, TRAINED, distance_from_constant, reachable, reached
from heedful.errors import pick
from heedful.settings import AuditSettings
from heedful.types import Batch, Findings, Model, Trace

Companion = TypeVar("Companion", covariant=True)
Other = TypeVar("Other")


@dataclass(frozen=True, repr=False)
class Companions(Generic[Companion]):
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

    def map(self, function: Callable[[Companion], Other]) -> "Companions[Other]":
        """The same companions as something else."""
        return Companions(
            retrained=None if self.retrained is None else function(self.retrained),
            seeds=tuple(map(function, self.seeds)),
            adversaries=tuple(map(function, self.adversaries)),
            reference=None if self.reference is None else function(self.reference),
        )

    def __repr__(self) -> str:
        roles = {**self.by_role(), "reference": () if self.reference is None else (self.reference,)}
        named = [f"{role} {_name(companion)}" for role, companions in roles.items() for companion in companions]
        return f"Companions({', '.join(named)})"

    def __iter__(self) -> Iterator[Companion]:
        for companions in self.by_role().values():
            yield from companions
        if self.reference is not None:
            yield self.reference


def _name(companion: object) -> str:
    return companion if isinstance(companion, str) else type(companion).__name__


def companion_rows(subject: Subject, companions: Companions[Subject], settings: AuditSettings) -> list[pl.DataFrame]:
    """The rows of every test that compares the audited model with its companions."""
    parts = []
    if companions.retrained is not None:
        parts.append(pair_rows("uniform_retrained", subject, [companions.retrained], settings))
    if companions.seeds:
        parts.append(pair_rows("seeds", subject, companions.seeds, settings))
    if companions.adversaries:
        parts.append(adversary_rows(subject, companions.adversaries))
    return parts


def pair_rows(test: str, subject: Subject, others: Sequence[Subject], settings: AuditSettings) -> pl.DataFrame:
    """The rows of a test that compares a model with others on the same texts."""
    compare = pick("test of several models", test, PAIRS).function
    shown = shown_texts(subject, settings)
    parts = []
    for seen, *traces in _traces((subject, *others)):
        findings = compare(seen, traces)
        parts += [
            batch_rows(subject, seen.batch, {test: findings}),
            item_rows(subject, seen, findings.items, shown, findings.solver),
        ]
    return pl.concat(parts).sort(ORDER, nulls_last=False)


def adversary_rows(subject: Subject, adversaries: Sequence[Subject]) -> pl.DataFrame:
    """What an adversary could reach, and what each trained one did, numbered from 1.

    As `attefa_family.base_rows` and `adversary_rows` name them, from which `attefa_family.family` is made again.
    """
    model = float64_eval_copy(subject.model)
    batches: list[Batch] = []
    base_measures: list[dict[str, Tensor]] = []
    measures: list[list[dict[str, Tensor]]] = []
    predictions: list[list[Tensor]] = []
    for base, *others in _traces((subject, *adversaries)):
        batches.append(base.batch)
        base_measures.append(reachable(model, base))
        measures.append([reached(base, other) for other in others])
        predictions.append([seen.logits.softmax(-1).cpu() for seen in (base, *others)])
    constant, *apart = (distance_from_constant(column) for column in zip(*predictions, strict=True))
    parts = []
    for place, batch in enumerate(batches):
        values = {
            f"{name}_{n}": value
            for n, (own, distance) in enumerate(zip(measures[place], apart, strict=True), start=1)
            for name, value in {**own, "apart": distance[place]}.items()
        }
        base_values = base_measures[place] | {"constant_tvd": constant[place]}
        findings = {REACHABLE: Findings(base_values, "exact"), TRAINED: Findings(values, "search")}
        parts.append(batch_rows(subject, batch, findings))
    return pl.concat(parts).sort(ORDER, nulls_last=False)


def _traces(subjects: Sequence[Subject]) -> Iterator[list[Trace]]:
    """Batch by batch, what each model makes of the same texts."""
    models: list[Model] = [float64_eval_copy(subject.model) for subject in subjects]
    for batches in zip(*(subject.batches() for subject in subjects), strict=True):
        with torch.no_grad():
            readings = zip(subjects, models, batches, strict=True)
            yield [subject.trace(model, batch) for subject, model, batch in readings]
