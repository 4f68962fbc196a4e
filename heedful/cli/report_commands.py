"""`heedful report` and `heedful compare`: finished audits shown again, and side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import command_options
from heedful.cli.output import output
from heedful.errors import SettingError

if TYPE_CHECKING:
    from heedful.report import AuditFiles

Audited = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="Keys of audited runs or of audits (their first characters will do), or folders of audits.",
        autocompletion=command_options.runs,
    ),
]


def report(
    names: Audited,
    audits: command_options.Audits = "audits",
    out: Annotated[str, typer.Option(help="Where to write the page.")] = "report/report.html",
    figures: Annotated[
        str | None, typer.Option(help="Write the figures as SVG and PNG into this folder instead.")
    ] = None,
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Leave out every text and word of the data, for confidential ones.")
    ] = False,
) -> None:
    """Print the answers of finished audits again and write their HTML page, or write their figures."""
    from heedful.cli.auditing import DRAWN_TEXTS
    from heedful.cli.printed_audit import print_verdict
    from heedful.report import without_texts, write_figures, write_report

    printed = output()
    _check_place(out, figures)
    chosen = _read(names, Path(audits), most=DRAWN_TEXTS)
    if no_texts:
        chosen = [without_texts(audit) for audit in chosen]
    if figures is None:
        page = write_report(chosen, out)
        for audit in chosen:
            print_verdict(printed.console, audit.verdict, audit.verdict.model or audit.name)
        printed.say(f"Report: {page}")
        printed.end({"report": str(page)}, result=str(page))
        return
    paths = [str(path) for path in write_figures(chosen, figures)]
    printed.say(*paths)
    printed.end({"figures": paths}, result="\n".join(paths))


def compare(
    names: Audited,
    audits: command_options.Audits = "audits",
    out: Annotated[str | None, typer.Option(help="Also write a page with all of them.")] = None,
) -> None:
    """Compare the answers and tests of two or more audited runs; those that differ only in the seed are one model."""
    if len(names) < 2:
        raise SettingError(f"compare takes two runs or more; it was given {len(names)}.")
    from heedful.cli.printed_audit import compare_models, print_models

    printed = output()
    if out is not None:
        _check_place(out, None)
    chosen = _read(names, Path(audits), fewest=2)
    compared = compare_models(chosen)
    print_models(printed.console, compared)
    document = compared.document()
    if out is not None:
        from heedful.report import write_report

        page = write_report(chosen, out)
        printed.say(f"Report: {page}")
        document["report"] = str(page)
    printed.end(document, result=compared.summary())


def _check_place(out: str, figures: str | None) -> None:
    """Refuse places that cannot be written before anything is drawn."""
    from heedful.store.folders import check_writable

    if figures is not None:
        check_writable(figures, "--figures")
    elif not out.strip() or Path(out).is_dir():
        raise SettingError(f"--out must be a file for the page, for example page.html; '{out}' is none.")
    else:
        check_writable(Path(out).parent, "--out")


def _read(names: list[str], folder: Path, *, fewest: int = 1, most: int | None = None) -> "list[AuditFiles]":
    """The audits of these runs, each once; a run that was audited with other seeds stands for all of them.

    Args:
        most: texts whose rows are in memory, of all audits together; None: all.
    """
    from heedful.report import read_audit
    from heedful.store.store import find_audit

    places = {place.resolve(): place for place in (find_audit(name, folder) for name in names)}
    if len(places) < fewest:
        raise SettingError(f"compare takes two runs or more; {' and '.join(names)} are one and the same audit.")
    each = None if most is None else max(1, most // len(places))
    return [read_audit(place, most=each) for place in places.values()]
