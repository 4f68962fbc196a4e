"""What audits owe to single precision and to differences followed to first order: time, and what they change.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/precision.py [sst2] [imdb_small]

Needs HEEDFUL_DATA. A trained BiLSTM on its test texts, as an audit reads them: as audits do it, and in double precision
until every variant has settled to 1e-13. Rankings differ where any item has another rank or tie. Beside it the largest
difference that reading parts of texts in single precision makes to any comprehensiveness or sufficiency. One thread,
processor time; runs are kept in `runs/`.
"""

import sys
from unittest.mock import patch

import torch
from audit import trained_on
from heedful.subjects.subject import float64_eval_copy
from heedful.subjects.finished_run import FinishedRun
from rich.console import Console
from rich.table import Table
from timing import seconds

from heedful.attribution import leave_one_out
from heedful.battery import BATTERY, Evidence
from heedful.measures import ties_within
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.types import Batch, Model

TEXTS = {"sst2": None, "imdb_small": 64}
"""How many test texts; None: all."""


def settled(evidence: Evidence) -> torch.Tensor:
    """Logits without each item, in double precision and without following differences."""
    with patch("heedful.attribution.reuse.reading.adjoint_of", lambda texts: None):
        return leave_one_out(evidence.model, evidence.trace)


def rankings(evidence: Evidence, logits: torch.Tensor) -> torch.Tensor:
    """Ranks of the items of each text by leave-one-out, signed and as a distance."""
    evidence.__dict__["deletion_logits"] = logits
    names = ("leave_one_out", "leave_one_out_tvd")
    for name in names:
        evidence.__dict__.pop(name, None)
    return torch.stack([ties_within(getattr(evidence, name), evidence.items) for name in names])


def of_parts(evidence: Evidence) -> torch.Tensor:
    """Every comprehensiveness and sufficiency of every text."""
    findings = BATTERY["comprehensiveness_sufficiency"].function(evidence, torch.Generator())
    return torch.stack(list(findings.values.values()))


def compare(model: Model, batch: Batch) -> tuple[float, float, int, float, float]:
    """Seconds as audits do it and until settled, rankings that differ, largest differences of a logit and a part."""
    with torch.no_grad():
        evidence, wanted = Evidence(model, trace(model, batch)), []
        fast = seconds(lambda: evidence.deletion_logits)
        slow = seconds(lambda: wanted.append(settled(evidence)))
        own, other, quick = evidence.deletion_logits, wanted[0], of_parts(evidence)
        differ = (rankings(evidence, own) != rankings(evidence, other)).any(-1).sum()
        evidence.__dict__ |= {"quick_reader": evidence.variant_reader, "deletion_logits": other}
        parts = of_parts(evidence)
    return fast, slow, int(differ), largest(own - other), largest(quick - parts)


def largest(difference: torch.Tensor) -> float:
    return float(difference.abs().nan_to_num(0.0).max())


def main() -> None:
    torch.set_num_threads(1)
    headings = ("data", "texts", "as audits do it, ms a text", "until settled", "ratio", "rankings that differ")
    table = Table(*headings, "logits differ by", "parts by")
    for name in sys.argv[1:] or TEXTS:
        trained, dataset = trained_on(name)
        subject = FinishedRun(trained).texts(dataset, AuditSettings(examples=TEXTS[name]))
        model = float64_eval_copy(trained.model)
        fast, slow, differ, *apart = zip(*(compare(model, batch) for batch in subject.batches()), strict=True)
        texts = len(subject.numbers)
        times = (f"{1e3 * sum(each) / texts:.2f}" for each in (fast, slow))
        of_all = f"{sum(differ)} of {2 * texts}"
        table.add_row(
            name, str(texts), *times, f"{sum(slow) / sum(fast):.2f}", of_all, *(f"{max(each):.0e}" for each in apart)
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
