"""Where a text stands among those of its model's audit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

import polars as pl
import torch

from heedful.auditing.decision import other_attention
from heedful.battery.gradient_agreement import taus_of
from heedful.exact import minimal_flip_set, worst_permutation
from heedful.report.audit_files import AuditFiles
from heedful.server.contract import Place
from heedful.server.rankings import is_affordable
from heedful.server.reading import ReadText


@dataclass(frozen=True)
class Compared:
    """A measure that every audit has of its texts, and what it is of a new one.

    Args:
        title: what is measured.
        test, measure: where the audit has it; `per` is another measure that it is divided by.
        of_text: of a text; NaN where it is undefined.
        sentence: what to say of so many of 100 texts that have less.
    """

    title: str
    test: str
    measure: str
    of_text: Callable[[ReadText], float]
    sentence: Callable[[str], str]
    per: str = ""


def _replaceable(read: ReadText) -> float:
    """The share of the largest divergence that attention with the same answer reaches; exact for two classes alone."""
    if len(read.evidence.context.labels) != 2 or read.evidence.item_logits is None:
        return torch.nan
    other = other_attention(read.evidence, read.evidence.context.labels)[0]
    return torch.nan if other is None else other.share


def _smallest(read: ReadText) -> float:
    """The share of the items in the smallest set whose erasure changes the decision."""
    evidence = read.evidence
    if evidence.item_logits is None or float(evidence.weighed[0]) < 2:
        return torch.nan
    smallest = minimal_flip_set(evidence.log_attention, evidence.item_logits, evidence.items)
    return float(smallest.size[0]) / read.count


def _permuted(read: ReadText) -> float:
    """How far the worst permutation of the weights moves the prediction."""
    evidence = read.evidence
    if evidence.item_logits is None or read.count < 2:
        return torch.nan
    return float(worst_permutation(evidence.attention, evidence.item_logits, evidence.items).tvd[0])


def _agreement(read: ReadText) -> float:
    """Kendall's tau-b of attention with leave-one-out."""
    if not is_affordable(read):
        return torch.nan
    evidence = read.evidence
    taus, _ = taus_of([(evidence.attention, evidence.leave_one_out_tvd)], evidence.items)
    return float(taus[0, 0])


COMPARED: Mapping[str, Compared] = {
    "replaceable": Compared(
        "how replaceable its attention is",
        "adversarial_attention",
        "js",
        _replaceable,
        lambda share: f"This text's attention is more replaceable than that of {share} audited texts.",
        per="cap",
    ),
    "smallest_set": Compared(
        "smallest set that changes the decision",
        "erase_until_flip",
        "fraction_minimal",
        _smallest,
        lambda share: f"More of this text must be erased to change the decision than of {share} audited texts.",
    ),
    "worst_permutation": Compared(
        "what the worst permutation does",
        "permutation",
        "worst_tvd",
        _permuted,
        lambda share: f"Permuting the weights can move this prediction further than {share} audited ones.",
    ),
    "leave_one_out": Compared(
        "agreement with leave-one-out",
        "leave_one_out_agreement",
        "tau",
        _agreement,
        lambda share: f"Attention agrees better with leave-one-out here than in {share} audited texts.",
    ),
}


class AuditedTexts:
    """What an audit measured of its texts, by the names of COMPARED.

    Args:
        run: the run whose texts count, where audits of several seeds are pooled.
    """

    def __init__(self, audit: AuditFiles, run: str):
        whole = audit.rows.filter(pl.col("item").is_null())
        own = whole.filter(pl.col("run") == run)
        self._rows = whole if own.is_empty() else own
        settings = audit.verdict.settings.get("audit")
        options = settings.get("options") if isinstance(settings, dict) else None
        # A test that was given options of its own measures something else than is measured here.
        self._changed = set(options) if isinstance(options, dict) else set()
        self.values = {name: self._of(compared) for name, compared in COMPARED.items()}

    def _of(self, compared: Compared) -> list[float]:
        if compared.test == "adversarial_attention" and compared.test in self._changed:
            return []
        columns = [compared.measure, *([compared.per] if compared.per else [])]
        wide = self._rows.filter(pl.col("test") == compared.test, pl.col("measure").is_in(columns))
        table = wide.pivot("measure", index="example", values="value", aggregate_function="first")
        if not set(columns) <= set(table.columns):
            return []
        value = pl.col(compared.measure) / pl.col(compared.per) if compared.per else pl.col(compared.measure)
        return [
            number for number in table.select(value).to_series().to_list() if number is not None and isfinite(number)
        ]

    def places(self, read: ReadText) -> list[Place]:
        """Where the text stands in each of these, where both are defined."""
        placed = []
        for name, compared in COMPARED.items():
            audited = self.values[name]
            value = compared.of_text(read) if audited else torch.nan
            if isfinite(value):
                less = 100 * sum(other < value for other in audited) / len(audited)
                placed.append(
                    Place(
                        name=name,
                        title=compared.title,
                        value=value,
                        percentile=less,
                        texts=len(audited),
                        sentence=compared.sentence(f"{less:.0f} of 100"),
                    )
                )
        return placed
