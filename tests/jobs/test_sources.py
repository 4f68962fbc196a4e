"""The reader is told what a stored run makes Heedful read."""

import pytest

from heedful.data import DATASETS
from heedful.runs import sources
from heedful.runs.sources import recorded_source
from heedful.settings import DataSettings, Run


def announced(source: str) -> str | None:
    return recorded_source(Run(data=DataSettings(source=source)))


@pytest.mark.parametrize("name", DATASETS)
def test_generated_texts_are_read_from_nowhere(name):
    assert announced(name) is None


def test_a_file_is_announced_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert announced("../secret.csv") == (
        f"run.json names ../secret.csv: it is read from {tmp_path}/../secret.csv. To read other data, give DATA."
    )
    assert "/etc/passwd" in announced("hub:/etc/passwd") and "hub is asked" not in announced("hub:/etc/passwd")


def test_the_hub_and_named_sets_are_announced(monkeypatch):
    monkeypatch.setattr(sources, "named_sets", lambda: {"imdb": "films"})
    assert "the Hugging Face hub is asked" in announced("hub:someone/something")
    assert announced("imdb").startswith("run.json names the data set imdb: it is read from the data folder")
