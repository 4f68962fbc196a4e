import pytest

from heedful.attribution.recurrent_step import RecurrentStep


@pytest.fixture
def steps_read(monkeypatch):
    """How many steps all variants took together."""
    counted, original = [], RecurrentStep.apply

    def count(self, tokens, state, memory):
        counted.append(len(tokens))
        original(self, tokens, state, memory)

    monkeypatch.setattr(RecurrentStep, "apply", count)
    return counted
