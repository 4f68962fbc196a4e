"""Finished runs on disk: a folder exists if and only if it is complete, and nothing in it is ever executed.

runs/<key>/  run.json            settings, labels, scores, versions
             model.safetensors   weights
             tokenizer.json      words and their ids
             history.parquet     epoch, split, measure, value
             tokens.parquet      epoch, token, measure, value; where token scores were recorded
             SHA256SUMS          checksums of the others

Of a fine-tuned Hugging Face model the weights and the tokenizer are in its own format, with config.json and
tokenizer_config.json next to them: the folder is one that transformers loads (see `finetuned`).

A folder in which something was deleted, damaged or edited is not a finished run: it is named, and trained again.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from pydantic import ValidationError

from heedful.errors import SettingError, StoreError
from heedful.schema import Verdict
from heedful.settings import Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.folders import CHECKSUMS, atomic_folder, find_damage, reason, write_checksums
from heedful.store.run_file import (
    RunFile,
    names_of_files,
    read_run_file,
    read_table,
    train_command,
)

if TYPE_CHECKING:
    from heedful.training.trained import Finetuned, Trained

log = logging.getLogger(__name__)

KEY = re.compile("[0-9a-f]{16}")


def run_defect(folder: Path) -> str | None:
    """Why the folder is not a finished run, as part of a sentence; None if it is one."""
    if not folder.is_dir():
        return "there is no such folder"
    try:
        names = names_of_files(read_run_file(folder).run)
    except StoreError as error:
        return str(error)
    return find_damage(folder, names) if (folder / CHECKSUMS).is_file() else f"{CHECKSUMS} is missing"


class Store:
    """Finished runs and audits. Wherever a method takes a key, a beginning of it will do that no other key has.

    Args:
        folder: folder of runs, created when the first one is saved.
        audits: folder of audits.
    """

    def __init__(self, folder: str | Path = "runs", audits: str | Path = "audits"):
        self.folder, self.audits = Path(folder), Path(audits)

    def __contains__(self, run: Run) -> bool:
        return self.has(key_of(run))

    def has(self, key: str) -> bool:
        """Whether the run of that (whole) key is finished."""
        return run_defect(self.folder / key) is None

    def save(self, trained: "Trained | Finetuned") -> str:
        """Store a finished run, or a fine-tuned model; the key it is found by.

        Saving what is there already changes nothing; an unusable run there is replaced.
        """
        from heedful.training.trained import Finetuned, write_finetuned, write_trained

        place = self.folder / key_of(trained.run)
        with atomic_folder(place, replace=place.is_dir() and run_defect(place) is not None) as part:
            _ = write_finetuned(trained, part) if isinstance(trained, Finetuned) else write_trained(trained, part)
            write_checksums(part)
        return place.name

    def get(self, run: Run) -> "Trained | None":
        """The finished run; None if it is missing or incomplete. An incomplete run logs a warning."""
        key = key_of(run)
        if not (self.folder / key).exists():
            return None
        try:
            return self.load(key)
        except StoreError as error:
            log.warning("%s/%s is not a finished run and is made again: %s.", self.folder, key, error.__cause__)
            return None

    def find(self, prefix: str) -> str:
        """The key of the only run whose key begins so."""
        if KEY.fullmatch(prefix) and (self.folder / prefix).is_dir():
            return prefix
        keys = [folder.name for folder in self.folders()]
        matches = [prefix] if prefix in keys else [key for key in keys if prefix and key.startswith(prefix)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise StoreError(
                f"no run '{prefix}' in {self.folder}/. Known: {first_of(keys)}. `heedful list runs` describes them, "
                "`heedful train` makes one; --runs names another folder."
            )
        raise StoreError(
            f"{len(matches)} runs in {self.folder}/ begin with '{prefix}': {first_of(matches)}. Give more of the key."
        )

    def with_full_reference(self, run: Run) -> Run:
        """The run with the whole key of the run that it refers to, if any: a beginning of it would be another run."""
        return run if run.reference is None else update_settings(run, {"reference": self.find(run.reference)})

    def read(self, key: str) -> RunFile:
        """What run.json of that run says, checked; all files of the run are there."""
        folder, described = self.folder / self.find(key), None
        try:
            described = read_run_file(folder)
            for name in (CHECKSUMS, *names_of_files(described.run)):
                if not (folder / name).is_file():
                    raise StoreError(f"{name} is missing")
        except StoreError as error:
            raise self._refusal(folder, error, described) from error
        return described

    def check(self, key: str) -> None:
        """Raise if a file of a run is damaged. A run that was named explicitly is never retrained instead."""
        described = self.read(key)
        folder = self.folder / self.find(key)
        if problem := find_damage(folder, names_of_files(described.run)):
            raise self._refusal(folder, StoreError(problem), described)

    def load(self, key: str) -> "Trained":
        """A finished run, ready to be used."""
        from heedful.models.hugging_face.model_files import is_pretrained, verify_fingerprint
        from heedful.training.trained import read_trained

        described = self.read(key)
        folder, network = self.folder / key_of(described.run), described.run.network
        if described.run.finetune is not None:
            raise SettingError(
                f"{folder} is a fine-tuned Hugging Face model, which this does not read. Audit it (`heedful audit "
                f"--model {folder.name}`); in Python, `heedful.models.hugging_face.load_classifier('{folder}')` or "
                "transformers' own `from_pretrained` loads it."
            )
        if is_pretrained(network.encoder):
            verify_fingerprint(network.encoder, network.encoder_fingerprint)
        try:
            return read_trained(described, folder)
        except StoreError as error:
            raise self._refusal(folder, error, described) from error

    def table(self, key: str, name: str) -> pl.DataFrame:
        """A table of that run's training: its history, or what was recorded of tokens."""
        described = self.read(key)
        folder = self.folder / key_of(described.run)
        try:
            return read_table(folder, name)
        except StoreError as error:
            raise self._refusal(folder, error, described) from error

    def folders(self) -> Iterator[Path]:
        """Every folder that claims to be a run."""
        try:
            places = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        except OSError as error:
            raise StoreError(
                f"{self.folder} cannot be read: {reason(error)}. Make it readable, or name another folder by --runs."
            ) from error
        yield from (place for place in places if place.is_dir() and not place.name.startswith("."))

    def listing(self) -> tuple[dict[str, RunFile], list[str]]:
        """All runs by key; and, of the folders that are not one, why not."""
        runs: dict[str, RunFile] = {}
        problems: list[str] = []
        for folder in self.folders():
            try:
                runs[folder.name] = self.read(folder.name)
            except StoreError as error:
                problems.append(str(error))
        return runs, problems

    def _refusal(self, folder: Path, why: StoreError, described: RunFile | None) -> StoreError:
        """What is wrong with a folder, and what to do about it."""
        if described is not None:
            cure = f"Delete that folder, then make it again: {train_command(described.run, self.folder)}"
        elif KEY.fullmatch(folder.name):
            cure = "Delete that folder, then repeat the command that made it: `heedful train`, `audit` or `sweep`."
        else:
            cure = f"Heedful did not name it: move it out of {self.folder}/."
        return StoreError(f"{folder} is not a finished run: {why}. {cure}")


def first_of(keys: list[str]) -> str:
    """Some keys for a message, the first five."""
    return ", ".join(keys[:5]) + (" ..." if len(keys) > 5 else "") or "none"


# Audits on disk, named and checked without opening their tables. Needs no torch.
#
# audits/<key>/  audit.json         what was audited, with which settings
#                rows.parquet       run, split, example, item, test, measure, value, solver, site, scope
#                examples.parquet   the texts that are shown word by word
#                outcomes.parquet   the outcome of each text, ranking and way of removing words; also of the dev texts
#                                   on which the ranking to show is chosen
#                verdict.json       the answer, the lines of the verdict, and what to show
#                SHA256SUMS         checksums of the others
#
# A folder in which something was deleted, damaged or edited is not a finished audit: it is named, and made again.

DESCRIPTION, ROWS, EXAMPLES, VERDICT = "audit.json", "rows.parquet", "examples.parquet", "verdict.json"
OUTCOMES = "outcomes.parquet"
AUDIT_FILES = (VERDICT, ROWS, EXAMPLES, OUTCOMES, DESCRIPTION)

REST = "rest"
"""The part of an audit that is of no shard; the others are called by the number of their shard."""
FACTS, REST_FILE = "facts.json", "rest.json"

ROW_GROUP = 2**17
"""Rows of a row group: as many, in whatever parts they come, so that the same rows are the same bytes."""


def audit_defect(folder: Path) -> str | None:
    """Why the folder is not a finished audit, as part of a sentence; None if it is one."""
    if not folder.is_dir():
        return "there is no such folder"
    if damage := find_damage(folder, [VERDICT]):
        return damage
    try:
        read_verdict_file(folder)
    except StoreError as error:
        return str(error)
    return find_damage(folder, AUDIT_FILES)


def parts_folder(place: Path) -> Path:
    """Where the parts of an audit are while it is made: a folder next to its final place."""
    return place.parent / f".{place.name}.parts"


def part_problem(folder: Path) -> str | None:
    """Why the folder is not a finished part of an audit; None if it is one."""
    if not folder.is_dir():
        return "there is no such folder"
    return find_damage(folder, (OUTCOMES, REST_FILE) if folder.name == REST else (ROWS, EXAMPLES, OUTCOMES, FACTS))


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

    A unique prefix of a key is enough. An audit of several seeds comes before those of one of them.
    Other audits that cannot be read are ignored.
    """
    for place in (Path(name), folder / name):
        if name and _claims_to_be_audit(place):
            return place
    all_runs = _audits_by_run(folder)
    by_run = {run: places for run, places in all_runs.items() if name and run.startswith(name)}
    if name in by_run:
        return _newest_finished(by_run[name])
    by_key = [place for place in _audit_folders(folder) if name and place.name.startswith(name)]
    if len(by_run) + len(by_key) > 1:
        keys = first_of([*by_run, *(place.name for place in by_key)])
        raise StoreError(f"several runs or audits in {folder}/ begin with '{name}': {keys}. Give more of the key.")
    if by_run or by_key:
        return by_key[0] if by_key else _newest_finished(*by_run.values())
    raise StoreError(
        f"no audit of '{name}' in {folder}/: run `heedful audit --model {name}` first, or name another folder by "
        f"--audits. Audited runs: {first_of(list(all_runs))}."
    )


def audits_of_run(folder: Path, run: str) -> Iterator[tuple[Path, Verdict]]:
    """The finished audits of a run: those of several seeds first, then the newest; each with its verdict."""
    for place in _audits_by_run(folder).get(run, []):
        if audit_defect(place) is None:
            yield place, read_verdict_file(place)


def answers_by_run(folder: Path) -> dict[str, str]:
    """Headline of the newest audit with an answer of each run; an audit of several seeds comes first."""
    answers: dict[str, str] = {}
    for run, places in _audits_by_run(folder).items():
        for place in places:
            with suppress(StoreError):
                answer = read_verdict_file(place).answer
                if answer is not None and run not in answers:
                    answers[run] = answer.headline
    return answers


def pooled_key(audits: Sequence[str]) -> str:
    """The key of the audit of several seeds, from the keys of the audits of each."""
    return hashlib.sha256(f"pooled {' '.join(sorted(audits))}".encode()).hexdigest()[:16]


def _claims_to_be_audit(place: Path) -> bool:
    try:
        return any((place / name).is_file() for name in AUDIT_FILES)
    except OSError:  # a name that is too long for a file
        return False


def _newest_finished(places: list[Path]) -> Path:
    problems = {place: audit_defect(place) for place in places}
    finished = next((place for place, problem in problems.items() if problem is None), None)
    if finished is None:
        raise audit_refusal(places[0], problems[places[0]] or "")
    return finished


def _audit_folders(folder: Path) -> list[Path]:
    return [place for place in folder.glob("*") if place.is_dir() and not place.name.startswith(".")]


def _audits_by_run(folder: Path) -> dict[str, list[Path]]:
    """The folders of the audits of each run, those of several seeds first, then the newest."""
    by_run: dict[str, list[Path]] = {}
    known = [(place, audited_runs(place)) for place in _audit_folders(folder)]
    known.sort(key=lambda pair: (len(pair[1]) > 1, pair[0].stat().st_mtime, pair[0]), reverse=True)
    for place, runs in known:
        for run in runs:
            by_run.setdefault(run, []).append(place)
    return by_run


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


def write_verdict(verdict: Verdict, folder: Path) -> None:
    """Write the last files of an audit's folder: the verdict, what was audited, and the checksums of all."""
    description = verdict.model_dump(mode="json", exclude={"answer", "lines", "command"})
    for name, content in {DESCRIPTION: description, VERDICT: verdict.model_dump(mode="json")}.items():
        (folder / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    write_checksums(folder)
