"""Fetch a public dataset or public word vectors by name into the data folder: download with pooch, check, write."""

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


GLOVE = "https://github.com/RaRe-Technologies/gensim-data/releases/download/glove-wiki-gigaword-{0}/glove-wiki-gigaword-{0}.gz"
VECTORS = {
    "glove-50": PublicFile(GLOVE.format(50), "md5:c289bc5d7f2f02c6dc9f2f9b67641813"),
    "glove-100": PublicFile(GLOVE.format(100), "md5:40ec481866001177b8cd4cb0df92924f"),
    "glove-300": PublicFile(GLOVE.format(300), "md5:29e9329ac2241937d55b852e8284e89b"),
}
"""Public word vectors: GloVe of Wikipedia 2014 and Gigaword 5, lowercase, 400,000 words (public domain, PDDL)."""


def fetched_vectors(name: str) -> Path:
    """Path of public word vectors in the data folder, whether or not they were fetched."""
    return data_path() / "embeddings" / f"{name}.gz"


def fetch_vectors(name: str, report: Report | None = None) -> Path:
    """Download public word vectors unless they are there; an interrupted download resumes."""
    place = fetched_vectors(name)
    if not place.is_file():
        try:
            downloader = _Resuming(data_path() / DOWNLOADS / f"{place.name}.part", report)
            _retrieve(VECTORS[name], place, downloader)
        except DataError as error:
            raise DataError(f"{name} cannot be fetched: {error} If a part came, the same command resumes.") from error
        except OSError as error:
            raise _not_writable(place, reason(error)) from error
    return place


class _Resuming:
    """A downloader for pooch that keeps what came and asks for the rest.

    Args:
        part: file for what came.
    """

    def __init__(self, part: Path, report: Report | None):
        self.part, self.report = part, report

    def __call__(self, address: str, output_file: str, _pooch: object) -> None:
        import requests

        self.part.parent.mkdir(parents=True, exist_ok=True)
        done = self.part.stat().st_size if self.part.exists() else 0
        headers = {"User-Agent": "heedful", "Accept-Encoding": "identity", "Range": f"bytes={done}-"}
        with requests.get(address, stream=True, timeout=TIMEOUT, headers=headers) as answer:
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                self.part.unlink(missing_ok=True)  # the file is shorter now: the next attempt starts again
            answer.raise_for_status()
            done = done if answer.status_code == requests.codes.partial_content else 0
            total = done + int(answer.headers.get("content-length", 0))
            with self.part.open("ab" if done else "wb") as file:
                for chunk in answer.iter_content(1 << 16):
                    done += file.write(chunk)
                    if self.report is not None:
                        self.report(Path(address).name, done, total)
        self.part.replace(output_file)


def _download(file: PublicFile, report: Report | None) -> Path:
    """The file, kept under its host and path: whole and with the hash that it must have, or not at all."""
    import pooch

    parts = urlsplit(file.address)
    place = data_path() / DOWNLOADS / parts.netloc / parts.path.lstrip("/")
    meter = False if report is None else _Meter(place.name, report)
    wanted = {"timeout": TIMEOUT, "headers": {"User-Agent": "heedful"}}
    return _retrieve(file, place, pooch.HTTPDownloader(progressbar=meter, **wanted))  # pyright: ignore[reportArgumentType]


def _retrieve(file: PublicFile, place: Path, downloader: Any) -> Path:
    import pooch
    from requests import RequestException

    pooch.get_logger().setLevel("WARNING")
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
