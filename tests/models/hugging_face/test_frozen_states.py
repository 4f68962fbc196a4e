import logging
from copy import deepcopy
from pathlib import Path

import pytest
import torch

from heedful.errors import StoreError
from heedful.models.hugging_face import frozen_states as frozen
from heedful.models.hugging_face.frozen_states import (
    FEWEST,
    FrozenStates,
    StateCache,
    WordStates,
    cache_path,
    frozen_states,
)
from heedful.models.hugging_face.model_files import files_fingerprint
from heedful.models.hugging_face.pretrained_modules import piece_reader, pretrained_module

CPU = torch.device("cpu")
TEXTS = [("good", "film"), ("the", "unlikely", "plot"), ("bad",)]
MANY = [tuple("film" if number >> bit & 1 else "plot" for bit in range(6)) for number in range(FEWEST)]


@pytest.fixture
def reads(monkeypatch):
    """Notes how many texts are given to a transformer at a time."""
    counts, read = [], WordStates.of

    def counted(self, texts):
        counts.append(len(texts))
        return read(self, texts)

    monkeypatch.setattr(WordStates, "of", counted)
    return counts


def test_the_states_are_the_transformer_s(encoder):
    states = FrozenStates(encoder, files_fingerprint(encoder))
    for words, known in zip(TEXTS, states.of(TEXTS, CPU), strict=True):
        torch.testing.assert_close(known, states.reader.of([words])[0], rtol=0, atol=1e-5)


def test_what_was_read_is_not_read_again(encoder, reads):
    states = FrozenStates(encoder, files_fingerprint(encoder))
    first = states.of(TEXTS, CPU)
    assert reads == [3]
    assert all(map(torch.equal, states.of(TEXTS, CPU), first)) and reads == [3]


def test_what_is_read_in_advance_is_read_alone_and_stored(encoder, reads):
    fingerprint = files_fingerprint(encoder)
    first = FrozenStates(encoder, fingerprint)
    progress = []
    first.prepare([*MANY, *MANY, ()], CPU, lambda done, count: progress.append((done, count)))
    assert reads == [1] * FEWEST and progress[-1] == (FEWEST, FEWEST)
    other = FrozenStates(encoder, fingerprint)
    other.prepare(MANY, CPU)
    assert all(map(torch.equal, other.of(MANY, CPU), first.of(MANY, CPU))) and reads == [1] * FEWEST


def test_few_texts_are_kept_in_memory_alone(encoder, reads):
    states = FrozenStates(encoder, "")
    states.prepare(TEXTS, CPU)
    states.of(TEXTS, CPU)
    assert reads == [1, 1, 1] and not list(states.cache.folder.glob("*"))


def test_memory_is_bounded(encoder, monkeypatch):
    states = FrozenStates(encoder, "")
    one = max(each.nbytes for each in states.of(TEXTS, CPU))
    monkeypatch.setattr(frozen, "REMEMBERED", one)
    states = FrozenStates(encoder, "")
    states.of(TEXTS, CPU)
    assert sum(each.nbytes for each in states._recent.values()) <= one


def test_files_that_changed_are_refused_before_anything_is_read(encoder):
    states = FrozenStates(encoder, files_fingerprint(encoder))
    path = Path(encoder.removeprefix("hf:")) / "config.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(StoreError, match="files have changed since"):
        states.of(TEXTS, CPU)


def test_models_and_their_copies_share_it(encoder):
    assert frozen_states(encoder, "f") is frozen_states(encoder, "f") is deepcopy(frozen_states(encoder, "f"))
    assert frozen_states(encoder, "f") is not frozen_states(encoder, "g")


FILM, PLOT = ("the", "film"), ("plot",)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path))
    return tmp_path


def drawn(count):
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(count))


def test_what_is_stored_is_there_for_others():
    first, beside = StateCache("f"), StateCache("f")
    first.put({FILM: drawn(2), PLOT: drawn(1)})
    for known in (first, StateCache("f")):
        assert FILM in known and torch.equal(known.get(FILM), drawn(2)) and torch.equal(known.get(PLOT), drawn(1))
    assert beside.get(FILM) is None
    beside.refresh()
    assert torch.equal(beside.get(FILM), drawn(2))


def test_a_damaged_file_is_left_aside(folder, caplog):
    StateCache("f").put({FILM: drawn(2)})
    (path,) = folder.rglob("*.safetensors")
    path.write_bytes(path.read_bytes()[:20])
    assert StateCache("f").get(FILM) is None
    assert "cannot be read and is left aside" in caplog.text


def test_a_disk_that_is_full_is_no_obstacle(monkeypatch, caplog, folder):
    monkeypatch.setattr(frozen.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    known = StateCache("f")
    with caplog.at_level(logging.WARNING):
        known.put({FILM: drawn(2)})
    assert known.get(FILM) is None and not list(folder.rglob("*.safetensors"))
    assert "states of 1 texts (0 MB) cannot be stored" in caplog.text and "HEEDFUL_CACHE" in caplog.text


def test_without_the_variable_it_is_the_user_s_cache(monkeypatch):
    monkeypatch.delenv("HEEDFUL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert cache_path() == Path("/some/cache/heedful")


TEXT = ("the", "unlikely", "film")


def states(encoder):
    module = pretrained_module(encoder).double()
    return WordStates(module, piece_reader(encoder, module))


@torch.no_grad()
def test_the_state_of_a_word_is_the_mean_of_its_pieces(encoder):
    reader = states(encoder)
    (window,) = reader.reader.read(TEXT)
    pieces = reader.module(input_ids=torch.tensor([window.pieces])).last_hidden_state[0]
    expected = torch.stack([pieces[1], pieces[2:5].mean(0), pieces[5]])
    torch.testing.assert_close(reader.of([TEXT])[0], expected, rtol=0, atol=1e-12)


@torch.no_grad()
def test_what_is_read_beside_a_text_does_not_matter(encoder):
    reader = states(encoder)
    alone, beside = reader.of([TEXT])[0], reader.of([("good",) * 9, TEXT, ()])
    torch.testing.assert_close(beside[1], alone, rtol=0, atol=1e-12)
    assert [len(each) for each in beside] == [9, 3, 0]


@torch.no_grad()
def test_windows_are_read_one_by_one(encoder):
    reader = states(encoder)
    short = WordStates(reader.module, type(reader.reader)(reader.reader.tokenizer, 5))
    expected = torch.cat(reader.of([("good", "film", "is"), ("bad",)]))
    torch.testing.assert_close(short.of([("good", "film", "is", "bad")])[0], expected, rtol=0, atol=1e-12)
