"""Audits on disk, and the one that is made where it is missing.

audits/<key>/  audit.json         what was audited, with which settings
               rows.parquet       run, split, example, item, test, measure, value, solver; also of the dev texts on
                                  which the ranking to show is chosen
               examples.parquet   the texts that are shown word by word
               verdict.json       the answer, the lines of the verdict, and what to show
"""

import json
from pathlib import Path

import polars as pl

from heedful.auditing.audit import Audit, Report, audit
from heedful.auditing.companions import Companions
from heedful.auditing.request import AuditRequest
from heedful.runs.folders import written_whole
from heedful.schema import Verdict
from heedful.settings import AuditSettings, key_of
from heedful.training.trained import Trained
from heedful.types import Dataset


def request_of(trained: Trained, settings: AuditSettings, companions: Companions[Trained]) -> AuditRequest:
    """The audit of a finished run beside others, as it is called on disk."""
    return AuditRequest(
        run=key_of(trained.run),
        data=trained.run.data.fingerprint,
        settings=settings,
        companions=companions.map(lambda companion: key_of(companion.run)),
    )


def ensure_audit(
    trained: Trained,
    dataset: Dataset,
    settings: AuditSettings,
    folder: Path,
    companions: Companions[Trained] = Companions(),  # noqa: B008 (frozen)
    *,
    device: str = "cpu",
    report: Report | None = None,
    command: str = "",
) -> Path:
    """The folder of this audit: found, or made now."""
    place = folder / request_of(trained, settings, companions).key
    if not (place / "verdict.json").is_file():
        save_audit(audit(trained, dataset, settings, companions, device=device, report=report), place, command)
    return place


def save_audit(finished: Audit, folder: Path, command: str = "") -> None:
    """Write the audit's folder, whole or not at all."""
    verdict = Verdict.model_validate({**dict(finished.verdict), "command": command})
    description = verdict.model_dump(mode="json", exclude={"headline", "lines", "advice", "command"})
    with written_whole(folder) as part:
        pl.concat([finished.rows, finished.dev]).write_parquet(part / "rows.parquet")
        finished.examples.write_parquet(part / "examples.parquet")
        for name, content in {"audit.json": description, "verdict.json": verdict.model_dump(mode="json")}.items():
            (part / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
