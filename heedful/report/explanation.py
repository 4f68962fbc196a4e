"""Explanations of single predictions: as one self-contained page, in the terminal, as JSON. Needs no torch."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from heedful.auditing.explanation import Explanation, Guidance
from heedful.errors import SettingError
from heedful.report.explanation_rows import (
    Row,
    audit_sentences,
    badge,
    definitions,
    is_signed,
    key_mark,
    outcome_lines,
    prediction,
    printable,
    rows_of,
    sentences_of,
)
from heedful.report.page import HERE, templates

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.auditing.audit import Audit
    from heedful.auditing.explain import Texts
    from heedful.auditing.words import OwnWords
    from heedful.schema import Verdict
    from heedful.training.trained import Trained
    from heedful.types import Model


MOST_NAMED = 5
"""Outcomes that the representation lists."""


@dataclass(frozen=True, repr=False)
class Explanations:
    """Predictions of one model for one text or several, explained: like a list, and to be shown.

    Args:
        decisions: one explanation per text, at least one.
        facts: what the model is, by name.
        notes: what was left out.
    """

    decisions: tuple[Explanation, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.decisions)

    def __getitem__(self, place: int) -> Explanation:
        return self.decisions[place]

    @property
    def guidance(self) -> Guidance:
        """What the model's audit says about explaining its predictions."""
        return self.decisions[0].guidance

    def show(self, console: "Console | None" = None) -> None:
        """Print them in the terminal."""
        from rich.console import Console

        from heedful.report.explanation_terminal import show

        show(self.decisions, self.notes, console or Console(highlight=False))

    def _repr_html_(self) -> str:
        from heedful.report.explanation_notebook import explanations_in_notebook

        return explanations_in_notebook(self.decisions, self.notes)

    def __repr__(self) -> str:
        more = ", ..." if len(self) > MOST_NAMED else ""
        count = f"{len(self)} text{'' if len(self) == 1 else 's'}"
        outcomes = ", ".join(map(badge, self.decisions[:MOST_NAMED]))
        return f"Explanations({self.facts.get('Model', 'a model')}, {count}: {outcomes}{more})"

    def html(self) -> str:
        """The whole page. Every word that comes from a text is escaped; nothing in it runs, and it loads nothing."""
        environment = templates(HERE)
        environment.filters["printable"] = printable
        item, signed = self.decisions[0].item, is_signed(self.decisions)
        return environment.get_template("explanation.html").render(
            facts=list(self.facts.items()),
            readings=[_Reading.of(each) for each in self.decisions],
            audit=audit_sentences(self.decisions),
            signed=signed,
            marks=sorted({(key_mark(each, item), _is_loose(each)) for each in self.decisions if key_mark(each, item)}),
            item=item,
            definitions=definitions(self.decisions),
            notes=self.notes,
        )

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; its path."""
        path = Path(path)
        if not path.name or path.is_dir():
            raise SettingError(f"the page must be a file, for example page.html; '{path}' is a folder.")
        page, part = self.html(), path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(page, encoding="utf-8", newline="\n")
            part.replace(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise SettingError(f"the page cannot be written to {path}: {reason}. Choose another place.") from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return path

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data that JSON can hold; what is undefined is None."""
        texts = [{**asdict(each), "ranking": each.ranking, "sentences": outcome_lines(each)} for each in self.decisions]
        for text in texts:
            del text["guidance"]
        guidance = {**asdict(self.guidance), "sentences": audit_sentences(self.decisions)}
        return _plain({"facts": self.facts, "guidance": guidance, "notes": self.notes, "texts": texts})


@dataclass(frozen=True)
class _Reading:
    """A text as the page shows it."""

    explanation: Explanation
    outcome: tuple[str, ...]
    badge: str
    is_loose: bool
    prediction: str
    rows: list[Row]
    sentences: list[str]

    @classmethod
    def of(cls, explanation: Explanation) -> "_Reading":
        return cls(
            explanation=explanation,
            outcome=outcome_lines(explanation),
            badge=badge(explanation),
            is_loose=_is_loose(explanation),
            prediction=prediction(explanation),
            rows=rows_of(explanation),
            sentences=sentences_of(explanation),
        )


def _is_loose(explanation: Explanation) -> bool:
    """Whether no small set decides, so that the marked words are only those with the largest effect."""
    return explanation.outcome.outcome == "no_small_set"


def explain(
    model: "Trained | Model",
    texts: "Texts",
    *,
    audit: "Audit | Verdict | None" = None,
    words: "OwnWords | None" = None,
    labels: Sequence[str] = (),
    reference: "Trained | None" = None,
    device: str | None = None,
) -> Explanations:
    """The model's predictions for texts, explained: `.show()`, `.save("page.html")`, or take `[0]`.

    Args:
        model: a finished run, or any object with the protocol's verbs.
        texts: a text or a list of them for a finished run, (text, query) if it reads a query; a `Batch` or a list of
            them for a model of the user's own.
        audit: the model's audit, by whose settings texts are judged and which recommends the ranking to show.
        words: of a model of the user's own, as `heedful.audit` takes them.
        labels: names of its classes, if the audit has none.
        reference: the run whose attention a run with frozen attention imposes.
    """
    from heedful.auditing.explain import described_model, explain_texts

    decisions = explain_texts(model, texts, audit=audit, words=words, labels=labels, reference=reference, device=device)
    return Explanations(decisions, described_model(model, audit))


def _plain(value: Any) -> Any:
    """The value with lists for tuples, and None for undefined numbers."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
