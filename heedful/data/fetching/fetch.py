"""From a name to a data set in the data folder: download, read, write."""

import gzip
import json
import os
import shutil
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from heedful.data.fetching.download import Report, checksum_of, download
from heedful.data.fetching.recipe import Recipe, Splits
from heedful.data.sources.files import split_of
from heedful.errors import DataError
from heedful.settings.data_folder import VARIABLE, data_path

DOWNLOADS = "downloads"


@dataclass(frozen=True)
class Fetched:
    """A data set in the data folder.

    Args:
        was_there: whether nothing had to be done.
    """

    name: str
    folder: Path
    was_there: bool


def fetch_set(name: str, recipe: Recipe, report: Report | None = None) -> Fetched:
    """Download a data set and write it to the data folder, unless it is there."""
    folder = data_path() / name
    if has_set(folder):
        return Fetched(name, folder, was_there=True)
    try:
        files = {short: download(address, folder.parent / DOWNLOADS, report) for short, address in recipe.files.items()}
    except DataError as error:
        raise DataError(f"{name} cannot be fetched: {error} {describe_layout(name, recipe)}") from error
    except OSError as error:
        raise _not_writable(folder, error) from error
    splits = _read(name, recipe, files)
    try:
        _write(folder, splits, _meta(recipe, files, splits))
    except OSError as error:
        raise _not_writable(folder, error) from error
    return Fetched(name, folder, was_there=False)


def has_set(folder: Path) -> bool:
    """Whether a folder holds a data set."""
    return folder.is_dir() and any(split_of(path) == "train" for path in folder.iterdir())


def describe_layout(name: str, recipe: Recipe) -> str:
    """Which files make the set, as a sentence: for those who get it elsewhere."""
    labels = f", labels numbered in the order {', '.join(recipe.labels)}" if recipe.labels else ""
    columns = ", ".join(f'"{column}"' for column in recipe.columns)
    return (
        f"To put it there yourself: {data_path() / name}/{{train,dev,test}}.jsonl.gz (or .jsonl, .csv, .tsv, .parquet; "
        f"the folder that {VARIABLE} names), with {columns} in each row{labels}."
    )


def _read(name: str, recipe: Recipe, files: Mapping[str, Path]) -> Splits:
    try:
        splits = recipe.read(files)
    except (OSError, EOFError, ValueError, LookupError, TypeError, zlib.error) as error:
        raise _damaged(name, files, error) from error
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise _damaged(name, files, error) from error
    if not all(splits[split] for split in ("train", "dev", "test")):
        raise _damaged(name, files, ValueError("a split has no rows"))
    return splits


def _write(folder: Path, splits: Splits, meta: Mapping[str, object]) -> None:
    """All files, or none: they are written elsewhere and moved in one step."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for split, rows in splits.items():
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (work / f"{split}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
        (work / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        work.chmod(0o777 & ~_umask())
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _umask() -> int:
    """What new files are not allowed; there is no way to ask but to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _meta(recipe: Recipe, files: Mapping[str, Path], splits: Splits) -> dict[str, object]:
    label = recipe.columns[-1] if not recipe.labels else "label"
    return {
        "name": recipe.title,
        "task": recipe.task,
        **({"label_names": list(recipe.labels)} if recipe.labels else {}),
        "source": [{"address": recipe.files[short], "sha256": checksum_of(path)} for short, path in files.items()],
        "licence": recipe.terms,
        **({"note": f"Not quite the set of the study pages: {recipe.remark}."} if recipe.remark else {}),
        "splits": {
            split: {"rows": len(rows), "labels": dict(Counter(str(row[label]) for row in rows))}
            for split, rows in splits.items()
        },
    }


def _damaged(name: str, files: Mapping[str, Path], error: Exception) -> DataError:
    places = ", ".join(str(path) for path in files.values())
    return DataError(
        f"{name} cannot be read from what was downloaded ({type(error).__name__}: {error}): it is damaged, or not what "
        f"it was. Delete {places} and the .sha256 beside it, and fetch again."
    )


def _not_writable(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"{folder} cannot be written: {error.strerror or error}. Set {VARIABLE} to a folder that can be written, with "
        "room on its disk, or move away what stands in that place."
    )
