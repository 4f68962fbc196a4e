"""An unfinished audit on disk: its finished parts, in a folder next to its final place.

audits/.KEY.parts/  00000/ ...  a shard of the texts each: rows.parquet, examples.parquet, outcomes.parquet, facts.json,
                                and if there are adversaries their rows and predictions
                    rest/       what is measured in addition to the shards: outcomes.parquet of dev texts, rest.json

Each part is written under a temporary name and renamed: a killed process loses only its unfinished part, and the
next call makes the missing parts. Once the audit is whole the folder is gone.
"""

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from pydantic import TypeAdapter

from heedful.auditing.audit import AuditExtras, PreparedAudit, Report, audit_extras, audit_shard, verdict_of
from heedful.auditing.comparison_rows import constant_distances, with_constants
from heedful.auditing.shards import Shard, ShardInfo, join_facts, sorted_examples, sorted_outcomes
from heedful.errors import DataError, HeedfulError
from heedful.jobs.request import AuditRequest
from heedful.schema import Heads, Words
from heedful.settings import AuditSettings, ComparisonModels
from heedful.store.folders import atomic_folder, write_checksums
from heedful.store.store import (
    EXAMPLES,
    FACTS,
    OUTCOMES,
    REST,
    REST_FILE,
    ROW_GROUP,
    ROWS,
    audit_defect,
    part_problem,
    parts_folder,
    write_verdict,
)
from heedful.subjects.custom_model import fingerprint_of
from heedful.subjects.subject import Subject
from heedful.types import Batch, Dataset

ADVERSARIES, PREDICTIONS = "adversaries.parquet", "predictions.parquet"

ATTEMPTS = 5
"""How often parts are made again that another process deleted."""

_FACTS = TypeAdapter(ShardInfo)


@dataclass(frozen=True)
class AuditParts:
    """The parts of an audit.

    Args:
        place: where the audit will be.
        shards: how many shards its texts have.
    """

    place: Path
    shards: int

    @property
    def folder(self) -> Path:
        """Where parts are stored."""
        return parts_folder(self.place)

    @property
    def names(self) -> tuple[str, ...]:
        """What the parts are called, the longest first: several are done at a time, and the last should be short."""
        return (REST, *map(shard_name, reversed(range(self.shards))))

    def missing(self) -> list[str]:
        """Those that are not there, or damaged."""
        return [name for name in self.names if part_problem(self.folder / name) is not None]

    def shards_in(self) -> list[Path]:
        """The folders of all shards."""
        return [self.folder / shard_name(number) for number in range(self.shards)]

    def write_rows(self, path: Path) -> None:
        """Write the rows of all shards into one file, without having them all in memory."""
        with TemporaryDirectory(dir=self.folder) as scratch:
            files = list(self._files_of_rows(Path(scratch)))
            rows = pl.scan_parquet(files, hive_partitioning=False, glob=False)
            rows.sink_parquet(path, row_group_size=ROW_GROUP)

    def _files_of_rows(self, scratch: Path) -> Iterator[Path]:
        """Files of rows, shard after shard; those of adversaries are made now, for they depend on all shards.

        Args:
            scratch: for these.
        """
        folders = self.shards_in()
        if not (folders[0] / PREDICTIONS).is_file():
            yield from (folder / ROWS for folder in folders)
            return
        distances = constant_distances([pl.read_parquet(folder / PREDICTIONS) for folder in folders])
        for folder, own in zip(folders, distances, strict=True):
            yield folder / ROWS
            made = scratch / f"{folder.name}.parquet"
            with_constants(pl.read_parquet(folder / ADVERSARIES), own).write_parquet(made)
            yield made


def shard_name(number: int) -> str:
    """What the part of a shard is called.

    >>> shard_name(7)
    '00007'
    """
    return f"{number:05d}"


def write_part(part: Shard | AuditExtras, folder: Path) -> None:
    """Store a part, whole or not at all; an existing part is overwritten."""
    with atomic_folder(folder, replace=folder.is_dir()) as new:
        part.outcomes.write_parquet(new / OUTCOMES)
        if isinstance(part, AuditExtras):
            written = {
                "words": part.words and part.words.model_dump(mode="json"),
                "heads": part.heads and part.heads.model_dump(mode="json"),
                "indicative_words": part.indicative_words,
                "seconds": part.seconds,
            }
            (new / REST_FILE).write_text(json.dumps(written), encoding="utf-8")
        else:
            part.rows.write_parquet(new / ROWS)
            part.examples.write_parquet(new / EXAMPLES)
            (new / FACTS).write_bytes(_FACTS.dump_json(part.facts))
            if not part.predictions.is_empty():
                part.adversaries.write_parquet(new / ADVERSARIES)
                part.predictions.write_parquet(new / PREDICTIONS)
        write_checksums(new)


log = logging.getLogger(__name__)


def request_of(
    subject: Subject,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    comparison_models: ComparisonModels[Subject] = ComparisonModels(),  # noqa: B008 (frozen)
    scores: Path | None = None,
) -> AuditRequest:
    """The audit of a subject, with its comparison models, under its name on disk.

    Args:
        scores: a file of external scores.
    """
    return AuditRequest(
        run=subject.key,
        data=data.fingerprint if isinstance(data, Dataset) else fingerprint_of(data),
        settings=settings,
        comparison_models=comparison_models.map(lambda other: other.key),
        scores="" if scores is None else scores_fingerprint(scores),
    )


def ensure_prepared(
    request: AuditRequest,
    prepare: Callable[[], PreparedAudit],
    folder: str | Path,
    *,
    report: Report | None = None,
) -> Path:
    """The folder of the audit that is requested: found, or made now from what `prepare` makes ready.

    Other processes may make the same audit at the same time. Who finishes first deletes the parts that the others
    use: these then find the audit, or else make the parts again.
    """
    place = Path(folder) / request.key
    if (problem := audit_defect(place)) is None:
        return place
    if place.exists():
        log.warning("%s is not a finished audit and is made again: %s.", place, problem)
    prepared = prepare()
    parts = AuditParts(place, len(prepared.shards))
    for attempt in range(ATTEMPTS):
        try:
            _make_audit(prepared, parts, report)
        except (HeedfulError, OSError) as error:
            is_lost = isinstance(error, FileNotFoundError) or isinstance(error.__cause__, FileNotFoundError)
            if audit_defect(place) is not None and (attempt == ATTEMPTS - 1 or not is_lost):
                raise
        if audit_defect(place) is None:
            break
    shutil.rmtree(parts.folder, ignore_errors=True)
    return place


def _make_audit(prepared: PreparedAudit, parts: AuditParts, report: Report | None) -> None:
    """Do what is missing of an audit, in this process, and write its folder."""
    total, missing = len(prepared.texts.numbers), parts.missing()
    done = sum(_facts_of(parts.folder / name).texts for name in parts.names if name not in (REST, *missing))
    for name in missing:
        if audit_defect(parts.place) is None:  # another process was quicker
            return
        before = done
        make_part(
            prepared, name, parts.folder / name, report and (lambda more, before=before: report(before + more, total))
        )
        done += 0 if name == REST else prepared.texts_of(int(name))
    if audit_defect(parts.place) is not None:
        _write_audit(prepared, parts)


def make_part(prepared: PreparedAudit, name: str, place: Path, report: Callable[[int], None] | None = None) -> None:
    """Measure a part of an audit, and store it."""
    write_part(audit_extras(prepared) if name == REST else audit_shard(prepared, int(name), report), place)


def _write_audit(prepared: PreparedAudit, parts: AuditParts) -> None:
    """Write the folder of an audit from its parts; the outcomes of dev texts come last."""
    rest = _read_rest(parts.folder / REST)
    with atomic_folder(parts.place, replace=parts.place.is_dir()) as folder:
        parts.write_rows(folder / ROWS)
        rows = pl.scan_parquet(folder / ROWS, hive_partitioning=False, glob=False)
        sorted_examples(pl.read_parquet(shard / EXAMPLES) for shard in parts.shards_in()).write_parquet(
            folder / EXAMPLES
        )
        audited = sorted_outcomes(pl.read_parquet(shard / OUTCOMES) for shard in parts.shards_in())
        outcomes = pl.concat([audited, rest.outcomes])
        outcomes.write_parquet(folder / OUTCOMES)
        facts = join_facts(map(_facts_of, parts.shards_in()))
        write_verdict(verdict_of(prepared, rows, outcomes, facts, rest), folder)


def _facts_of(shard: Path) -> ShardInfo:
    return _FACTS.validate_json((shard / FACTS).read_bytes())


def _read_rest(folder: Path) -> AuditExtras:
    """What was measured outside the shards."""
    written = json.loads((folder / REST_FILE).read_text(encoding="utf-8"))
    words, heads = written.pop("words"), written.pop("heads")
    return AuditExtras(
        outcomes=pl.read_parquet(folder / OUTCOMES),
        words=None if words is None else Words.model_validate(words),
        heads=None if heads is None else Heads.model_validate(heads),
        **written,
    )


def scores_fingerprint(scores: Path) -> str:
    """A fingerprint of the file, and of its name: that is what scores may be called."""
    try:
        content = scores.read_bytes()
    except OSError as error:
        raise DataError(f"--scores must name a file of scores; {scores} cannot be read: {error.strerror}.") from error
    return sha256(scores.name.encode() + b"/" + content).hexdigest()
