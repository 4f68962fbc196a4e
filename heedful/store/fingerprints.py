"""Fingerprints of data that was read before, found by the hash of its bytes: keys are known without reading. No torch.

In the user's cache, heedful/fingerprints/DIGEST holds the fingerprint of what was read. The digest
covers the bytes of the source, the settings, and the code that reads: if any of them changes, the data is read again.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import heedful
from heedful.errors import DataError, StoreError
from heedful.settings import Run
from heedful.settings.data_folder import cache_path, data_path, user_path
from heedful.settings.validation import update_settings
from heedful.store.folders import sha256_of, write_file

MOST_FILES = 20_000
MOST_BYTES = 2_000_000_000
"""A source with more than this is read: to hash it would take longer."""


def reading_digest(run: Run) -> str | None:
    """A hash of all that decides what the data of a run is; None if it is not on this machine, or very large."""
    source = run.data.source
    if not source.strip() or source.startswith("hub:") or run.data.lexicon != "heedful":
        return None
    try:
        places = [user_path(source, "DATA"), data_path() / source]
        files = list(islice((path for place in places for path in _files_at(place)), MOST_FILES + 1))
        if len(files) > MOST_FILES or sum(path.stat().st_size for path in files) > MOST_BYTES:
            return None
        content = [f"{path} {sha256_of(path)}" for path in files]
    except (DataError, OSError):  # what is wrong is reported where it is read
        return None
    data = update_settings(run.data, {"fingerprint": ""})
    settings = [data.model_dump_json(), run.text.model_dump_json(), str(run.reads_sentences)]
    return hashlib.sha256("\n".join([_reading_code(), *settings, *content]).encode()).hexdigest()[:32]


def known_fingerprint(digest: str | None) -> str | None:
    """The fingerprint of the data with that digest, if it was read before."""
    try:
        return None if digest is None else (_folder() / digest).read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return None


def remember_fingerprint(digest: str | None, fingerprint: str) -> None:
    """Keep the fingerprint of the data with that digest, if files can be kept."""
    if digest is not None:
        with suppress(StoreError):
            write_file(_folder() / digest, fingerprint)


def _folder() -> Path:
    return cache_path() / "fingerprints"


def _files_at(place: Path) -> Iterator[Path]:
    """The file at that place, or all files of the folder there, in order."""
    if place.is_file():
        yield place
    elif place.is_dir():
        yield from (path for path in sorted(islice(place.rglob("*"), 2 * MOST_FILES)) if path.is_file())


@cache
def _reading_code() -> str:
    """A hash of the code and the word lists that make data."""
    files = (Path(heedful.__file__).parent / "data").rglob("*")
    return " ".join(sha256_of(path) for path in sorted(files) if path.is_file() and path.suffix != ".pyc")
