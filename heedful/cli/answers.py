"""The answer of `heedful audit`: its files, what it prints, and how it is read where it was kept. Imports no torch."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli import options
from heedful.cli.classifiers import explained_by
from heedful.cli.kept_answer import inputs_of, keep_answer, kept_answer
from heedful.cli.tables import ModelTable, compare_models
from heedful.schema import Verdict, updated

if TYPE_CHECKING:
    from heedful.cli.output import Output
    from heedful.report import AuditFiles


__all__ = ["AuditOutput", "inputs_of", "print_answer", "read_answer", "write_answer"]


@dataclass(frozen=True)
class AuditOutput:
    """What an audit came to.

    Args:
        names: what the reader calls the models.
        verdicts: of each model; of several seeds together.
        compared: the models side by side, where there are several.
        notes: what is printed before the answer.
    """

    page: Path
    names: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    compared: ModelTable | None
    notes: tuple[str, ...] = ()


def read_answer(out: Path, inputs: str | None) -> AuditOutput | None:
    """What was answered to these inputs before, where nothing has changed since; its files are in place."""
    if (kept := kept_answer(out, inputs)) is None:
        return None
    document = json.loads((out / "verdict.json").read_text(encoding="utf-8"))
    verdicts = tuple(map(Verdict.model_validate, document.get("audits", [document])))
    return AuditOutput(out / "report.html", kept.names, verdicts, kept.compared, kept.notes)


def write_answer(
    audits: "Sequence[AuditFiles]", out: Path, inputs: str | None, notes: Sequence[str], *, with_texts: bool = True
) -> AuditOutput:
    """Write report.html, and the rows and verdicts of all models, into a folder, and keep what is printed of them.

    Args:
        audits: as they were read; those of several seeds are pooled.
        inputs: all that decided them.
        notes: what was printed before.
    """
    from heedful.report import without_texts
    from heedful.report.pooled import pool_by_model

    command = options.command_line()
    models = [replace(each, verdict=updated(each.verdict, command=command)) for each in pool_by_model(audits)]
    compared = compare_models(models).table() if len(models) > 1 else None
    shown = models if with_texts else [without_texts(each) for each in models]
    _write_files(shown, out)
    names, places = tuple(each.name for each in models), [folder for each in models for folder in each.folders]
    keep_answer(out, inputs, places, {"names": names, "compared": compared, "notes": tuple(notes)})
    return AuditOutput(out / "report.html", names, tuple(each.verdict for each in shown), compared)


def print_answer(printed: "Output", answer: AuditOutput) -> None:
    """The answer as the terminal, a script or a quiet reader gets it."""
    from heedful.cli.verdicts import print_verdicts
    from heedful.verdict.headline import headline

    for note in dict.fromkeys((*answer.notes, *(note for verdict in answer.verdicts for note in verdict.notes))):
        printed.note(note)
    print_verdicts(printed.console, answer.verdicts, answer.compared)
    printed.console.print(f"report: {answer.page}", markup=False, soft_wrap=True)
    for name, verdict in zip(answer.names, answer.verdicts, strict=True):
        if named := explained_by(verdict):
            explaining = f'explain a text ({name}): heedful explain "TEXT" --model {named}'
            printed.console.print(explaining, markup=False, soft_wrap=True)
    answers = [headline(verdict) for verdict in answer.verdicts]
    result = "\n".join(f"{each.lead} {each.text} {each.advice}".strip() for each in answers)
    printed.end({"report": str(answer.page), **_document(answer.verdicts)}, result=result)


def _write_files(shown: "Sequence[AuditFiles]", folder: Path) -> None:
    import polars as pl

    from heedful.report import write_report

    folder.mkdir(parents=True, exist_ok=True)
    rows = [frame.lazy() for each in shown for frame in (each.rows if each.stored is None else each.stored, each.dev)]
    pl.concat(rows).sink_parquet(folder / "rows.parquet")
    document = json.dumps(_document([each.verdict for each in shown]), indent=2)
    (folder / "verdict.json").write_text(document + "\n", encoding="utf-8")
    write_report(shown, folder / "report.html")


def _document(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What verdict.json holds: the verdict, or those of several models."""
    content = [verdict.model_dump(mode="json") for verdict in verdicts]
    return content[0] if len(content) == 1 else {"audits": content}
