import random
import subprocess
import sys
from collections import Counter

import polars
import pytest

from heedful.data.sources import parquet
from heedful.data.sources.parquet import read_parquet
from heedful.errors import DataError

FRAME = polars.DataFrame(
    {
        "text": [f"text number {n}" for n in range(60)],
        "label": ["a", "b", "c"] * 20,
        "rationale": [[[0, n % 3]] for n in range(60)],
    }
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a[1]*.parquet"
    FRAME.write_parquet(file)
    return file


def test_a_table_is_read_whatever_its_name(path):
    assert read_parquet(path).equals(FRAME)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 nothing", b"text,label\n", b"PAR1\xff\xff\xff\xffPAR1"])
def test_what_is_no_parquet_file_is_refused_unread(path, content, monkeypatch):
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("it was read"))
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"parquet cannot be read as parquet: it does not (begin|end) as"):
        read_parquet(path)


def test_a_file_cut_short_is_refused(path):
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="cannot be read as parquet: it does not end .*incomplete. Write or download"):
        read_parquet(path)


def test_a_folder_in_place_of_a_file_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_parquet(tmp_path)


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        ("import os; os.abort()", "its reader ended with code -6"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "its reader ended with code -11"),
        ("import sys; sys.exit('panicked')", "panicked"),
    ],
)
def test_a_reader_that_dies_is_an_error_not_our_death(path, monkeypatch, reader, reason):
    monkeypatch.setattr(parquet, "_READER", reader)
    with pytest.raises(DataError, match=f"cannot be read as parquet: {reason}. Write or download it again"):
        read_parquet(path)


def flip(path, seed):
    """Turn one bit of the file's last part, which says how to read the rest."""
    draw = random.Random(seed)
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content) // 2, len(content))] ^= 1 << draw.randrange(8)
    path.with_name("flipped.parquet").write_bytes(content)
    return path.with_name("flipped.parquet")


def test_a_flipped_bit_is_refused_or_read(path):
    for seed in (0, 2, 5):
        try:
            assert isinstance(read_parquet(flip(path, seed)), polars.DataFrame)
        except DataError as error:
            assert "flipped.parquet cannot be read as parquet" in str(error)


MANY = """
import io, sys
from pathlib import Path
import polars
for name in sys.argv[2:]:
    print(name, end=" ", flush=True)
    real, sys.stdout, sys.argv[1] = sys.stdout, io.TextIOWrapper(io.BytesIO()), name
    try:
        exec(Path("reader.py").read_text())
        ending = polars.read_ipc(io.BytesIO(sys.stdout.buffer.getvalue())).to_dicts() and "read"
    except SystemExit as left:
        ending = "refused" if isinstance(left.code, str) else f"left with {left.code}"
    sys.stdout = real
    print(ending, flush=True)
"""
"""What each process of ours does, for many files in one process, which is quicker by far."""


def test_the_reader_of_two_hundred_flipped_files_reads_refuses_or_dies(path, tmp_path):
    (tmp_path / "reader.py").write_text(parquet._READER, encoding="utf-8")
    left = [str(flip(path, seed).rename(tmp_path / f"{seed}.parquet")) for seed in range(200)]
    endings = Counter()
    while left:  # a reader that dies leaves the others to the next
        ended = subprocess.run(
            [sys.executable, "-c", MANY, "", *left], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        lines = ended.stdout.splitlines()
        left = left[len(lines) :]
        endings.update(line.partition(" ")[2] or "died" for line in lines)
        assert lines and endings["died"] < 20
    assert endings.keys() <= {"read", "refused", "died"}
    assert endings["read"] > 20 and endings["refused"] > 20
