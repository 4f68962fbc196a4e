"""The audit of a finished run: found on disk, or made now; its folder is described in `audit_folders`."""

import json
import logging
from hashlib import sha256
from pathlib import Path

import polars as pl

from heedful.auditing.audit import Audit, Report, audit
from heedful.auditing.companions import Companions
from heedful.auditing.request import AuditRequest
from heedful.errors import DataError
from heedful.models.transformers.model import TransformerModel
from heedful.runs.audit_folders import DESCRIPTION, EXAMPLES, ROWS, VERDICT, audit_problem
from heedful.runs.checksums import write_checksums
from heedful.runs.folders import written_whole
from heedful.schema import Verdict
from heedful.settings import AuditSettings, key_of
from heedful.training.trained import Trained
from heedful.types import Dataset

log = logging.getLogger(__name__)


def request_of(
    model: Trained | TransformerModel,
    dataset: Dataset,
    settings: AuditSettings,
    companions: Companions[Trained | TransformerModel],
    scores: Path | None = None,
) -> AuditRequest:
    """The audit of a finished run, or of a Hugging Face classifier, beside others, as it is called on disk.

    Args:
        scores: a file of scores from outside.
    """
    return AuditRequest(
        run=_key(model),
        data=dataset.fingerprint,
        settings=settings,
        companions=companions.map(_key),
        scores="" if scores is None else scores_fingerprint(scores),
    )


def _key(model: Trained | TransformerModel) -> str:
    return key_of(model.run) if isinstance(model, Trained) else model.key


def ensure_audit(
    model: Trained | TransformerModel,
    dataset: Dataset,
    settings: AuditSettings,
    folder: str | Path,
    companions: Companions[Trained | TransformerModel] = Companions(),  # noqa: B008 (frozen)
    *,
    device: str = "cpu",
    report: Report | None = None,
    command: str = "",
    scores: Path | None = None,
) -> Path:
    """The folder of this audit: found, or made now.

    Args:
        scores: a file of scores from outside, to be tested beside attention.
    """
    place = Path(folder) / request_of(model, dataset, settings, companions, scores).key
    if (problem := audit_problem(place)) is not None:
        if place.exists():
            log.warning("%s is not a finished audit and is made again: %s.", place, problem)
        made = audit(model, dataset, settings, companions, scores=scores, device=device, report=report)
        save_audit(made, place, command)
    return place


def scores_fingerprint(scores: Path) -> str:
    """A fingerprint of the file, and of its name: that is what scores may be called."""
    try:
        content = scores.read_bytes()
    except OSError as error:
        raise DataError(f"--scores must name a file of scores; {scores} cannot be read: {error.strerror}.") from error
    return sha256(scores.name.encode() + b"/" + content).hexdigest()


def save_audit(finished: Audit, folder: str | Path, command: str = "") -> None:
    """Write the audit's folder, whole or not at all; what is there already stays, unless it is no finished audit."""
    folder = Path(folder)
    verdict = Verdict.model_validate({**dict(finished.verdict), "command": command})
    description = verdict.model_dump(mode="json", exclude={"headline", "lines", "advice", "command"})
    is_in_the_way = folder.is_dir() and audit_problem(folder) is not None
    with written_whole(folder, replace=is_in_the_way) as part:
        pl.concat([finished.rows, finished.dev]).write_parquet(part / ROWS)
        finished.examples.write_parquet(part / EXAMPLES)
        for name, content in {DESCRIPTION: description, VERDICT: verdict.model_dump(mode="json")}.items():
            (part / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        write_checksums(part)
