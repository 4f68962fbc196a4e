"""Texts as a finished run reads them."""

from collections.abc import Sequence

import torch

from heedful.auditing.checked_trace import validate_trace
from heedful.auditing.explain import read_for_run, task_of
from heedful.auditing.subject import float64_eval_copy
from heedful.battery import Evidence
from heedful.battery.evidence import Context
from heedful.data.batching import collate, encode_split, to_device
from heedful.data.tokenizer import UNKNOWN
from heedful.errors import DataError
from heedful.models.linearity import validate_linearity
from heedful.models.trace import trace
from heedful.server.reading import ReadText, check_text, cut_to_length, written
from heedful.training.metrics import outputs
from heedful.training.trained import Trained
from heedful.types import Example, Model, Trace


class RunReader:
    """Reads texts with a copy of a run's model in float64, as an audit does.

    Args:
        reference: the run whose attention a model with frozen attention imposes.
    """

    def __init__(self, trained: Trained, *, device: str = "cpu", reference: Trained | None = None):
        self.trained, self.reference, self.device = trained, reference, torch.device(device)
        self.model: Model = float64_eval_copy(trained.model.to(self.device))
        vectors = trained.run.network.vectors or ""
        labels = tuple(map(written, trained.labels))
        self.context = Context(task_of(trained), labels, trained.words.words, vectors=vectors)
        self._is_validated = False

    @property
    def has_query(self) -> bool:
        """Whether it reads a query with each text."""
        return self.trained.model.query_encoder is not None

    def __call__(self, text: str, query: str = "") -> ReadText:
        """The text as the model reads it."""
        check_text(text, query, has_query=self.has_query)
        trained = self.trained
        _, every = trained.words.split(text)
        if not every:
            raise DataError("text must have a word at least; it has none that the model would read. Type one.")
        shown, notes = cut_to_length(text, every)
        example, described = read_for_run(trained, shown, query, 1)
        spans = trained.words.split(shown)[1][: len(example.tokens)]
        seen = self._trace(example)
        return ReadText(
            text=shown,
            query=query,
            words=tuple(shown[start:end] for start, end in spans),
            spans=spans,
            known=tuple(number != UNKNOWN for number in trained.words.ids(example.tokens)),
            items=_items(example),
            labels=described.items,
            evidence=Evidence(self.model, seen, self.context),
            notes=(*notes, *described.notes),
        )

    def _trace(self, example: Example) -> Trace:
        """What the model makes of the text; whether it is linear as it says is looked at the first time."""
        split, imposed = encode_split([example], self.trained.words), None
        if self.trained.run.network.attention == "frozen" and self.reference is not None:
            imposed = outputs(self.reference.model, encode_split([example], self.reference.words)).attention
        seen = validate_trace(trace(self.model, to_device(collate(split, [0], imposed), self.device)))
        if not self._is_validated:
            validate_linearity(self.model, seen)
            self._is_validated = True
        return seen


def _items(example: Example) -> tuple[tuple[int, ...], ...]:
    """The places of the words of each item."""
    starts: Sequence[int] = example.sentences or range(len(example.tokens))
    ends = (*starts[1:], len(example.tokens))
    return tuple(tuple(range(start, end)) for start, end in zip(starts, ends, strict=True))
