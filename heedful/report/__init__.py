"""From an audit's files to one self-contained HTML page, and to figures as SVG and PNG. Needs no torch.

Reading an audit's files imports no plotting library.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.errors import SettingError
from heedful.report.audits import AuditFiles, read_audit, without_texts
from heedful.store.folders import write_file

if TYPE_CHECKING:
    from heedful.report.figure import Figure

__all__ = ["AuditFiles", "read_audit", "without_texts", "write_figures", "write_report"]

FORMATS = ("svg", "png")


def write_report(audits: Sequence[AuditFiles], path: str | Path, *, figures: "Sequence[Figure]" = ()) -> Path:
    """Write one HTML file about one audit, or several side by side, whole or not at all; its path.

    Args:
        figures: further ones, which come before those of the audits.
    """
    from heedful.report.page import render_page

    _check_some(audits)
    return write_file(Path(path), render_page(audits, figures))


def write_figures(audits: Sequence[AuditFiles], folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every figure of the report as a file of each format (svg, png); the paths that were written."""
    from heedful.report.figure import to_png, to_svg
    from heedful.report.figures import draw_figures
    from heedful.report.texts import gather_texts

    _check_some(audits)
    wrong = [name for name in formats if name not in FORMATS]
    if wrong:
        raise SettingError(f"formats must be among {', '.join(FORMATS)}; got '{wrong[0]}'.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in draw_figures(gather_texts(audits)):
        for name in formats:
            path = folder / f"{figure.name}.{name}"
            path.write_bytes(to_png(figure) if name == "png" else to_svg(figure).encode())
            written.append(path)
    return written


def _check_some(audits: Sequence[AuditFiles]) -> None:
    if not audits:
        raise SettingError("audits must name one audit at least; there is none. Run `heedful audit` first.")
