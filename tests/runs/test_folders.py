"""Folders that exist if and only if they are complete."""

import os
import platform

import pytest

from heedful.runs.folders import files_in, write_files, written_whole


def test_a_folder_that_fails_midway_never_appears(tmp_path):
    with pytest.raises(RuntimeError), written_whole(tmp_path / "whole") as part:
        (part / "file").write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    left = tmp_path / f".part-{platform.node()}-{pid}-abcd"
    alive = tmp_path / f".part-{platform.node()}-{os.getpid()}-abcd"
    left.mkdir()
    alive.mkdir()
    with written_whole(tmp_path / "whole"):
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
    with pytest.raises(OSError):
        write_files({"file": b"content"}, tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
