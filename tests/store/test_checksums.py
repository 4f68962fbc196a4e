"""Files are those that were written."""

import hashlib
import os
import shutil
import subprocess

import pytest

from heedful.store.folders import CHECKSUMS, find_damage, write_checksums

NAMES = ["a.json", "b.parquet"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 numbers PAR1")
    write_checksums(tmp_path)
    return tmp_path


def test_checksums_are_those_of_the_usual_tool(folder):
    assert (folder / CHECKSUMS).read_text().splitlines() == [
        f"{hashlib.sha256(b'{}').hexdigest()}  a.json",
        f"{hashlib.sha256(b'PAR1 numbers PAR1').hexdigest()}  b.parquet",
    ]
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=folder, check=True)


def test_whole_files_have_no_damage(folder):
    assert find_damage(folder, NAMES) is None
    (folder / "notes.txt").write_text("the user's own")
    assert find_damage(folder, NAMES) is None


def test_every_flipped_bit_is_seen(folder):
    path = folder / "b.parquet"
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(bytes([*content[:place], content[place] ^ 4, *content[place + 1 :]]))
        assert (
            find_damage(folder, NAMES) == "b.parquet was changed or damaged after it was written (its checksum differs)"
        )
    path.write_bytes(content)
    assert find_damage(folder, NAMES) is None


def test_a_file_is_read_once_until_it_changes(folder, monkeypatch):
    reads = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda file, name: reads.append(file.name) or digest(file, name))
    for name in NAMES:
        os.utime(folder / name, (1, 1))
    for _ in range(3):
        assert find_damage(folder, NAMES) is None
    assert len(reads) == 2
    (folder / "a.json").write_bytes(b"[]")
    os.utime(folder / "a.json", (2, 2))
    assert "a.json was changed" in find_damage(folder, NAMES)
    assert len(reads) == 3


def test_missing_and_unlisted_files_are_named(folder):
    assert find_damage(folder, [*NAMES, "c"]) == "c is missing"
    (folder / "c").write_text("new")
    assert find_damage(folder, [*NAMES, "c"]) == "SHA256SUMS does not list c"


def test_checksums_that_were_spoilt_are_no_excuse(folder):
    for content in (b"", b"\xff\xfe", b"no checksum", b"0" * 64 + b"  a.json\n"):
        (folder / CHECKSUMS).write_bytes(content)
        assert find_damage(folder, NAMES) is not None
    (folder / CHECKSUMS).unlink()
    assert find_damage(folder, NAMES) is None


def test_a_folder_in_the_place_of_a_file_is_none(folder):
    (folder / "a.json").unlink()
    (folder / "a.json").mkdir()
    assert find_damage(folder, NAMES) == "a.json is missing"
