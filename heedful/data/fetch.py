"""From a name to a public dataset in the data folder: download by pooch, read by the set's rule, write."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from heedful.data.public_sets import PublicFile, PublicSet
from heedful.data.sources.files import has_set
from heedful.errors import DataError, StoreError
from heedful.settings.data_folder import VARIABLE, data_path
from heedful.store.folders import atomic_folder, reason

DOWNLOADS = "downloads"
TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as lost."""

Report = Callable[[str, int, int], None]
"""Called with the name of a file, how many bytes of it are there, and its total size; 0: unknown."""


@dataclass(frozen=True)
class Fetched:
    """A dataset in the data folder.

    Args:
        was_there: whether nothing had to be done.
    """

    name: str
    folder: Path
    was_there: bool


def fetch_set(name: str, public: PublicSet, report: Report | None = None) -> Fetched:
    """Download a dataset and write it to the data folder, unless it is there."""
    folder = data_path() / name
    if has_set(folder):
        return Fetched(name, folder, was_there=True)
    try:
        files = {short: _download(file, report) for short, file in public.files.items()}
        splits = public.read(files)
        described = {
            "name": public.title,
            "task": public.task,
            **({"label_names": public.labels} if public.labels else {}),
            "source": [asdict(file) for file in public.files.values()],
            "licence": public.terms,
            **({"note": f"Not quite the set of the study pages: {public.remark}."} if public.remark else {}),
            "splits": {
                split: {"rows": len(rows), "labels": Counter(str(row.get("label", row.get("answer"))) for row in rows)}
                for split, rows in splits.items()
            },
        }
        with atomic_folder(folder) as part:
            for split, rows in splits.items():
                lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                (part / f"{split}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
            (part / "meta.json").write_text(json.dumps(described, indent=1, ensure_ascii=False), encoding="utf-8")
    except DataError as error:
        raise DataError(f"{name} cannot be fetched: {error} {describe_layout(name, public)}") from error
    except (OSError, StoreError) as error:
        raise _not_writable(folder, reason(error)) from error
    if not has_set(folder):
        raise _not_writable(folder, "it is in the way")
    return Fetched(name, folder, was_there=False)


def describe_layout(name: str, public: PublicSet) -> str:
    """Which files make the set, as a sentence: for those who get it elsewhere."""
    labels = f", labels numbered in the order {', '.join(public.labels)}" if public.labels else ""
    columns = ", ".join(f'"{column}"' for column in public.columns)
    return (
        f"To put it there yourself: {data_path() / name}/{{train,dev,test}}.jsonl.gz (or .jsonl, .csv, .tsv, .parquet; "
        f"the folder that {VARIABLE} names), with {columns} in each row{labels}."
    )


def _download(file: PublicFile, report: Report | None) -> Path:
    """The file, kept under its host and path: whole and with the hash that it must have, or not at all."""
    import pooch
    from requests import RequestException

    pooch.get_logger().setLevel("WARNING")
    parts = urlsplit(file.address)
    place = data_path() / DOWNLOADS / parts.netloc / parts.path.lstrip("/")
    meter = False if report is None else _Meter(place.name, report)
    wanted = {"timeout": TIMEOUT, "headers": {"User-Agent": "heedful"}}
    downloader: Any = pooch.HTTPDownloader(progressbar=meter, **wanted)  # pyright: ignore[reportArgumentType]
    try:
        pooch.retrieve(file.address, file.hash, place.name, place.parent, downloader=downloader)
    except RequestException as error:
        if error.response is not None:
            error.response.close()  # pooch leaves it open
        raise DataError(f"{file.address} did not come, or not whole ({error}). Is there a network?") from error
    except ValueError as error:
        raise DataError(f"{file.address} was changed, or came damaged, and was deleted ({error}).") from error
    return place


class _Meter:
    """What pooch calls as a file comes."""

    def __init__(self, name: str, report: Report):
        self.name, self.call, self.done, self.total = name, report, 0, 0

    def update(self, count: int) -> None:
        self.done += count
        self.call(self.name, self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Nothing is left open."""


def _not_writable(folder: Path, why: str) -> DataError:
    return DataError(
        f"{folder} cannot be written: {why}. Set {VARIABLE} to a folder that can be written, with room on its disk, or "
        "move away what stands in that place."
    )
