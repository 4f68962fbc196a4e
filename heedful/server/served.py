"""A model that is served: read one text at a time, the last texts kept."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock, RLock

import torch

from heedful.auditing.guidance import settings_of
from heedful.errors import StoreError
from heedful.report.audit_files import AuditFiles
from heedful.server.model_info import ModelInfo
from heedful.server.reading import Reader, ReadText

MOST_TEXTS = 64
"""Texts that are kept for each model, the last that were read."""
MOST_WORDS_KEPT = 20_000
"""Words of all of these together."""

Marks = Mapping[tuple[str, str], tuple[int, ...]]
"""What people marked, by text and query."""


class ModelGone(StoreError):
    """The files of a served model are no longer there."""


class ServedModel:
    """A model, what is known of it, and the texts that it read last. Threads take turns.

    Args:
        audit: the model's audit; None where it has none.
        problem: why the model can no longer be served, as a sentence; empty where it can.
        most_texts: that are kept.
    """

    def __init__(
        self,
        info: ModelInfo,
        reader: Reader,
        *,
        audit: AuditFiles | None = None,
        marks: Marks | None = None,
        problem: Callable[[], str] = lambda: "",
        most_texts: int = MOST_TEXTS,
    ):
        self.info, self.audit = info, audit
        self.settings = settings_of(None if audit is None else audit.verdict)
        self._reader, self._marks, self._problem, self._most = reader, marks or {}, problem, most_texts
        self._turn, self._report_turn = RLock(), Lock()
        self._texts: OrderedDict[tuple[str, str], ReadText] = OrderedDict()
        self._report = ""

    @contextmanager
    def reading(self, text: str, query: str = "") -> Iterator[ReadText]:
        """The text as the model reads it, with the model to oneself."""
        self.check()
        with self._turn, torch.no_grad():
            yield self.read(text, query)

    def read(self, text: str, query: str = "") -> ReadText:
        """The text, found or read now; to be called in one's turn."""
        key = (text, query)
        if key in self._texts:
            self._texts.move_to_end(key)
            return self._texts[key]
        read = self._reader(text, query)
        if (marks := self._marks.get(key)) is not None:
            read = replace(read, marks=tuple(place for place in marks if place < len(read.words)))
        self._texts[key] = read
        while len(self._texts) > self._most or (self._words() > MOST_WORDS_KEPT and len(self._texts) > 1):
            self._texts.popitem(last=False)
        return read

    def check(self) -> None:
        """Refuse to go on where the model's files are gone."""
        if problem := self._problem():
            raise ModelGone(problem)

    def report(self) -> str:
        """The page of the model's audit, drawn when it is first asked for."""
        from heedful.report.page import render_page

        if self.audit is None:
            raise StoreError(f"model {self.info.id} has no audit, and so no report. Run `heedful audit` for it first.")
        with self._report_turn:
            self._report = self._report or render_page([self.audit])
            return self._report

    def _words(self) -> int:
        return sum(len(read.words) for read in self._texts.values())
