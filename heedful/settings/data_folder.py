"""The folder of datasets, vectors and word lists: where HEEDFUL_DATA points, or one in the user's cache."""

import os
from contextlib import suppress
from pathlib import Path

from heedful.errors import DataError

VARIABLE = "HEEDFUL_DATA"


def user_path(value: str, what: str) -> Path:
    """The path that the user wrote, with `~` replaced by the home folder; nothing has to exist there.

    >>> user_path("reviews.csv", "DATA")
    PosixPath('reviews.csv')
    >>> user_path("x" * 300, "DATA")
    Traceback (most recent call last):
    heedful.errors.DataError: DATA cannot be a path: 'xxxxxxxxxxxx...xxxxxxxxxxxxx' (File name too long).
    """
    try:
        path = Path(value).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).removesuffix(".")
        shown = value if len(value) <= 60 else f"{value[:12]}...{value[-13:]}"
        raise DataError(f"{what} cannot be a path: {shown!r} ({reason}).") from error
    return path


def data_path() -> Path:
    """Where datasets, vectors and word lists are kept, whether or not the folder is there yet."""
    if value := os.environ.get(VARIABLE, ""):
        return user_path(value, VARIABLE)
    return cache_path() / "data"


def cache_path() -> Path:
    """Where files are kept that can be made again, whether or not the folder is there yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else user_path("~/.cache", "the user's cache")) / "heedful"


def data_folder(what: str) -> Path:
    """The folder that holds the data, or an error naming what needs it."""
    if problem := data_folder_problem():
        raise DataError(f"{what} needs a data folder, but {problem}. Set {VARIABLE} to the folder that holds the data.")
    return data_path()


def data_folder_problem() -> str:
    """Why there is no data folder, as part of a sentence; empty if there is one."""
    value = os.environ.get(VARIABLE, "")
    try:
        folder = data_path()
    except DataError as error:
        return str(error).removesuffix(".")
    if folder.is_dir():
        return ""
    return f"{VARIABLE} is '{value}', which is not a folder" if value else f"{VARIABLE} is not set"
