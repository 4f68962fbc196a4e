"""The records of a file and where in it each one is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Record = Mapping[str, object]


@dataclass(frozen=True)
class RecordFile:
    """The records of a file and where in it each one is.

    Args:
        name: the file, as messages call it.
        places: where each record is, for messages: "line 3", "row 7".
        lines: the line of each record where a line is a record (jsonl); otherwise empty.
    """

    name: str
    columns: tuple[str, ...]
    records: Sequence[Record]
    places: Sequence[str]
    notes: tuple[str, ...] = ()
    lines: Sequence[int] = ()

    @property
    def rows(self) -> Sequence[int]:
        """The number of each record as a person counts: its line in jsonl, otherwise from 1 after the header."""
        return self.lines or range(1, len(self.records) + 1)
