"""What `heedful audit` answered last time, kept beside its report: asked the same again, it is read. Needs no torch.

The record is OUT/.answer.json. It counts only as long as nothing that decides the answer has changed: the command and
where it was called, the files that it reads, the audits, the report itself, and Heedful with what is installed beside
it. Content is hashed, byte by byte; only of installed programs it is taken as the same while size and time of change
are: nobody edits those within a tick of the clock.
"""

import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from heedful.cli import options
from heedful.cli.tables import ModelTable
from heedful.errors import HeedfulError
from heedful.runs.audit_folders import audit_problem
from heedful.runs.checksums import CHECKSUMS
from heedful.settings import Run
from heedful.settings.folder import data_path, user_path

PACKAGE = Path(__file__).parent.parent
SOURCES = (".py", ".html", ".css", ".js", ".csv", ".md", ".txt", ".json")
RECORD, WRITTEN = ".answer.json", ("report.html", "rows.parquet", "outcomes.parquet", "verdict.json")
MOST_FILES = 20_000
MOST_BYTES = 2_000_000_000
"""Where a command reads more than this, nothing is kept: hashing would take longer than the work that it saves."""


class KeptAnswer(BaseModel):
    """An answer as it is kept; its verdicts are in verdict.json.

    Args:
        inputs: what `inputs_of` gave before anything was read.
        audits: the folders of the audits, each with the hash of its files.
        files: the files beside the record, each with its hash.
        names: what the reader calls the models.
        compared: the models side by side, where there are several.
        notes: what was to be known before anything was read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: str
    audits: dict[str, str]
    files: dict[str, str]
    names: tuple[str, ...]
    compared: ModelTable | None
    notes: tuple[str, ...]


def inputs_of(arguments: Mapping[str, Any], of_run: list[str]) -> str | None:
    """A hash of all that decides which audits `heedful audit` shows, and how; None where that cannot be known here.

    Args:
        of_run: the settings (`--set`) of the run.
    """
    try:
        read = _files_read(arguments, of_run)
        content = None if read is None else [(str(path), _digest(path)) for path in read]
        called = [options.command_line(), os.getcwd(), dict(arguments), of_run, str(data_path())]
    except (HeedfulError, OSError):  # what is wrong is reported where it is read
        return None
    if content is None:
        return None
    return hashlib.sha256(json.dumps([_installed(), called, content]).encode()).hexdigest()


def kept_answer(out: Path, inputs: str | None) -> KeptAnswer | None:
    """What was answered to these inputs, if the report and the audits are still as they were then."""
    if inputs is None or not (out / RECORD).is_file():
        return None
    try:
        kept = KeptAnswer.model_validate_json((out / RECORD).read_bytes())
        is_same = kept.inputs == inputs and all(_digest(out / name) == kept.files[name] for name in WRITTEN)
        is_same = is_same and all(_digest(Path(folder) / CHECKSUMS) == sums for folder, sums in kept.audits.items())
    except (OSError, KeyError, ValidationError):
        return None
    return kept if is_same and all(audit_problem(Path(folder)) is None for folder in kept.audits) else None


def keep_answer(out: Path, inputs: str | None, audits: Iterable[Path], answer: Mapping[str, Any]) -> None:
    """Write the record of what is now in the folder; none where the inputs are not known.

    Args:
        answer: names, compared and notes of the `KeptAnswer`.
    """
    (out / RECORD).unlink(missing_ok=True)
    audits = list(audits)
    if inputs is None or not audits or not all((folder / CHECKSUMS).is_file() for folder in audits):
        return
    sums = {str(folder): _digest(folder / CHECKSUMS) for folder in audits}
    kept = KeptAnswer(inputs=inputs, audits=sums, files={name: _digest(out / name) for name in WRITTEN}, **answer)
    part = out / f"{RECORD}.{os.getpid()}"
    try:
        part.write_text(kept.model_dump_json(indent=2) + "\n", encoding="utf-8")
        part.replace(out / RECORD)
    finally:
        part.unlink(missing_ok=True)


def _files_read(arguments: Mapping[str, Any], of_run: list[str]) -> list[Path] | None:
    """The files that the command reads, and perhaps others; None where it reads what is no file here, or very much."""
    run = options.make_run(arguments, of_run)
    if not _reads_files_alone(run):
        return None
    places = [user_path(run.data.source, "DATA"), data_path() / run.data.source]
    if arguments["scores"] is not None:
        places.append(user_path(arguments["scores"], "--scores"))
    if vectors := run.network.vectors:
        places += [user_path(vectors, "--vectors"), *sorted((data_path() / "embeddings").glob(f"{vectors}*"))]
    for name in filter(None, (*(arguments["model"] or ()), arguments["uniform"], run.reference)):
        runs = [place for place in Path(arguments["runs"]).glob("*") if place.name.startswith(name)]
        own = user_path(name, "--model")
        if not runs and not own.exists():
            return None
        places += [*sorted(runs), own]
    files = list(islice(chain.from_iterable(map(_files_at, places)), MOST_FILES + 1))
    is_much = len(files) > MOST_FILES or sum(path.stat().st_size for path in files) > MOST_BYTES
    return None if is_much else files


def _reads_files_alone(run: Run) -> bool:
    """Whether the run reads its data and vectors, if any, and nothing else."""
    source, network = run.data.source, run.network
    is_file = bool(source.strip()) and not source.startswith("hub:") and run.data.lexicon == "heedful"
    return is_file and not network.encoder.startswith("hf:") and run.finetune is None


def _files_at(place: Path) -> Iterator[Path]:
    """The file at that place, or all files of the folder there, in order."""
    if place.is_file():
        yield place
    elif place.is_dir():
        yield from (path for path in sorted(islice(place.rglob("*"), 2 * MOST_FILES)) if path.is_file())


def _installed() -> list[Any]:
    """Which Heedful this is, and what is installed beside it: an update of anything changes the folder of packages."""
    own = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in SOURCES]
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in own]
    return [sys.version, os.stat(sysconfig.get_paths()["purelib"]).st_mtime_ns, *files]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
