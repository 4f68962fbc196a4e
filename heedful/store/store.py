"""Finished runs on disk: a folder exists if and only if it is complete, and nothing in it is ever executed.

runs/<key>/  run.json            settings, labels, scores, versions
             model.safetensors   weights
             tokenizer.json      words and their ids
             history.parquet     epoch, split, measure, value
             tokens.parquet      epoch, token, measure, value; where token scores were recorded
             SHA256SUMS          checksums of the others

Of a fine-tuned Hugging Face model the weights and the tokenizer are in its own format, with config.json and
tokenizer_config.json beside them: the folder is one that transformers loads (see `finetuned`).

A folder in which something was deleted, damaged or edited is not a finished run: it is named, and trained anew.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from heedful.errors import SettingError, StoreError
from heedful.settings import Run, key_of
from heedful.settings.validation import update_settings
from heedful.store.folders import damage_of, reason, write_checksums, written_whole
from heedful.store.run_file import (
    HISTORY,
    TOKENS,
    RunFile,
    names_of_files,
    read_run_file,
    read_scores,
    read_table,
    train_command,
)

if TYPE_CHECKING:
    from heedful.training.finetuned import Finetuned
    from heedful.training.trained import Trained

log = logging.getLogger(__name__)

KEY = re.compile("[0-9a-f]{16}")


def run_problem(folder: Path) -> str | None:
    """Why the folder is not a finished run, as part of a sentence; None where it is."""
    if not folder.is_dir():
        return "there is no such folder"
    try:
        return damage_of(folder, names_of_files(read_run_file(folder).run))
    except StoreError as error:
        return str(error)


class Store:
    """A folder of finished runs. Wherever a method takes a key, a beginning of it will do that no other key has.

    Args:
        folder: made when the first run is saved.
    """

    def __init__(self, folder: str | Path = "runs"):
        self.folder = Path(folder)

    def __contains__(self, run: Run) -> bool:
        return self.has(key_of(run))

    def has(self, key: str) -> bool:
        """Whether the run of that (whole) key is finished."""
        return run_problem(self.folder / key) is None

    def save(self, trained: "Trained") -> str:
        """Store a finished run; the key it is found by.

        Saving what is there already changes nothing; what cannot be used in its place is replaced.
        """
        from heedful.store.trained_files import write_trained

        key = key_of(trained.run)
        with written_whole(self.folder / key, replace=self._is_in_the_way(key)) as part:
            write_trained(trained, part)
            write_checksums(part)
        return key

    def get(self, run: Run) -> "Trained | None":
        """The finished run; None where it is not there, or only in parts, of which a warning is logged."""
        key = key_of(run)
        if not (self.folder / key).exists():
            return None
        try:
            return self.load(key)
        except StoreError as error:
            log.warning("%s/%s is not a finished run and is made again: %s.", self.folder, key, error.__cause__)
            return None

    def has_prefix(self, prefix: str) -> bool:
        """Whether the key of some run, finished or not, begins so."""
        return any(folder.name.startswith(prefix) for folder in self.folders())

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
                f"no run '{prefix}' in {self.folder}/. Known: {_first_of(keys)}. `heedful list runs` describes them, "
                "`heedful train` makes one; --runs names another folder."
            )
        raise StoreError(
            f"{len(matches)} runs in {self.folder}/ begin with '{prefix}': {_first_of(matches)}. Give more of the key."
        )

    def with_full_reference(self, run: Run) -> Run:
        """The run with the whole key of the run that it refers to, if any: a beginning of it would be another run."""
        return run if run.reference is None else update_settings(run, {"reference": self.find(run.reference)})

    def read(self, key: str) -> RunFile:
        """What run.json of that run says, checked; all files of the run are there."""
        folder, described = self.folder / self.find(key), None
        try:
            described = read_run_file(folder)
            for name in names_of_files(described.run):
                if not (folder / name).is_file():
                    raise StoreError(f"{name} is missing")
        except StoreError as error:
            raise self._refusal(folder, error, described) from error
        return described

    def load(self, key: str) -> "Trained":
        """A finished run, ready to be used."""
        from heedful.models.pretrained.fingerprint import is_pretrained, verify_fingerprint
        from heedful.store.trained_files import read_trained

        described = self.read(key)
        folder, network = self.folder / key_of(described.run), described.run.network
        if described.run.finetune is not None:
            raise SettingError(
                f"{folder} is a fine-tuned Hugging Face model, which this does not read. Audit it (`heedful audit "
                f"--model {folder.name}`); in Python, `heedful.models.transformers.load_classifier('{folder}')` or "
                "transformers' own `from_pretrained` loads it."
            )
        if is_pretrained(network.encoder):
            verify_fingerprint(network.encoder, network.encoder_fingerprint)
        try:
            return read_trained(described, folder)
        except StoreError as error:
            raise self._refusal(folder, error, described) from error

    def history(self, key: str) -> pl.DataFrame:
        """epoch, split, measure and value of that run's training."""
        return self._table(key, HISTORY)

    def tokens(self, key: str) -> pl.DataFrame:
        """What was recorded of tokens along the training of that run."""
        if not self.read(key).run.training.record_flow:
            raise StoreError(
                f"{self.folder / self.find(key)} has no scores of tokens, for none were recorded. Train the run with "
                "`--record-flow`."
            )
        return self._table(key, TOKENS)

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

    def _table(self, key: str, name: str) -> pl.DataFrame:
        described = self.read(key)
        folder = self.folder / key_of(described.run)
        try:
            return read_table(folder, name)
        except StoreError as error:
            raise self._refusal(folder, error, described) from error

    def _is_in_the_way(self, key: str) -> bool:
        """Whether there is something in the place of that run that cannot be used."""
        if not (self.folder / key).is_dir():
            return False
        try:
            self.load(key)
        except StoreError:
            return True
        return False

    def _refusal(self, folder: Path, why: StoreError, described: RunFile | None) -> StoreError:
        """What is wrong with a folder, and what to do about it."""
        if described is not None:
            cure = f"Delete that folder, then make it again: {train_command(described.run, self.folder)}"
        elif KEY.fullmatch(folder.name):
            cure = "Delete that folder, then repeat the command that made it: `heedful train`, `audit` or `sweep`."
        else:
            cure = f"Heedful did not name it: move it out of {self.folder}/."
        return StoreError(f"{folder} is not a finished run: {why}. {cure}")


def _first_of(keys: list[str]) -> str:
    """Some keys for a message, the first five."""
    return ", ".join(keys[:5]) + (" ..." if len(keys) > 5 else "") or "none"


@dataclass(frozen=True)
class FinetunedRun:
    """A fine-tuned model on disk.

    Args:
        folder: what `heedful.models.transformers.load_classifier` and transformers' `from_pretrained` load.
    """

    key: str
    folder: Path
    described: RunFile

    @property
    def run(self) -> Run:
        """Its settings: `run.data` says what it was trained on, `run.text` how that was read."""
        return self.described.run

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """Every metric on dev and test."""
        return read_scores(self.described)


def is_finetuned(store: Store, key: str) -> bool:
    """Whether the run of that key, or of the only key that begins so, is a fine-tuned Hugging Face model."""
    return store.read(key).run.finetune is not None


def find_finetuned(store: Store, key: str) -> FinetunedRun:
    """The fine-tuned model of that key, or of the only key that begins so."""
    key = store.find(key)
    described = store.read(key)
    if described.run.finetune is None:
        raise SettingError(f"run {key} must be a fine-tuned Hugging Face model; it is one of Heedful's own models.")
    return FinetunedRun(key, store.folder / key, described)


def save_finetuned(finetuned: "Finetuned", store: Store) -> str:
    """Store a fine-tuned model; the key it is found by. What is there already stays, unless it is of no use."""
    from heedful.store.trained_files import write_finetuned

    key = key_of(finetuned.run)
    place = store.folder / key
    with written_whole(place, replace=place.is_dir() and run_problem(place) is not None) as part:
        write_finetuned(finetuned, part)
    return key
