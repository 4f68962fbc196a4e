"""The folder of data sets, vectors and word lists that HEEDFUL_DATA names."""

import os
from pathlib import Path

from heedful.errors import DataError

VARIABLE = "HEEDFUL_DATA"


def data_folder(what: str) -> Path:
    """The folder that HEEDFUL_DATA names, or an error naming what needs it."""
    value = os.environ.get(VARIABLE, "")
    if not value:
        raise DataError(f"{what} needs the environment variable {VARIABLE}: set it to the folder that holds the data.")
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DataError(f"{what} needs {VARIABLE} to name a folder; it is '{value}', which is not a folder.")
    return folder
