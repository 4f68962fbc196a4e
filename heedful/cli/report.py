"""`heedful report` and `heedful compare`: finished audits shown again, and side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.errors import SettingError

if TYPE_CHECKING:
    from heedful.report import AuditFiles

Audited = Annotated[list[str], typer.Argument(metavar="RUN...", help="Keys of audited runs, or folders of audits.")]


def report(
    names: Audited,
    audits: options.Audits = "audits",
    out: Annotated[str, typer.Option(help="Where to write the page.")] = "report/report.html",
    figures: Annotated[
        str | None, typer.Option(help="Write the figures as SVG and PNG into this folder instead.")
    ] = None,
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Leave out every text and word of the data, for confidential ones.")
    ] = False,
) -> None:
    """Write the HTML page of finished audits again, or their figures."""
    from heedful.report import without_texts, write_figures, write_report

    chosen = _pooled(names, Path(audits))
    if no_texts:
        chosen = [without_texts(audit) for audit in chosen]
    if figures is None:
        typer.echo(f"report: {write_report(chosen, out)}")
        return
    for path in write_figures(chosen, figures):
        typer.echo(str(path))


def compare(
    names: Audited,
    audits: options.Audits = "audits",
    out: Annotated[str | None, typer.Option(help="Also write a page with all of them.")] = None,
) -> None:
    """Put two or more audited runs side by side; those that differ in the seed alone count as one model."""
    if len(names) < 2:
        raise SettingError(f"compare takes two runs or more; it was given {len(names)}.")
    from rich.console import Console

    from heedful.cli.tables import print_comparison

    chosen = _pooled(names, Path(audits))
    print_comparison(Console(highlight=False), chosen)
    if out is not None:
        from heedful.report import write_report

        typer.echo(f"report: {write_report(chosen, out)}")


def _pooled(names: list[str], folder: Path) -> "list[AuditFiles]":
    """The audits of these runs, those that differ in the seed alone as one."""
    from heedful.report.pooled import pool_by_model

    return pool_by_model([find_audit(name, folder) for name in names])


def find_audit(name: str, folder: Path) -> "AuditFiles":
    """The audit in a folder of that name, or the newest one of the run with that key."""
    from heedful.report import read_audit

    if (Path(name) / "verdict.json").is_file():
        return read_audit(Path(name))
    if (folder / name / "verdict.json").is_file():
        return read_audit(folder / name)
    newest = sorted(folder.glob("*/verdict.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest:
        audit = read_audit(path.parent)
        if audit.verdict.run == name:
            return audit
    raise SettingError(f"no audit of '{name}' in {folder}/: run `heedful audit --model {name}` first.")
