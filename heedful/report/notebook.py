"""What a notebook shows of audits: a piece of HTML that stands alone, in light and in dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from heedful.errors import SettingError
from heedful.formatting import format_number, printable
from heedful.report import cases, write_report
from heedful.report.answers import question_rows
from heedful.report.audit_files import AuditFiles
from heedful.report.heatmap import example_data
from heedful.report.names import short_name
from heedful.report.page import HERE, render_page, templates
from heedful.runs.folders import files_in, reason, write_files
from heedful.verdict.headline import headline

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit

STRONGEST = 0.55
"""Opacity of the colour of the largest weight: black and white can both be read on it."""
FOR, AGAINST = "240, 130, 0", "40, 120, 220"
MOST_TOKENS = 150
"""Words of a text that are shown; a page has all."""
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


def audit_in_notebook(audit: "Audit") -> str:
    """The headline, the questions, and a few texts as heat maps."""
    files, verdict = audit_files(audit), audit.verdict
    examples = example_data([files], [files.name])
    chosen = cases.chosen_cases([files], examples) if examples["examples"] else []
    return _rendered(
        "notebook_audit.html",
        title=_title(audit),
        answer=headline(verdict),
        rows=question_rows([files]),
        readings=[_reading_of_case(case.title, reading) for case in chosen for reading in case.readings],
        item=verdict.item,
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
    return AuditFiles(audit.rows, audit.examples, audit.verdict, name, audit.dev)


def _rendered(template: str, **parts: Any) -> str:
    environment = templates(HERE)
    environment.filters["printable"] = printable
    return environment.get_template(template).render(**parts)


def _title(audit: "Audit") -> str:
    verdict = audit.verdict
    parts = [verdict.model or verdict.run, verdict.data, f"{verdict.texts:,} {verdict.split} texts"]
    if (accuracy := verdict.scores.get("accuracy")) is not None:
        parts.append(f"accuracy {format_number(accuracy, percent=True)}")
    return " · ".join(part for part in parts if part)


def _reading_of_case(title: str, reading: cases.Reading) -> Reading:
    maps = [
        _map(
            each.name, each.note, [(" ", token, token.weight) for token in each.tokens[:MOST_TOKENS]], len(each.tokens)
        )
        for each in reading.maps
    ]
    return Reading(title, f"The model {reading.note}", tuple(maps))


def _map(name: str, note: str, tokens: Sequence[tuple[str, cases.Token, float]], count: int) -> Map:
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
