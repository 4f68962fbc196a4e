"""Audits on disk, named and checked without opening their tables. Needs no torch.

audits/<key>/  audit.json         what was audited, with which settings
               rows.parquet       run, split, example, item, test, measure, value, solver, site, scope
               examples.parquet   the texts that are shown word by word
               outcomes.parquet   the outcome of each text, ranking and way of removing words; also of the dev texts
                                  on which the ranking to show is chosen
               verdict.json       the answer, the lines of the verdict, and what to show
               SHA256SUMS         checksums of the others

A folder in which something was deleted, damaged or edited is not a finished audit: it is named, and made anew.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl
from pydantic import ValidationError

from heedful.errors import StoreError
from heedful.schema import Verdict
from heedful.store.folders import damage_of, reason, write_checksums, written_whole

DESCRIPTION, ROWS, EXAMPLES, VERDICT = "audit.json", "rows.parquet", "examples.parquet", "verdict.json"
OUTCOMES = "outcomes.parquet"
AUDIT_FILES = (VERDICT, ROWS, EXAMPLES, OUTCOMES, DESCRIPTION)

ROW_GROUP = 2**17
"""Rows of a row group: as many, in whatever parts they come, so that the same rows are the same bytes."""

KEY = re.compile("[0-9a-f]{16}")


def audit_problem(folder: Path) -> str | None:
    """Why the folder is not a finished audit, as part of a sentence; None where it is."""
    if not folder.is_dir():
        return "there is no such folder"
    if damage := damage_of(folder, [VERDICT]):
        return damage
    try:
        read_verdict_file(folder)
    except StoreError as error:
        return str(error)
    return damage_of(folder, AUDIT_FILES)


def read_verdict_file(folder: Path) -> Verdict:
    """What verdict.json in the folder of an audit says; a StoreError that says what is wrong with it, and only that."""
    try:
        content = json.loads((folder / VERDICT).read_text(encoding="utf-8"))
        # What cannot be written again (half a surrogate pair, endless nesting) must not come as far as the page.
        json.dumps(content, ensure_ascii=False).encode()
        if isinstance(content, dict) and "lines" in content and "answer" not in content:
            raise StoreError("an older version of Heedful made it, which judged no single texts")
        return Verdict.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise StoreError(f"{VERDICT} is not a verdict: {where}: {first['msg']}") from error
    except FileNotFoundError:
        raise StoreError(f"{VERDICT} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{VERDICT} cannot be read as JSON: {reason(error)}") from error


def audit_refusal(folder: Path, why: str) -> StoreError:
    """The error of a folder that is not a finished audit: what is wrong, which folder to delete, and what to call."""
    run = next(iter(audited_runs(folder)), "")
    command = f"heedful audit --model {run}" if KEY.fullmatch(run) else "heedful audit"
    return StoreError(f"{folder} is not a finished audit: {why}. Delete that folder, then `{command}` again.")


def find_audit(name: str, folder: Path) -> Path:
    """The folder of an audit: by its path, by its key, or as the newest finished one of the run with that key.

    A beginning of a key will do that no other key has. An audit of several seeds comes before those of one of them.
    Other audits that cannot be read are no obstacle.
    """
    for place in (Path(name), folder / name):
        if name and _claims_to_be_audit(place):
            return place
    by_run = {run: places for run, places in _audits_by_run(folder).items() if name and run.startswith(name)}
    if name in by_run:
        return _newest_finished(by_run[name])
    by_key = [place for place in _folders(folder) if name and place.name.startswith(name)]
    if len(by_run) + len(by_key) > 1:
        keys = _first_of([*by_run, *(place.name for place in by_key)])
        raise StoreError(f"several runs or audits in {folder}/ begin with '{name}': {keys}. Give more of the key.")
    if by_run or by_key:
        return by_key[0] if by_key else _newest_finished(*by_run.values())
    raise StoreError(
        f"no audit of '{name}' in {folder}/: run `heedful audit --model {name}` first, or name another folder by "
        f"--audits. Audited runs: {_first_of(list(_audits_by_run(folder)))}."
    )


def audits_of_run(folder: Path, run: str) -> Iterator[tuple[Path, Verdict]]:
    """The finished audits of a run: those of several seeds first, then the newest; each with its verdict."""
    for place in _audits_by_run(folder).get(run, []):
        if audit_problem(place) is None:
            yield place, read_verdict_file(place)


def pooled_key(audits: Sequence[str]) -> str:
    """The key of the audit of several seeds, from the keys of the audits of each."""
    return hashlib.sha256(f"pooled {' '.join(sorted(audits))}".encode()).hexdigest()[:16]


def _claims_to_be_audit(place: Path) -> bool:
    try:
        return any((place / name).is_file() for name in AUDIT_FILES)
    except OSError:  # a name that is too long for a file
        return False


def _newest_finished(places: list[Path]) -> Path:
    problems = {place: audit_problem(place) for place in places}
    finished = next((place for place, problem in problems.items() if problem is None), None)
    if finished is None:
        raise audit_refusal(places[0], problems[places[0]] or "")
    return finished


def _audits_by_run(folder: Path) -> dict[str, list[Path]]:
    """The folders of the audits of each run, those of several seeds first, then the newest."""
    by_run: dict[str, list[Path]] = {}
    known = [(place, audited_runs(place)) for place in _folders(folder)]
    known.sort(key=lambda pair: (len(pair[1]) > 1, pair[0].stat().st_mtime, pair[0]), reverse=True)
    for place, runs in known:
        for run in runs:
            by_run.setdefault(run, []).append(place)
    return by_run


def _folders(folder: Path) -> list[Path]:
    return [place for place in folder.glob("*") if place.is_dir() and not place.name.startswith(".")]


def audited_runs(folder: Path) -> tuple[str, ...]:
    """The runs that the audit in a folder is of, as far as that can be read: several if they are seeds of one model."""
    for name in (VERDICT, DESCRIPTION):
        try:
            content = json.loads((folder / name).read_text(encoding="utf-8"))
            runs = [content.get("run"), *(each.get("run") for each in content.get("trainings") or ())]
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            continue
        if known := tuple(dict.fromkeys(run for run in runs if isinstance(run, str) and run)):
            return known
    return ()


def _first_of(keys: list[str]) -> str:
    return ", ".join(keys[:5]) + (" ..." if len(keys) > 5 else "") or "none"


class Tables(Protocol):
    """What the folder of an audit holds."""

    @property
    def rows(self) -> pl.DataFrame:
        """run, split, example, item, test, measure, value, solver, site, scope."""
        ...

    @property
    def examples(self) -> pl.DataFrame:
        """The texts that are shown word by word."""
        ...

    @property
    def outcomes(self) -> pl.DataFrame:
        """One row per run, text, ranking and way of removing words."""
        ...

    @property
    def verdict(self) -> Verdict:
        """What was audited and what it came to."""
        ...


def save_audit(audit: Tables, folder: str | Path, *, rows: pl.LazyFrame | None = None) -> None:
    """Write the audit's folder, whole or not at all; what is there already stays, unless it is no finished audit.

    Args:
        rows: all rows, if the audit has only some of them in memory.
    """
    folder = Path(folder)
    is_in_the_way = folder.is_dir() and audit_problem(folder) is not None
    with written_whole(folder, replace=is_in_the_way) as part:
        if rows is None:
            audit.rows.write_parquet(part / ROWS, row_group_size=ROW_GROUP)
        else:
            rows.sink_parquet(part / ROWS, row_group_size=ROW_GROUP)
        audit.outcomes.write_parquet(part / OUTCOMES)
        audit.examples.write_parquet(part / EXAMPLES)
        write_verdict(audit.verdict, part)


def write_verdict(verdict: Verdict, folder: Path) -> None:
    """Write the last files of an audit's folder: the verdict, what was audited, and the checksums of all."""
    description = verdict.model_dump(mode="json", exclude={"answer", "lines", "command"})
    for name, content in {DESCRIPTION: description, VERDICT: verdict.model_dump(mode="json")}.items():
        (folder / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    write_checksums(folder)
