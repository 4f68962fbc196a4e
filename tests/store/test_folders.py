"""Folders that exist if and only if they are complete."""

import os
import platform
import subprocess

import pytest

from heedful.errors import StoreError
from heedful.store.folders import atomic_folder, check_writable, files_in, write_files


def test_a_folder_that_fails_midway_never_appears(tmp_path):
    with pytest.raises(RuntimeError), atomic_folder(tmp_path / "whole") as part:
        (part / "file").write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def dead_process():
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_what_a_killed_process_left_is_cleared_away(tmp_path, dead_process):
    left = tmp_path / f".part-{platform.node()}-{dead_process}-abcd"
    alive = tmp_path / f".part-{platform.node()}-{os.getpid()}-abcd"
    left.mkdir()
    alive.mkdir()
    with atomic_folder(tmp_path / "whole"):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([alive.name, "whole"])


def test_files_come_back_as_they_were_written(tmp_path):
    files = {"run.json": b"{}", "weights": bytes(range(256))}
    write_files(files, tmp_path / "new" / "key")
    assert files_in(tmp_path / "new" / "key") == files
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["key"]


def test_writing_a_folder_that_is_there_changes_nothing(tmp_path):
    write_files({"file": b"first"}, tmp_path / "key")
    write_files({"file": b"second"}, tmp_path / "key")
    assert files_in(tmp_path / "key") == {"file": b"first"}
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "key").write_text("in the way")
    with pytest.raises(StoreError, match="key cannot be written: Not a directory. Make room for it"):
        write_files({"file": b"content"}, tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_what_is_of_no_use_makes_way(tmp_path):
    write_files({"file": b"first", "more": b""}, tmp_path / "key")
    write_files({"file": b"second", "more": b"", "third": b""}, tmp_path / "key", replace=True)
    assert files_in(tmp_path / "key") == {"file": b"second", "more": b"", "third": b""}
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("name", ["photo.jpg", "file"])
def test_a_folder_with_files_that_are_not_ours_never_makes_way(tmp_path, name):
    place = tmp_path / "key" / name
    place.mkdir(parents=True) if name == "file" else (tmp_path / "key").mkdir()
    (tmp_path / "key" / "photo.jpg").write_bytes(b"holiday")
    with pytest.raises(StoreError, match="key cannot be replaced: it holds '.*', which Heedful did not write"):
        write_files({"file": b"content"}, tmp_path / "key", replace=True)
    assert (tmp_path / "key" / "photo.jpg").read_bytes() == b"holiday"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_worker_cannot_write_elsewhere(tmp_path):
    for name in ("../elsewhere", "/tmp/elsewhere", "a/b", "..", ""):
        with pytest.raises(StoreError, match="is not the name of a file"):
            write_files({name: b""}, tmp_path / "runs" / "key")
    assert list(tmp_path.iterdir()) == []


HOST = platform.node()
ODD = [f".part-{HOST}-x", f".part-{HOST}-", f".part-{HOST}", ".part-", f".part-{HOST}-1-2-", f".part-{HOST}-x-abcd"]
ODD += [f".part-{HOST}-{'9' * 30}-abcd", f".part-{HOST}-9999999999-abcd"]


def test_odd_names_left_by_others_stop_nobody(tmp_path):
    for name in ODD:
        (tmp_path / name).mkdir()
    write_files({"file": b"content"}, tmp_path / "key")
    assert {path.name for path in tmp_path.iterdir()} - {"key"} >= set(ODD[:-1])


def test_parts_of_a_machine_whose_name_begins_alike_are_its_own(tmp_path, dead_process):
    others = tmp_path / f".part-{HOST}-2-{dead_process}-abcd"
    own = tmp_path / f".part-{HOST}-{dead_process}-abcd"
    others.mkdir()
    own.mkdir()
    write_files({"file": b"content"}, tmp_path / "key")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([others.name, "key"])


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path):
    check_writable(tmp_path, "--runs")
    check_writable(str(tmp_path / "new" / "runs"), "--runs")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_by_its_option(tmp_path):
    (tmp_path / "file").write_text("in the way")
    below = tmp_path / "file" / "runs"
    for place in (tmp_path / "file", below, "/proc/nothing/runs", tmp_path / ("a" * 300), tmp_path / "a\0b", "", "  "):
        with pytest.raises(StoreError, match="^--runs must be a folder that can be written; "):
            check_writable(place, "--runs")


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(StoreError, match="key cannot be written: No space left on device. Make room"):
        write_files({"file": b"content"}, tmp_path / "key")
    assert list(tmp_path.iterdir()) == []
