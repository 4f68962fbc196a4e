"""`heedful report` and `heedful compare`: finished audits shown again, and side by side."""

from dataclasses import dataclass
from pathlib import Path

from heedful.cli import command_options
from heedful.cli.command_options import argument, flag, option
from heedful.cli.output import output
from heedful.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class _AuditedOptions:
    names: list[str] = argument(
        "Keys of audited runs or of audits (a unique prefix is enough), or folders of audits.",
        "RUN...",
        autocompletion=command_options.runs,
    )
    audits: command_options.Audits = "audits"


@dataclass(frozen=True, kw_only=True)
class ReportOptions(_AuditedOptions):
    """The options of `heedful report`."""

    out: str | None = option("File of the page or card. Default: report/report.html, or report/card.md for a card.")
    card: bool = flag("Write a section for a model card instead: Markdown with model-index metadata.", "--card")
    figures: str | None = option("Write the figures as SVG and PNG into this folder instead.")
    no_texts: bool = flag("For confidential data: leave out every text and word.", "--no-texts")


@dataclass(frozen=True, kw_only=True)
class CompareOptions(_AuditedOptions):
    """The options of `heedful compare`."""

    out: str | None = option("Also write a page with all of them.")


def report(options: ReportOptions) -> None:
    """Print the answers of finished audits again and write their HTML page, their figures or a model card."""
    from heedful.cli.auditing import DRAWN_TEXTS
    from heedful.cli.printed_audit import print_verdict
    from heedful.report import read_audit, without_texts, write_figures, write_report
    from heedful.store.folders import check_writable

    printed, out = output(), options.out
    if out is None:
        out = "report/card.md" if options.card else "report/report.html"
    if options.card and (options.figures is not None or len(options.names) > 1):
        other = "more than one audit" if options.figures is None else "--figures"
        raise SettingError(f"--card cannot be combined with {other}. Remove one of them.")
    if options.figures is not None:
        check_writable(options.figures, "--figures")
    else:
        _check_page(out)
    places = _places(options)
    if options.card:
        path = _write_card(places[0], Path(out))
        printed.say(f"Model card: {path}")
        printed.end({"card": str(path)}, result=str(path))
        return
    audits = [read_audit(place, most=max(1, DRAWN_TEXTS // len(places))) for place in places]
    if options.no_texts:
        audits = [without_texts(audit) for audit in audits]
    if options.figures is not None:
        paths = [str(path) for path in write_figures(audits, options.figures)]
        printed.say(*paths)
        printed.end({"figures": paths}, result="\n".join(paths))
        return
    page = write_report(audits, out)
    for audit in audits:
        print_verdict(printed.console, audit.verdict, audit.verdict.model or audit.name)
    printed.say(f"Report: {page}")
    printed.end({"report": str(page)}, result=str(page))


def _write_card(place: Path, path: Path) -> Path:
    """Write the model card of an audit."""
    from heedful.report.model_card import model_card
    from heedful.store.folders import write_file
    from heedful.store.store import read_verdict_file

    verdict = read_verdict_file(place)
    if verdict.answer is None:
        raise SettingError(f"--card needs an answer; {place} has none. Audit again without --tests.")
    return write_file(path, model_card(verdict, verdict.answer))


def compare(options: CompareOptions) -> None:
    """Compare the answers and tests of two or more audited runs; those that differ only in the seed are one model."""
    names = options.names
    if len(names) < 2:
        raise SettingError(f"compare takes two runs or more; it was given {len(names)}.")
    from heedful.cli.auditing import compare_models, print_models
    from heedful.report import read_audit, write_report

    printed = output()
    if options.out is not None:
        _check_page(options.out)
    places = _places(options)
    if len(places) < 2:
        raise SettingError(f"compare takes two runs or more; {' and '.join(names)} are one and the same audit.")
    audits = [read_audit(place) for place in places]
    compared = compare_models(audits)
    print_models(printed.console, compared)
    document = compared.document()
    if options.out is not None:
        document["report"] = str(write_report(audits, options.out))
        printed.say(f"Report: {document['report']}")
    printed.end(document, result=compared.summary())


def _check_page(out: str) -> None:
    """Refuse a page that cannot be written before anything is drawn."""
    from heedful.store.folders import check_writable

    if not out.strip() or Path(out).is_dir():
        raise SettingError(f"--out must be a file, for example page.html; '{out}' is not a file.")
    check_writable(Path(out).parent, "--out")


def _places(options: _AuditedOptions) -> list[Path]:
    """The folders of the audits, each once; a run that was audited with other seeds stands for all of them."""
    from heedful.store.store import find_audit

    places = (find_audit(name, Path(options.audits)) for name in options.names)
    return list({place.resolve(): place for place in places}.values())
