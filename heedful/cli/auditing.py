"""Audits made while bars show how far they are; and their output: files, and what is printed. Needs no torch."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import heedful
from heedful.cli import command_options
from heedful.cli.progress import show_jobs
from heedful.schema import Verdict, updated
from heedful.store.folders import CHECKSUMS, find_damage, sha256_of, write_checksums, write_file
from heedful.store.store import read_verdict_file

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.jobs.planning import Plan
    from heedful.report import AuditFiles
    from heedful.store.store import Store

DRAWN_TEXTS = 10_000
"""Texts whose rows are in memory for the report; of more, so many at random are drawn."""


def make_audits(console: "Console", plan: "Plan", store: "Store", **how: Any) -> None:
    """Do what is missing of a plan, while bars show how far it is.

    Args:
        how: device, workers and scheduler, as `heedful.jobs.running.carry_out` takes them.
    """
    if not plan.missing(store):
        return
    from heedful.jobs.running import carry_out, check_done

    try:
        with show_jobs(console, plan.names()) as (report, progress):
            check_done(carry_out(plan, store, **how, report=report, progress=progress))
    except KeyboardInterrupt:
        kept = len(list(store.audits.glob(".*.parts/*/SHA256SUMS")))
        if kept:
            console.print(f"{kept} parts of the audit are kept in {store.audits}/: the same command does the others.")
        raise


PAGE = "report.html"
WRITTEN = (PAGE, "rows.parquet", "outcomes.parquet", "verdict.json")


@dataclass(frozen=True)
class AuditOutput:
    """What an audit came to.

    Args:
        folders: the audit of each model; of several seeds together.
        verdicts: what each says.
    """

    page: Path
    folders: tuple[Path, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the reader calls the models."""
        from heedful.report.audits import distinct_names

        names = [verdict.model or verdict.run for verdict in self.verdicts]
        return distinct_names(names, [verdict.settings for verdict in self.verdicts]) if len(names) > 1 else (*names,)

    def audits(self) -> "list[AuditFiles]":
        """The tables of the audits, with the rows of so many texts in memory as are drawn."""
        from heedful.report import read_audit

        return [read_audit(folder, most=max(1, DRAWN_TEXTS // len(self.folders))) for folder in self.folders]


def write_answer(folders: Sequence[Path], out: Path, *, with_texts: bool = True) -> AuditOutput:
    """Write report.html, verdict.json, and the rows and outcomes of all models, unless they are there already.

    Args:
        folders: the audit of each model.
    """
    answer = AuditOutput(out / PAGE, tuple(folders), tuple(map(read_verdict_file, folders)))
    made_of = hashlib.sha256(
        "\n".join([_drawing_code(), str(with_texts), *(sha256_of(folder / CHECKSUMS) for folder in folders)]).encode()
    ).hexdigest()
    if find_damage(out, WRITTEN) is not None or made_of not in (out / PAGE).read_text(encoding="utf-8")[-200:]:
        _write_files(answer, made_of, with_texts)
    return answer


@cache
def _drawing_code() -> str:
    """Which Heedful draws: its version, and the state of the files that draw."""
    code = Path(heedful.__file__).parent
    files = sorted(path for folder in ("report", "verdict", "schema") for path in (code / folder).rglob("*.*"))
    states = (f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files if path.suffix != ".pyc")
    return " ".join([heedful.__version__, *states])


def print_answer(printed: "Output", answer: AuditOutput, *, with_details: bool = False) -> None:
    """The answer as the terminal, a script or a quiet reader gets it.

    Args:
        with_details: whether the tests that explain the answer are printed, too.
    """
    from heedful.cli.printed_audit import (
        asks_for_rankings,
        compare_models,
        print_details,
        print_models,
        print_rankings,
        print_verdict,
    )

    for note in dict.fromkeys(note for verdict in answer.verdicts for note in verdict.notes):
        printed.note(note)
    console = printed.console
    for number, (name, verdict) in enumerate(zip(answer.names, answer.verdicts, strict=True)):
        if number:
            console.print()
        print_verdict(console, verdict, name)
        if with_details or verdict.answer is None:
            print_details(console, verdict)
        if with_details or asks_for_rankings(verdict):
            print_rankings(console, verdict)
        if named := _explained_by(verdict):
            console.print(f'Explain a text: heedful explain "TEXT" --model {named}', markup=False, soft_wrap=True)
    if with_details and len(answer.verdicts) > 1:
        print_models(console, compare_models(answer.audits()))
    console.print(f"Report: {answer.page}", markup=False, soft_wrap=True)
    document = _whole_document(answer) if printed.as_json else {}
    printed.end({"report": str(answer.page), **document}, result="\n".join(map(_result, answer.verdicts)))


def _result(verdict: Verdict) -> str:
    """The answer in a line."""
    if (answer := verdict.answer) is None:
        return f"{len(verdict.lines)} tests, no answer"
    shown = answer.recommendation.sentence if answer.recommendation else ""
    return " ".join(part for part in (f"{answer.headline}.", answer.sentence, shown) if part)


def _explained_by(verdict: Verdict) -> str:
    """The options that name the audited model to `heedful explain`; empty for one of the user's own."""
    if "classifier" not in verdict.settings:
        return verdict.run if verdict.settings.get("run") else ""
    options = [quote(str(verdict.settings.get("model", "")).split(", ")[0])]
    usual = {"site": "last", "scope": "row"}
    options += [f"--{name} {verdict.settings[name]}" for name in usual if verdict.settings.get(name) != usual[name]]
    return " ".join(options)


def _write_files(answer: AuditOutput, made_of: str, with_texts: bool) -> None:
    import polars as pl

    from heedful.report import without_texts, write_report

    command, folder = command_options.command_line(), answer.page.parent
    audits = [replace(each, verdict=updated(each.verdict, command=command)) for each in answer.audits()]
    shown = audits if with_texts else [without_texts(each) for each in audits]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CHECKSUMS).unlink(missing_ok=True)
    rows = [each.rows.lazy() if each.stored is None else each.stored for each in shown]
    pl.concat(rows).sink_parquet(folder / "rows.parquet")
    pl.concat([each.outcomes for each in shown]).write_parquet(folder / "outcomes.parquet")
    write_file(folder / "verdict.json", json.dumps(_document([each.verdict for each in shown]), indent=2) + "\n")
    page = write_report(shown, answer.page)
    write_file(page, page.read_text(encoding="utf-8") + f"<!-- {made_of} -->\n")
    write_checksums(folder, WRITTEN)


def _document(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What verdict.json holds: the verdict, or those of several models."""
    content = [verdict.model_dump(mode="json") for verdict in verdicts]
    return content[0] if len(content) == 1 else {"audits": content}


def _whole_document(answer: AuditOutput) -> dict[str, Any]:
    """What verdict.json holds, with shares and outcomes of each model."""
    import polars as pl

    folder = answer.page.parent
    written = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    outcomes = pl.read_parquet(folder / "outcomes.parquet")
    for own, verdict in zip(written.get("audits", [written]), answer.verdicts, strict=True):
        runs = [training.run for training in verdict.trainings]
        own["shares"] = [share.model_dump(mode="json") for share in verdict.answer.shares] if verdict.answer else []
        own["outcomes"] = outcomes.filter(pl.col("run").is_in(runs)).to_dicts()
    return written
