"""One comparison of Heedful with another."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Milliseconds a text of ours and theirs; a note in the place of theirs where there is nothing to measure."""

    section: str
    question: str
    peer: str
    words: int
    ours: float
    theirs: float | None
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        theirs = "" if self.theirs is None else f"{self.theirs:.2f}"
        ratio = "" if self.theirs is None else f"{self.theirs / self.ours:.1f}"
        return self.question, self.peer, str(self.words), f"{self.ours:.2f}", theirs, ratio, self.note


HEADINGS = ("question", "beside", "words", "Heedful, ms a text", "theirs, ms a text", "ratio", "note")
