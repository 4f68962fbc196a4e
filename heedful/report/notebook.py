"""What a notebook shows of audits and explanations: a piece of HTML that stands alone, in light and in dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from heedful.errors import SettingError
from heedful.formatting import printable
from heedful.report import explanation_rows, write_report
from heedful.report.answers import shown_answer
from heedful.report.audit_files import AuditFiles
from heedful.report.battery import question_rows
from heedful.report.examples import chosen_examples
from heedful.report.heatmap import example_data
from heedful.report.names import short_name
from heedful.report.page import HERE, render_page, templates
from heedful.runs.folders import files_in, reason, write_files
from heedful.verdict.answer_text import accuracy_text

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit
    from heedful.auditing.explanation import Explanation

STRONGEST = 0.55
"""Opacity of the colour of the largest weight: black and white can both be read on it."""
FOR, AGAINST = "240, 130, 0", "40, 120, 220"
MOST_TOKENS = 150
"""Words of a text that are shown; a page has all."""
MOST_TEXTS = 10
"""Explanations that are shown; their page has all."""
PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Token:
    """A word, what stands before it, and the colour behind it."""

    before: str
    text: str
    value: str
    colour: str
    against: bool
    flips: bool


@dataclass(frozen=True)
class Map:
    """A row of weights over a text, of which some words may be left out at the end."""

    name: str
    note: str
    tokens: tuple[Token, ...]
    left_out: int


@dataclass(frozen=True)
class Reading:
    """A text as the model reads it."""

    title: str
    note: str
    maps: tuple[Map, ...]
    query: str = ""
    sentences: tuple[str, ...] = ()


def audit_in_notebook(audit: "Audit") -> str:
    """The answer, texts of each outcome, and the tests that explain it."""
    files, verdict = audit_files(audit), audit.verdict
    examples = example_data([files], [files.name])
    return _rendered(
        "notebook_audit.html",
        title=_title(audit),
        answer=shown_answer(verdict),
        groups=chosen_examples([files], examples) if examples["examples"] else [],
        rows=question_rows([files]),
        item=verdict.item,
        most_tokens=MOST_TOKENS,
        color=partial(_colour, against=False),
    )


def explanations_in_notebook(explanations: "Sequence[Explanation]", notes: Sequence[str] = ()) -> str:
    """What the audit says of such explanations, and each of them as heat maps and sentences."""
    left_out = len(explanations) - MOST_TEXTS
    more = [f"{left_out} more on the page that `save` writes."] if left_out > 0 else []
    return _rendered(
        "notebook_explanation.html",
        guidance=explanations[0].guidance,
        readings=[_reading_of(explanation) for explanation in explanations[:MOST_TEXTS]],
        definitions=explanation_rows.definitions(explanations),
        notes=[*notes, *more],
    )


def audit_page(audit: "Audit") -> str:
    """The audit's report: one self-contained HTML page."""
    return render_page([audit_files(audit)])


def save_audit_to(audit: "Audit", place: str | Path) -> Path:
    """Write the files of an audit into a folder, where an earlier audit makes way; or its report, if it is an .html."""
    place = Path(place)
    is_page = place.suffix.lower() in PAGES
    if not place.name or (place.is_dir() if is_page else place.is_file()):
        raise SettingError(
            f"place must be a folder for the audit, or a file for its report that ends in .html; '{place}' is neither."
        )
    if is_page:
        return _write_page(audit, place)
    from heedful.runs.audits import save_audit

    with TemporaryDirectory() as parent:
        save_audit(audit, Path(parent) / "audit", audit.verdict.command)
        files = files_in(Path(parent) / "audit")
    write_files(files, place, replace=True)
    return place


def _write_page(audit: "Audit", path: Path) -> Path:
    try:
        return write_report([audit_files(audit)], path)
    except OSError as error:
        raise SettingError(f"the report cannot be written to {path}: {reason(error)}. Choose another place.") from error


def audit_files(audit: "Audit") -> AuditFiles:
    """The audit as the report reads it."""
    name = short_name(audit.verdict.settings, audit.verdict.model or audit.verdict.run)
    return AuditFiles(audit.rows, audit.examples, audit.verdict, name, audit.outcomes)


def _rendered(template: str, **parts: Any) -> str:
    environment = templates(HERE)
    environment.filters["printable"] = printable
    return environment.get_template(template).render(**parts)


def _title(audit: "Audit") -> str:
    verdict = audit.verdict
    parts = [verdict.model or verdict.run, verdict.data, f"{verdict.texts:,} {verdict.split} texts"]
    if accuracy := accuracy_text(verdict):
        parts.append(f"accuracy {accuracy}")
    return " · ".join(part for part in parts if part)


def _reading_of(explanation: "Explanation") -> Reading:
    maps = [
        _map(row.name, row.note, [(token.before, token, token.strength) for token in row.tokens], len(row.tokens))
        for row in explanation_rows.rows_of(explanation)
    ]
    sentences = (*explanation_rows.sentences_of(explanation), *explanation.notes)
    probability = explanation_rows.prediction(explanation)
    return Reading(explanation.predicted, probability, tuple(maps), explanation.query, sentences)


def _map(name: str, note: str, tokens: Sequence[tuple[str, explanation_rows.Token, float]], count: int) -> Map:
    """The row, each token given by what stands before it, itself, and how strong its colour is."""
    shown = [
        Token(before, token.text, token.value, _colour(strength, against=token.against), token.against, token.flips)
        for before, token, strength in tokens[:MOST_TOKENS]
    ]
    return Map(name, note, tuple(shown), count - len(shown))


def _colour(strength: float, *, against: bool) -> str:
    """The colour behind a word, as CSS has it.

    >>> _colour(0.5, against=False)
    'rgba(240, 130, 0, 0.275)'
    """
    return f"rgba({AGAINST if against else FOR}, {round(STRONGEST * strength, 3):g})"
