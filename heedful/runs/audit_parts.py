"""An audit under way, on disk: what of it is done, part by part, beside the place where it will be.

audits/.KEY.parts/  00000/ ...  a shard of the texts each: rows.parquet, examples.parquet, outcomes.parquet, facts.json,
                                and if there are adversaries their rows and predictions
                    rest/       what is measured in addition to the shards: outcomes.parquet of dev texts, rest.json

Each part is written under a temporary name and renamed: whoever is killed loses the part that was under way, and the
next call does those that are missing. Once the audit is whole the folder is gone.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from pydantic import TypeAdapter

from heedful.auditing.audit import Rest
from heedful.auditing.companions import constant_distances, with_constants
from heedful.auditing.shards import Facts, Shard, join_facts, sorted_examples, sorted_outcomes
from heedful.runs.checksums import damage_of, write_checksums
from heedful.runs.folders import Files, files_in, write_files
from heedful.schema import Heads, Words

REST = "rest"
ROWS, EXAMPLES, OUTCOMES, FACTS = "rows.parquet", "examples.parquet", "outcomes.parquet", "facts.json"
ADVERSARIES, PREDICTIONS = "adversaries.parquet", "predictions.parquet"
REST_FILE = "rest.json"
ROW_GROUP = 2**17
"""Rows of a row group: as many, in whatever parts they come, so that the same rows are the same bytes."""

_FACTS = TypeAdapter(Facts)


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
        return self.place.parent / f".{self.place.name}.parts"

    @property
    def names(self) -> tuple[str, ...]:
        """What the parts are called, the longest first: several are done at a time, and the last should be short."""
        return (REST, *map(shard_name, reversed(range(self.shards))))

    def missing(self) -> list[str]:
        """Those that are not there, or damaged."""
        return [name for name in self.names if part_problem(self.folder / name) is not None]

    def save(self, name: str, part: Shard | Rest) -> None:
        """Store a part, whole or not at all."""
        write_files(part_files(part), self.folder / name, replace=(self.folder / name).is_dir())

    def facts(self) -> Facts:
        """What all shards say beside their rows."""
        return join_facts(self._facts_of(number) for number in range(self.shards))

    def texts(self, name: str) -> int:
        """How many texts a stored part has."""
        return 0 if name == REST else self._facts_of(int(name)).texts

    def examples(self) -> pl.DataFrame:
        """The texts that are shown word by word."""
        return sorted_examples(pl.read_parquet(self._shard(number) / EXAMPLES) for number in range(self.shards))

    def outcomes(self) -> pl.DataFrame:
        """The outcomes of all texts, those of dev texts last."""
        audited = sorted_outcomes(pl.read_parquet(self._shard(number) / OUTCOMES) for number in range(self.shards))
        return pl.concat([audited, pl.read_parquet(self.folder / REST / OUTCOMES)])

    def rest(self) -> Rest:
        """What was measured beside the shards."""
        written = json.loads((self.folder / REST / REST_FILE).read_text(encoding="utf-8"))
        words, heads = written["words"], written["heads"]
        return Rest(
            outcomes=pl.read_parquet(self.folder / REST / OUTCOMES),
            words=None if words is None else Words.model_validate(words),
            indicative_words=written["indicative_words"],
            heads=None if heads is None else Heads.model_validate(heads),
            seconds=written["seconds"],
        )

    def write_rows(self, path: Path) -> None:
        """Write the rows of all shards into one file, without having them all in memory."""
        with TemporaryDirectory(dir=self.folder) as scratch:
            files = list(self._files_of_rows(Path(scratch)))
            rows = pl.scan_parquet(files, hive_partitioning=False, glob=False)
            rows.sink_parquet(path, row_group_size=ROW_GROUP)

    def discard(self) -> None:
        """Delete the parts: the audit is whole."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _shard(self, number: int) -> Path:
        return self.folder / shard_name(number)

    def _facts_of(self, number: int) -> Facts:
        return _FACTS.validate_json((self._shard(number) / FACTS).read_bytes())

    def _files_of_rows(self, scratch: Path) -> Iterator[Path]:
        """Files of rows, shard after shard; those of adversaries are made now, for they depend on all shards.

        Args:
            scratch: for these.
        """
        folders = [self._shard(number) for number in range(self.shards)]
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


def part_problem(folder: Path) -> str | None:
    """Why the folder is not a finished part; None where it is."""
    if not folder.is_dir():
        return "there is no such folder"
    return damage_of(folder, (OUTCOMES, REST_FILE) if folder.name == REST else (ROWS, EXAMPLES, OUTCOMES, FACTS))


def part_files(part: Shard | Rest) -> Files:
    """The files that a part is stored as."""
    with TemporaryDirectory() as parent:
        folder = Path(parent)
        _ = _write_rest(part, folder) if isinstance(part, Rest) else _write_shard(part, folder)
        write_checksums(folder)
        return files_in(folder)


def _write_shard(shard: Shard, folder: Path) -> None:
    shard.rows.write_parquet(folder / ROWS)
    shard.examples.write_parquet(folder / EXAMPLES)
    shard.outcomes.write_parquet(folder / OUTCOMES)
    (folder / FACTS).write_bytes(_FACTS.dump_json(shard.facts))
    if not shard.predictions.is_empty():
        shard.adversaries.write_parquet(folder / ADVERSARIES)
        shard.predictions.write_parquet(folder / PREDICTIONS)


def _write_rest(rest: Rest, folder: Path) -> None:
    rest.outcomes.write_parquet(folder / OUTCOMES)
    written = {
        "words": rest.words and rest.words.model_dump(mode="json"),
        "heads": rest.heads and rest.heads.model_dump(mode="json"),
        "indicative_words": rest.indicative_words,
        "seconds": rest.seconds,
    }
    (folder / REST_FILE).write_text(json.dumps(written), encoding="utf-8")
