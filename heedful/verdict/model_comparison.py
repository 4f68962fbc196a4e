"""Models side by side, each over its seeds: what each question measures, and which differences are significant."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from jaxtyping import Float
from torch import Tensor

from heedful.battery import QUESTIONS
from heedful.measures import Estimate, difference_interval, mean_interval
from heedful.schema import Group, Verdict
from heedful.verdict.scoring import columns_of, is_asked

Shaped = Float[Tensor, "..."]
Change = Literal["better", "worse", ""]

WHICH_TEXTS = ("data.test_limit", "data.split_seed", "text.longer_than", "text.shorter_than")
"""Settings of a run that decide which texts of its data are kept."""


@dataclass(frozen=True)
class Side:
    """One model at one question.

    Args:
        value: the mean over texts and seeds, with its interval; a larger value is better for attention.
        difference_from_first: its value minus the first model's, text by text; None for the first, or on other texts.
    """

    value: Estimate
    difference_from_first: Estimate | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        difference = self.difference_from_first
        return difference is not None and (difference.low > 0 or difference.high < 0)

    @property
    def change(self) -> Change:
        """Whether attention is significantly better or worse here than in the first model; empty if neither."""
        if self.difference_from_first is None or not self.is_significant:
            return ""
        return "better" if self.difference_from_first.value > 0 else "worse"


@dataclass(frozen=True)
class Comparison:
    """One question, answered for each model; None for a model that skipped it."""

    name: str
    question: str
    sides: tuple[Side | None, ...]
    group: Group | None = None


def compare(
    groups: Mapping[str, Sequence[pl.DataFrame]], item: str = "word", *, on_other_texts: Collection[str] = ()
) -> list[Comparison]:
    """Every question that some model was asked, for each model.

    Args:
        groups: for each model the rows of its audits, one audit per seed.
        item: what attention weighs.
        on_other_texts: models audited on different texts than the first; they have no difference from it.
    """
    columns = {name: columns_of(audits) for name, audits in groups.items()}
    comparisons = []
    for question in QUESTIONS:
        values = {name: question.measured(own)[0] if is_asked(question, own) else None for name, own in columns.items()}
        if any(measured is not None for measured in values.values()):
            first = next(iter(values.values()))
            sides = tuple(_side(None if name in on_other_texts else first, own) for name, own in values.items())
            comparisons.append(Comparison(question.name, question.wording(item), sides, question.group))
    return comparisons


def _side(first: Shaped | None, own: Shaped | None) -> Side | None:
    if own is None:
        return None
    value = mean_interval(own)
    if first is None or first is own or first.shape[1] != own.shape[1]:
        return Side(value)
    seeds = min(len(first), len(own))
    return Side(value, difference_interval(own[:seeds], first[:seeds]))


def are_same_texts(first: Verdict, first_rows: pl.DataFrame, other: Verdict, other_rows: pl.DataFrame) -> bool:
    """Whether two audits read the same texts: of the same data and split, with the same numbers and labels.

    Args:
        first_rows, other_rows: with the texts' labels, which identify the texts if the data is unknown.
    """
    fingerprints = audited_fingerprint(first), audited_fingerprint(other)
    for known, own in (fingerprints, (_kept(first), _kept(other))):
        if known and own and known != own:
            return False
    return first.split == other.split and _labels(first_rows).equals(_labels(other_rows))


def audited_fingerprint(verdict: Verdict) -> str:
    """Fingerprint of the audited data, by default the run's own; empty if not recorded."""
    return verdict.fingerprint or str(_setting(verdict, "data.fingerprint") or "")


def _kept(verdict: Verdict) -> tuple[Any, ...]:
    """The settings by which texts were kept; empty unless it is the run's own data that was audited."""
    fingerprint = audited_fingerprint(verdict)
    is_own_data = bool(fingerprint) and fingerprint == _setting(verdict, "data.fingerprint")
    return tuple(_setting(verdict, name) for name in WHICH_TEXTS) if is_own_data else ()


def _setting(verdict: Verdict, name: str) -> Any:
    part, _, field = name.partition(".")
    run = verdict.settings.get("run")
    inner = run.get(part) if isinstance(run, dict) else None
    return inner.get(field) if isinstance(inner, dict) else None


def _labels(rows: pl.DataFrame) -> pl.DataFrame:
    """The number and label of every text."""
    whole = rows.filter(pl.col("item").is_null())
    labelled = whole.filter((pl.col("test") == "prediction") & (pl.col("measure") == "label"))
    chosen = whole if labelled.is_empty() else labelled
    columns = ["example"] if labelled.is_empty() else ["example", "value"]
    return chosen.select(columns).unique().sort("example")
