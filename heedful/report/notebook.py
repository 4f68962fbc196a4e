"""What a notebook shows of audits and of explanations: HTML that stands alone, in light and in dark."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from heedful.errors import SettingError
from heedful.report import write_report
from heedful.report.answers import question_rows
from heedful.report.audits import AuditFiles, short_name
from heedful.report.example_texts import chosen_texts, example_data
from heedful.report.explanations import rendered
from heedful.report.page import render_page, templates
from heedful.store.folders import files_in, write_files
from heedful.verdict.answer_text import accuracy_text

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit
    from heedful.explaining.explanation import Explanation

MOST_WORDS = 150
"""Words of a text that are shown; a page has all."""
MOST_TEXTS = 10
"""Explanations that are shown; their page has all."""
PAGES = (".html", ".htm")


def audit_in_notebook(audit: "Audit") -> str:
    """The answer, texts of each outcome, and the tests that explain it."""
    files, verdict = audit_files(audit), audit.verdict
    examples = example_data([files], [files.name])
    accuracy = accuracy_text(verdict)
    facts = (
        verdict.model or verdict.run,
        verdict.data,
        f"{verdict.texts:,} {verdict.split} texts",
        accuracy and f"accuracy {accuracy}",
    )
    page = templates().get_template("notebook_audit.html")
    return page.render(
        title=" · ".join(filter(None, facts)),
        verdict=verdict,
        chosen=chosen_texts([files], examples) if examples["examples"] else {},
        rows=question_rows([files]),
        most=MOST_WORDS,
    )


def explanations_in_notebook(explanations: "Sequence[Explanation]", notes: Sequence[str] = ()) -> str:
    """The outcome of each text with its heat maps and sentences, and what the model's audit says."""
    left_out = len(explanations) - MOST_TEXTS
    more = [f"{left_out} more on the page that `save` writes."] if left_out > 0 else []
    shown = explanations[:MOST_TEXTS]
    return rendered("notebook_explanation.html", shown, notes=[*notes, *more], most=MOST_WORDS)


def audit_page(audit: "Audit") -> str:
    """The audit's report: one self-contained HTML page."""
    return render_page([audit_files(audit)])


def save_audit_to(audit: "Audit", place: str | Path) -> Path:
    """Write the files of an audit into a folder, replacing an earlier audit; or its report, if it is an .html."""
    place = Path(place)
    is_page = place.suffix.lower() in PAGES
    if not place.name or (place.is_dir() if is_page else place.is_file()):
        raise SettingError(
            f"place must be a folder for the audit, or a file for its report that ends in .html; '{place}' is neither."
        )
    if is_page:
        return write_report([audit_files(audit)], place)
    from heedful.store.store import save_audit

    with TemporaryDirectory() as parent:
        save_audit(audit, Path(parent) / "audit")
        files = files_in(Path(parent) / "audit")
    write_files(files, place, replace=True)
    return place


def audit_files(audit: "Audit") -> AuditFiles:
    """The audit as the report reads it."""
    name = short_name(audit.verdict.settings, audit.verdict.model or audit.verdict.run)
    return AuditFiles(audit.rows, audit.examples, audit.verdict, name, audit.outcomes)
