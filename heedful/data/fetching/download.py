"""Files from the web: taken up where a download was interrupted, and held to the checksum of the first download."""

import hashlib
import http.client
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from heedful.errors import DataError

Report = Callable[[str, int, int | None], None]
"""Called with the name of a file, how many bytes are there, and how many there will be, if that is known."""

TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as lost."""
CHUNK = 1 << 16


def download(address: str, folder: Path, report: Report | None = None) -> Path:
    """The file at an address, kept under `folder` by host and path; nothing is sent if it is there already.

    What has come so far is in `NAME.part`, and the next call goes on from there. The SHA-256 of the first download is
    recorded in `NAME.sha256`: a later one that differs is refused.
    """
    path = local_path(address, folder)
    if path.is_file():
        _check_record(path, path, address)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(path, ".part")
    for is_again in (False, True):
        try:
            is_whole = _receive(address, path, part, report)
        except (http.client.HTTPException, urllib.error.URLError, ConnectionError, TimeoutError, ssl.SSLError) as error:
            raise _no_connection(address, error) from error
        if is_whole:
            break
        if is_again:
            raise DataError(f"{address} was not sent as asked for. Try again later.")
        part.unlink(missing_ok=True)
    _check_record(path, part, address)
    part.rename(path)
    _beside(path, ".tag").unlink(missing_ok=True)
    return path


def local_path(address: str, folder: Path) -> Path:
    """Where under the folder the file of an address is kept.

    >>> local_path("https://a.org/b/c.txt", Path("downloads"))
    PosixPath('downloads/a.org/b/c.txt')
    """
    parts = urlsplit(address)
    names = [name for name in unquote(parts.path).split("/") if name not in ("", ".", "..")]
    if parts.scheme not in ("http", "https") or not parts.netloc or not names:
        raise DataError(f"an address must be http://HOST/PATH or https://HOST/PATH; it is '{address}'.")
    return folder.joinpath(parts.netloc.replace(":", "_"), *names)


def checksum_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(address: str, path: Path, part: Path, report: Report | None) -> bool:
    """Receive what is missing of the file; False where it has to be begun again."""
    start = part.stat().st_size if part.is_file() else 0
    tag = _beside(path, ".tag")
    headers = {"User-Agent": "heedful", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-"}
        if tag.is_file():  # what is there is gone on with only if the file is still the same
            headers |= {"If-Range": tag.read_text(encoding="utf-8")}
    try:
        answer = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            return False
        raise DataError(f"{address} answers {error.code} {error.reason}.") from error
    with answer:
        if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
            place = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
            if place is None or int(place[1]) != start:
                return False
            total = int(place[2])
        else:
            start, length = 0, answer.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if validator and not validator.startswith("W/"):
            tag.write_text(validator, encoding="utf-8")
        with part.open("ab" if start else "wb") as file:
            _copy(answer, file, start, total, path.name, report)
    return True


def _copy(
    answer: http.client.HTTPResponse, file: BinaryIO, done: int, total: int | None, name: str, report: Report | None
) -> None:
    try:
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            if report is not None:
                report(name, done, total)
    except http.client.IncompleteRead as error:
        file.write(error.partial)
        done += len(error.partial)
    if total is not None and done != total:
        raise ConnectionError(f"it ended after {done:,} of {total:,} bytes")


def _check_record(path: Path, content: Path, address: str) -> None:
    """Record the checksum of a first download; raise where a later one, or the file as it is now, differs."""
    record, checksum = _beside(path, ".sha256"), checksum_of(content)
    if not record.is_file():
        record.write_text(f"{checksum}  {path.name}\n", encoding="utf-8")
        return
    expected = record.read_text(encoding="utf-8", errors="replace").split(" ")[0].strip()
    if checksum != expected:
        content.unlink()
        raise DataError(
            f"{address} has the SHA-256 {checksum}, but the first download had {expected}: the file was changed or "
            f"damaged. What came was deleted; fetch again, or delete {record} if you trust the change."
        )


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _no_connection(address: str, error: Exception) -> DataError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error) or type(error).__name__
    return DataError(
        f"no connection to {urlsplit(address).netloc}, or it was lost ({reason}). Is there a network? What has come is "
        "kept: the same command goes on from there."
    )
