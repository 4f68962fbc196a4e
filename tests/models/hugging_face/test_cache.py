import logging
from pathlib import Path

import pytest
import torch

from heedful.models.hugging_face import frozen_states
from heedful.models.hugging_face.frozen_states import StateCache, cache_path

FILM, PLOT = ("the", "film"), ("plot",)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path))
    return tmp_path


def states(count):
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(count))


def test_what_is_stored_is_there_for_others():
    first, beside = StateCache("f"), StateCache("f")
    first.put({FILM: states(2), PLOT: states(1)})
    for known in (first, StateCache("f")):
        assert FILM in known and torch.equal(known.get(FILM), states(2)) and torch.equal(known.get(PLOT), states(1))
    assert beside.get(FILM) is None
    beside.refresh()
    assert torch.equal(beside.get(FILM), states(2))


def test_states_are_of_one_transformer_and_one_text():
    StateCache("f").put({FILM: states(2)})
    assert StateCache("g").get(FILM) is None
    assert StateCache("f").get(("the film",)) is None and StateCache("f").get(("film", "the")) is None


def test_a_damaged_file_is_left_aside(folder, caplog):
    StateCache("f").put({FILM: states(2)})
    (path,) = folder.rglob("*.safetensors")
    path.write_bytes(path.read_bytes()[:20])
    assert StateCache("f").get(FILM) is None
    assert "cannot be read and is left aside" in caplog.text


def test_a_disk_that_is_full_is_no_obstacle(monkeypatch, caplog, folder):
    monkeypatch.setattr(frozen_states.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    known = StateCache("f")
    with caplog.at_level(logging.WARNING):
        known.put({FILM: states(2)})
    assert known.get(FILM) is None and not list(folder.rglob("*.safetensors"))
    assert "states of 1 texts (0 MB) cannot be stored" in caplog.text and "HEEDFUL_CACHE" in caplog.text


def test_without_the_variable_it_is_the_user_s_cache(monkeypatch):
    monkeypatch.delenv("HEEDFUL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert cache_path() == Path("/some/cache/heedful")
