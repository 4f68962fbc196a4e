"""Parquet files of strangers, read in a process of their own: a damaged one can take its reader down."""

import io
import os
import subprocess
import sys
from pathlib import Path

import polars

from heedful.errors import DataError

MAGIC = b"PAR1"

_READER = """
import sys
import polars
try:
    polars.read_parquet(sys.argv[1], glob=False, hive_partitioning=False).write_ipc(sys.stdout.buffer)
except BaseException as error:
    sys.exit(" ".join(str(error).split())[:200])
"""
"""Polars panics on some damaged files and aborts on others, which no handler in the same process can stop."""


def read_parquet(path: Path) -> polars.DataFrame:
    """The table in a parquet file."""
    _check_ends(path)
    # -P: no folder of the user's is searched for modules.
    command = [sys.executable, "-P", "-c", _READER, str(path.absolute())]
    ended = subprocess.run(command, capture_output=True, env=os.environ | {"RUST_BACKTRACE": "0"}, check=False)
    if ended.returncode == 0:
        return polars.read_ipc(io.BytesIO(ended.stdout))
    lines = ended.stderr.decode(errors="replace").strip().splitlines() if ended.returncode == 1 else []
    raise _damaged(path, lines[-1] if lines else f"its reader ended with code {ended.returncode}")


def _check_ends(path: Path) -> None:
    """Refuse what is no parquet file, or not all of one, before anything reads it."""
    try:
        with path.open("rb") as file:
            first = file.read(4)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 8))
            last = file.read(8)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if first != MAGIC:
        raise _damaged(path, "it does not begin as a parquet file does")
    if last[4:] != MAGIC or int.from_bytes(last[:4], "little") > size - 12:
        raise _damaged(path, "it does not end as a parquet file does: it is incomplete")


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(f"{path} cannot be read as parquet: {reason.removesuffix('.')}. Write or download it again.")
