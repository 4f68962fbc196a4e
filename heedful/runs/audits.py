"""The audit of a finished run: found on disk, or made now; its folder is described in `audit_folders`."""

import json
import logging
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import polars as pl

from heedful.auditing.audit import Audit, Report, audit_rest, audit_shard, verdict_of
from heedful.auditing.companions import Companions
from heedful.auditing.prepared import PreparedAudit, prepare_audit
from heedful.auditing.request import AuditRequest
from heedful.errors import DataError
from heedful.models.transformers.model import TransformerModel
from heedful.runs.audit_folders import DESCRIPTION, EXAMPLES, OUTCOMES, ROWS, VERDICT, audit_problem
from heedful.runs.audit_parts import REST, ROW_GROUP, AuditParts
from heedful.runs.checksums import write_checksums
from heedful.runs.folders import written_whole
from heedful.schema import Verdict
from heedful.settings import AuditSettings, key_of
from heedful.training.trained import Trained
from heedful.types import Dataset

log = logging.getLogger(__name__)

Share = Callable[[AuditRequest, PreparedAudit, AuditParts], None]
"""Called before parts of an audit are made in this process: others may make them (`split_audits.sharing`)."""


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
    share: Share | None = None,
) -> Path:
    """The folder of this audit: found, or made now, as far as its parts are not there.

    Args:
        scores: a file of scores from outside, to be tested beside attention.
    """
    request = request_of(model, dataset, settings, companions, scores)
    prepare = partial(prepare_audit, model, dataset, settings, companions, scores=scores, device=device)
    return ensure_prepared(request, prepare, folder, report=report, command=command, share=share)


def ensure_prepared(
    request: AuditRequest,
    prepare: Callable[[], PreparedAudit],
    folder: str | Path,
    *,
    report: Report | None = None,
    command: str = "",
    share: Share | None = None,
) -> Path:
    """The folder of the audit that is requested: found, or made now from what `prepare` makes ready."""
    place = Path(folder) / request.key
    if (problem := audit_problem(place)) is None:
        return place
    if place.exists():
        log.warning("%s is not a finished audit and is made again: %s.", place, problem)
    prepared = prepare()
    parts = AuditParts(place, len(prepared.shards))
    if share is not None:
        share(request, prepared, parts)
    make_audit(prepared, parts, report, command)
    return place


def make_audit(prepared: PreparedAudit, parts: AuditParts, report: Report | None = None, command: str = "") -> None:
    """Do what is missing of an audit, in this process, and write its folder."""
    total, missing = len(prepared.subject.texts), parts.missing()
    done = sum(parts.texts(name) for name in parts.names if name not in missing)
    for name in missing:
        if name == REST:
            parts.save(name, audit_rest(prepared))
            continue
        before = done
        shard = audit_shard(prepared, int(name), report and (lambda more, before=before: report(before + more, total)))
        parts.save(name, shard)
        done += shard.facts.texts
    if audit_problem(parts.place) is not None:  # another process may have been quicker
        _write_audit(prepared, parts, command)
    parts.discard()


def _write_audit(prepared: PreparedAudit, parts: AuditParts, command: str) -> None:
    rest = parts.rest()
    with written_whole(parts.place, replace=parts.place.is_dir()) as folder:
        parts.write_rows(folder / ROWS)
        rows = pl.scan_parquet(folder / ROWS, hive_partitioning=False, glob=False)
        parts.examples().write_parquet(folder / EXAMPLES)
        outcomes = parts.outcomes()
        outcomes.write_parquet(folder / OUTCOMES)
        _write_verdict(verdict_of(prepared, rows, outcomes, parts.facts(), rest), folder, command)


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
    is_in_the_way = folder.is_dir() and audit_problem(folder) is not None
    with written_whole(folder, replace=is_in_the_way) as part:
        finished.rows.write_parquet(part / ROWS, row_group_size=ROW_GROUP)
        finished.outcomes.write_parquet(part / OUTCOMES)
        finished.examples.write_parquet(part / EXAMPLES)
        _write_verdict(finished.verdict, part, command)


def _write_verdict(verdict: Verdict, folder: Path, command: str) -> None:
    """Write the last files of an audit's folder: the verdict, what was audited, and the checksums of all."""
    verdict = Verdict.model_validate({**dict(verdict), "command": command})
    description = verdict.model_dump(mode="json", exclude={"answer", "lines", "command"})
    for name, content in {DESCRIPTION: description, VERDICT: verdict.model_dump(mode="json")}.items():
        (folder / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    write_checksums(folder)
