"""Scores as Python gives them: a file's path, a data frame, a dict by text, or rows in the order of the texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from heedful.attribution.given import GivenScores, TextWords, match_scores
from heedful.attribution.score_records import TextScores, read_scores, scores_of_records
from heedful.data.sources.records import RecordFile, records_of_frame
from heedful.errors import DataError, SettingError
from heedful.settings.folder import user_path

KINDS = (
    "a path, a polars data frame, a dict from the id of a text to its scores, or a list or tensor with a row of scores "
    "for each text"
)
"""What scores may be given as."""


def given_scores(scores: object, texts: Sequence[TextWords], *, taken: Sequence[str] = ()) -> GivenScores:
    """The scores that Python gives by name, laid over the words of the texts.

    Args:
        scores: each a path, a polars data frame with the columns that a file of scores has, a dict from a text's id to
            a score for each of its words, or a list or tensor with a row for each text, in their order; what follows
            after a text's last word must be 0 or NaN.
        taken: names of other rankings.
    """
    if not isinstance(scores, Mapping) or not all(isinstance(name, str) for name in scores):
        raise SettingError(f"scores must be a dict from a name to {KINDS}; it is a {type(scores).__name__}.")
    gathered: list[TextScores] = []
    for name, value in scores.items():
        gathered += _named(name, value, texts)
    return match_scores(gathered, texts, taken=taken) if gathered else GivenScores()


def _named(name: str, value: object, texts: Sequence[TextWords]) -> list[TextScores]:
    if isinstance(value, str | Path):
        return _renamed(name, read_scores(user_path(str(value), f"scores['{name}']")))
    if hasattr(value, "to_dicts") and hasattr(value, "columns"):
        file = records_of_frame(f"scores['{name}']", value)  # pyright: ignore[reportArgumentType]
        return _renamed(name, scores_of_records(file, name))
    if isinstance(value, Mapping):
        rows = [(str(text), row) for text, row in value.items()]
    elif isinstance(value, Sequence) or hasattr(value, "tolist"):
        rows = _in_order(name, value, texts)
    else:
        raise SettingError(f"scores['{name}'] must be {KINDS}; it is a {type(value).__name__}.")
    records = [{"id": text, "scores": _listed(row)} for text, row in rows]
    places = [f"text {text!r:.40}" for text, _ in rows]
    return scores_of_records(RecordFile(f"scores['{name}']", ("id", "scores"), records, places), name)


def _in_order(name: str, value: object, texts: Sequence[TextWords]) -> list[tuple[str, list]]:
    """A row for each text without its padding."""
    rows = [_listed(row) for row in _listed(value)]
    if len(rows) != len(texts):
        raise DataError(
            f"scores['{name}'] must have a row for each of the {len(texts)} audited texts; it has {len(rows)}. Give a "
            "dict from the id of a text to its scores to leave some out."
        )
    return [(text.id, _unpadded(row, text.count)) for text, row in zip(texts, rows, strict=True)]


def _unpadded(row: list, count: int) -> list:
    """The row up to the text's last word, if nothing but 0 and NaN follows."""
    rest = row[count:]
    is_padding = all(isinstance(score, int | float) and (score == 0 or score != score) for score in rest)
    return row[:count] if is_padding else row


def _listed(value: object) -> list:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    listed = value.tolist() if hasattr(value, "tolist") else value  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise SettingError(
            f"scores of a text must be a list, an array or a tensor of numbers; they are {listed!r:.40}."
        )
    return list(listed)


def _renamed(name: str, scored: list[TextScores]) -> list[TextScores]:
    """The same under the name that Python gives, which a column of other names would contradict."""
    names = sorted({own.name for own in scored})
    if len(names) > 1:
        raise DataError(
            f"scores['{name}'] must hold scores of one name; it holds {', '.join(names)}. Give each under its own name."
        )
    return [TextScores(name, own.text, own.scores, own.where, own.place) for own in scored]
