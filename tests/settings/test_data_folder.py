from pathlib import Path

import pytest

from heedful.errors import DataError
from heedful.settings.data_folder import data_folder, data_folder_problem, data_path, user_path


@pytest.fixture
def unset(monkeypatch, tmp_path):
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


def test_the_home_folder_is_written_out(unset, tmp_path):
    assert user_path("~/a.csv", "DATA") == tmp_path / "a.csv"
    assert user_path("none/a.csv", "DATA") == Path("none/a.csv")


def test_what_cannot_be_a_path_is_named_shortly():
    for value in ["~nouser", "~nouser/a", "x" * 300, "a/" * 3000, "a\0b", "\ud83d"]:
        with pytest.raises(DataError, match=r"DATA cannot be a path: '.*' \(.+\)\.$") as refused:
            user_path(value, "DATA")
        assert len(str(refused.value)) < 250


def test_a_loop_of_links_is_no_path(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(DataError, match="cannot be a path"):
        user_path(str(tmp_path / "loop"), "DATA")


def test_the_folder_is_named_by_the_variable(unset, tmp_path):
    unset.setenv("HEEDFUL_DATA", str(tmp_path))
    assert data_folder("sst2") == data_path() == tmp_path
    assert data_folder_problem() == ""


def test_without_the_variable_it_is_in_the_cache(unset, tmp_path):
    assert data_path() == tmp_path / ".cache" / "heedful" / "data"
    unset.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    assert data_path() == tmp_path / ".cache" / "heedful" / "data"
    unset.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data_path() == tmp_path / "xdg" / "heedful" / "data"
    with pytest.raises(DataError, match="sst2 needs a data folder, but HEEDFUL_DATA is not set. Set HEEDFUL_DATA to"):
        data_folder("sst2")
    data_path().mkdir(parents=True)
    assert data_folder("sst2") == data_path()


def test_a_variable_that_names_no_folder_is_said(unset):
    for value, problem in [
        ("nowhere", "HEEDFUL_DATA is 'nowhere', which is not a folder"),
        ("~nouser", "HEEDFUL_DATA cannot be a path: '~nouser'"),
    ]:
        unset.setenv("HEEDFUL_DATA", value)
        assert data_folder_problem().startswith(problem)
        with pytest.raises(DataError, match=f"sst2 needs a data folder, but {problem}"):
            data_folder("sst2")
