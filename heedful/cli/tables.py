"""Models side by side, their answers and what every test measures: a table in the terminal, and a document."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from heedful.formatting import format_interval, format_number
from heedful.verdict.answer_text import QUESTION
from heedful.verdict.ranking_names import ranking_title

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from heedful.report import AuditFiles
    from heedful.schema import AuditAnswer, Interval, Verdict
    from heedful.verdict.comparison import Comparison, Side

FIRST, MODEL = 24, 17
"""Smallest width of the first column, and of each model; models that do not fit get another table."""
COLORS = {"better": "green", "worse": "red"}
LEGEND = (
    "Prediction scores are means over seeds. Shares are of 100 texts. Under the value of each test: its 95% interval "
    "and, from the second model on, the difference from the first, marked better or worse for attention if it is "
    "significant."
)


class ModelTable(BaseModel):
    """Models side by side as the terminal shows them; cells are marked up for it.

    Args:
        rows: a name and a cell for each model, None if the model has no such cell; or a heading alone.
        notes: which models were audited on other texts than the first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    headings: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ComparedModels:
    """Several audited models.

    Args:
        names: what they are called, each differently.
        notes: which of them were audited on other texts than the first.
    """

    names: tuple[str, ...]
    audits: "tuple[AuditFiles, ...]"
    comparisons: "tuple[Comparison, ...]"
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        fields = {"run", "data", "split", "texts", "scores", "answer"}
        models = [
            {"name": name, **audit.verdict.model_dump(mode="json", include=fields)}
            for name, audit in zip(self.names, self.audits, strict=True)
        ]
        questions = [
            {
                "name": each.name,
                "question": each.question,
                "group": each.group,
                "models": {name: _numbers(side) for name, side in zip(self.names, each.sides, strict=True)},
            }
            for each in self.comparisons
        ]
        return {"models": models, "questions": questions, "notes": list(self.notes)}

    def table(self) -> ModelTable:
        """Prediction scores, answers and tests, a column per model, its seeds together."""
        from rich.markup import escape

        verdicts = [audit.verdict for audit in self.audits]
        rows: list[tuple[str | None, ...]] = []
        for metric in dict.fromkeys(name for verdict in verdicts for name in verdict.scores):
            known = (format_number(each.scores[metric]) if metric in each.scores else None for each in verdicts)
            rows.append((escape(metric), *known))
        answers = [verdict.answer for verdict in verdicts]
        if any(answers):
            rows.append((f"[bold]{QUESTION}[/bold]",))
            rows += [(name, *(answer and cell(answer) for answer in answers)) for name, cell in ANSWER.items()]
        group = None
        for comparison in self.comparisons:
            if comparison.group != group:
                group = comparison.group
                rows.append((f"[bold]{group}[/bold]",))
            rows.append((escape(comparison.question), *map(_side, comparison.sides)))
        headings = tuple(escape(_heading(name, each)) for name, each in zip(self.names, verdicts, strict=True))
        return ModelTable(headings=headings, rows=tuple(rows), notes=self.notes)

    def summary(self) -> str:
        """The answer of each model, a line each."""
        answers = [audit.verdict.answer for audit in self.audits]
        shown = [answer.headline if answer else "no answer" for answer in answers]
        return "\n".join(f"{name}: {answer}" for name, answer in zip(self.names, shown, strict=True))


def compare_models(audits: "Sequence[AuditFiles]") -> ComparedModels:
    """The models, their answers and tests, and what keeps them from being compared text by text."""
    from heedful.report.names import distinct_names
    from heedful.report.pooled import by_training
    from heedful.verdict.comparison import are_same_texts, compare

    first = audits[0]
    models = [audit.verdict.model or audit.verdict.run for audit in audits]
    names = distinct_names(models, [audit.verdict.settings for audit in audits])
    others = {
        name: audit
        for name, audit in zip(names[1:], audits[1:], strict=True)
        if not are_same_texts(first.verdict, first.rows, audit.verdict, audit.rows)
    }
    rows = {name: by_training(audit.rows) for name, audit in zip(names, audits, strict=True)}
    comparisons = compare(rows, first.verdict.item, on_other_texts=others)
    notes = [
        f"{name} was audited on other texts ({_texts(audit)}) than {names[0]} ({_texts(first)}): their values stand "
        "side by side, but no difference is taken. For that, audit both on the same data with the same --examples."
        for name, audit in others.items()
    ]
    return ComparedModels(names, tuple(audits), tuple(comparisons), tuple(notes))


def print_models(console: "Console", table: ModelTable) -> None:
    """The models side by side, in as many tables as the width needs, and how to read them."""
    for places in _fitting(len(table.headings), console.width):
        console.print(_table(table, places))
    for note in table.notes:
        console.print(note, style="yellow", markup=False)
    console.print(LEGEND, style="dim", markup=False)


def _fitting(models: int, width: int) -> Iterator[list[int]]:
    """The models of each table: the first, and as many of the others as fit beside it.

    >>> list(_fitting(1, 80)), list(_fitting(3, 80)), list(_fitting(5, 80))
    ([[0]], [[0, 1, 2]], [[0, 1, 2], [0, 3, 4]])
    """
    most = max(1, (width - FIRST) // MODEL - 1)
    for start in range(1, max(2, models), most):
        yield [0, *range(start, min(start + most, models))]


def _table(shown: ModelTable, places: Sequence[int]) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", min_width=FIRST - 3, overflow="fold")
    for place in places:
        table.add_column(shown.headings[place], overflow="fold")
    for question, *cells in shown.rows:
        chosen = [cells[place] for place in places] if cells else []
        if not cells:
            table.add_section()
        if not cells or chosen.count(None) < len(chosen):
            table.add_row(question, *(format_number(None) if cell is None else cell for cell in chosen))
    return table


def _heading(name: str, verdict: "Verdict") -> str:
    seeds = f"\n{len(verdict.trainings)} seeds" if len(verdict.trainings) > 1 else ""
    return f"{verdict.data}\n{name}{seeds}" if verdict.data else f"{name}{seeds}"


def _side(side: "Side | None") -> str:
    """The value, its interval, and the difference from the first model, a line each."""
    if side is None:
        return format_number(None)
    lines = [format_number(side.value.value)]
    if interval := format_interval(side.value.low, side.value.high):
        lines.append(f"[dim]{interval}[/dim]")
    difference = side.difference_from_first
    if difference is not None and difference.value == difference.value:
        marked = f"{_signed(difference.value)} {side.change}".strip()
        lines.append(f"[{COLORS[side.change]}]{marked}[/]" if side.change else f"[dim]{marked}[/dim]")
    return "\n".join(lines)


def _per_100(share: "Interval | None") -> str | None:
    if share is None or share.value is None:
        return None
    value, low, high = (f"{100 * (end or 0.0):.0f}" for end in (share.value, share.low, share.high))
    return f"{value}\n[dim]{low} to {high}[/dim]"


def _headline(answer: "AuditAnswer") -> str:
    from rich.markup import escape

    return escape(answer.headline)


def _shown(answer: "AuditAnswer") -> str | None:
    from rich.markup import escape

    recommended = answer.recommendation
    if recommended is None:
        return None
    return escape(ranking_title(recommended.ranking) if recommended.show == "ranking" else recommended.show)


ANSWER: "dict[str, Callable[[AuditAnswer], str | None]]" = {
    "answer": _headline,
    "points to the key words": lambda answer: _per_100(answer.overall.shares.points),
    "the same, words replaced": lambda answer: _per_100(answer.overall.replaced and answer.overall.replaced.points),
    "no small set decides": lambda answer: _per_100(answer.overall.shares.no_small_set),
    "moved information": lambda answer: _per_100(answer.moved),
    "show": _shown,
}
"""What is printed of each model's answer."""


def _signed(difference: float) -> str:
    """A difference with its sign: two decimals, or the first digit that is not 0.

    >>> _signed(0.126), _signed(-0.0024), _signed(3e-9), _signed(0.0)
    ('+0.13', '-0.002', '+3e-09', '0')
    """
    return f"{difference:+.2f}" if abs(difference) >= 0.005 else f"{difference:+.1g}" if difference else "0"


def _texts(audit: "AuditFiles") -> str:
    verdict = audit.verdict
    return f"{verdict.texts:,} {verdict.split} texts{f' of {verdict.data}' if verdict.data else ''}"


def _numbers(side: "Side | None") -> dict[str, Any] | None:
    if side is None:
        return None
    own, apart = side.value, side.difference_from_first
    difference = None if apart is None else {"value": apart.value, "low": apart.low, "high": apart.high}
    return {
        "value": own.value,
        "low": own.low,
        "high": own.high,
        "texts": own.n,
        "difference": difference,
        "change": side.change,
    }
