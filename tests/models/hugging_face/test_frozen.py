from copy import deepcopy
from pathlib import Path

import pytest
import torch

from heedful.errors import StoreError
from heedful.models.hugging_face import frozen_states as frozen
from heedful.models.hugging_face.frozen_states import FEWEST, FrozenStates, WordStates, frozen_states
from heedful.models.hugging_face.model_files import files_fingerprint

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
