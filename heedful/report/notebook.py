"""What a notebook shows of audits: a piece of HTML that stands alone, in light and in dark."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from heedful.errors import SettingError
from heedful.formatting import printable
from heedful.report import write_report
from heedful.report.answers import shown_answer
from heedful.report.audits import AuditFiles, short_name
from heedful.report.battery_lines import question_rows
from heedful.report.explanations import Token, audit_sentences, definitions
from heedful.report.explanations import printable as printable_rows
from heedful.report.heat_map import chosen_examples, example_data
from heedful.report.page import HERE, render_page, templates
from heedful.store.folders import files_in, reason, write_files
from heedful.verdict.answer_text import accuracy_text

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit
    from heedful.explaining.explanation import Explanation

STRONGEST = 0.55
"""Opacity of the color of the largest weight: black and white can both be read on it."""
HUE = "240, 130, 0"
MOST_TOKENS = 150
"""Words of a text that are shown; a page has all."""
PAGES = (".html", ".htm")


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
        color=_color,
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
    from heedful.store.store import save_audit

    with TemporaryDirectory() as parent:
        save_audit(audit, Path(parent) / "audit")
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


def _color(strength: float) -> str:
    """The color behind a word, as CSS has it.

    >>> _color(0.5)
    'rgba(240, 130, 0, 0.275)'
    """
    return f"rgba({HUE}, {round(STRONGEST * strength, 3):g})"


# What a notebook shows of explanations: a piece of HTML that stands alone, in light and in dark.

AGAINST = "40, 120, 220"
"""Red, green and blue behind words that oppose the prediction."""
MOST_TEXTS = 10
"""Explanations that are shown; their page has all."""


def explanations_in_notebook(explanations: "Sequence[Explanation]", notes: Sequence[str] = ()) -> str:
    """The outcome of each text with its heat maps and sentences, and what the model's audit says."""
    left_out = len(explanations) - MOST_TEXTS
    more = [f"{left_out} more on the page that `save` writes."] if left_out > 0 else []
    environment = templates(HERE)
    environment.filters |= {"printable": printable_rows, "color": _mixed_color}
    return environment.get_template("notebook_explanation.html").render(
        explanations=explanations[:MOST_TEXTS],
        rows=explanations,
        audit=audit_sentences(explanations[:MOST_TEXTS]),
        definitions=definitions(explanations),
        notes=[*notes, *more],
        most=MOST_TOKENS,
    )


def _mixed_color(token: Token) -> str:
    """The color behind a word, as CSS has it.

    >>> _mixed_color(Token("", "a", 0.5, "0.5", against=False, is_key=False, is_top=False))
    'rgba(240, 130, 0, 0.275)'
    """
    return f"rgba({AGAINST if token.against else HUE}, {round(STRONGEST * token.strength, 3):g})"
