"""Texts as Jain and Wallace prepared them, and after them Wiegreffe and Pinter, Amini and Kosseim."""

from heedful.settings import DataSettings, NetworkSettings, TextSettings
from heedful.studies.pinned import NORMAL_START

LONGER_THAN = {"sst2": 5, "imdb": 6, "newsgroups_sports": 6}
"""Their strict lower bounds on the length of a text."""

TRAIN_LIMIT = {"small": 2_000, "medium": 3_000, "paper": None}
MOST_WORDS = {"small": 100, "medium": 120, "paper": None}

VECTORS = NetworkSettings(vectors="glove_6b_100d", missing="zero", **NORMAL_START)
"""Words without a vector start at zero, as in their code."""


def data_of(source: str, scale: str) -> DataSettings:
    """The set; below the paper's scale a sample, for IMDB from the small copy, which is faster to read."""
    full = scale == "paper"
    name = "imdb_small" if source == "imdb" and not full else source
    return DataSettings(source=name, train_limit=TRAIN_LIMIT[scale], test_limit=None if full else 1_000)


def text_of(source: str, scale: str) -> TextSettings:
    """Words without punctuation, between a start and an end symbol; long texts are cut below the paper's scale."""
    return TextSettings(
        words="alphanumeric",
        start_end=True,
        longer_than=LONGER_THAN.get(source),
        shorter_than=500 if source == "newsgroups_sports" and scale == "paper" else None,
        max_tokens=MOST_WORDS[scale],
    )
