"""The output of `heedful audit`: its files, and what it prints, also if they were kept. Imports no torch."""

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
    """Write report.html, verdict.json, and the rows and outcomes of all models, and keep what is printed of them.

    Args:
        audits: as they were read; those of several seeds are pooled.
        inputs: all that decided them.
        notes: what was printed before.
    """
    from heedful.report import without_texts
    from heedful.report.pooled import pool_by_model

    command = options.command_line()
    models = [replace(each, verdict=updated(each.verdict, command=command)) for each in pool_by_model(audits)]
    compared = compare_models(models) if len(models) > 1 else None
    shown = models if with_texts else [without_texts(each) for each in models]
    _write_files(shown, out)
    names = compared.names if compared else tuple(each.verdict.model or each.verdict.run for each in models)
    table, places = compared and compared.table(), [folder for each in models for folder in each.folders]
    keep_answer(out, inputs, places, {"names": names, "compared": table, "notes": tuple(notes)})
    return AuditOutput(out / "report.html", names, tuple(each.verdict for each in shown), table)


def print_answer(printed: "Output", answer: AuditOutput, *, with_details: bool = False) -> None:
    """The answer as the terminal, a script or a quiet reader gets it.

    Args:
        with_details: whether the tests that explain the answer are printed, too.
    """
    from heedful.cli.details import print_details
    from heedful.cli.rankings import asks_for_rankings, print_rankings
    from heedful.cli.tables import print_models
    from heedful.cli.verdict_lines import print_verdict

    for note in dict.fromkeys((*answer.notes, *(note for verdict in answer.verdicts for note in verdict.notes))):
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
        if named := explained_by(verdict):
            console.print(f'Explain a text: heedful explain "TEXT" --model {named}', markup=False, soft_wrap=True)
    if with_details and answer.compared is not None:
        print_models(console, answer.compared)
    console.print(f"Report: {answer.page}", markup=False, soft_wrap=True)
    document = _document(answer.verdicts, answer.page.parent) if printed.as_json else {}
    printed.end({"report": str(answer.page), **document}, result="\n".join(map(_result, answer.verdicts)))


def _result(verdict: Verdict) -> str:
    """The answer in a line."""
    if (answer := verdict.answer) is None:
        return f"{len(verdict.lines)} tests, no answer"
    shown = answer.recommendation.sentence if answer.recommendation else ""
    return " ".join(part for part in (f"{answer.headline}.", answer.sentence, shown) if part)


def _write_files(shown: "Sequence[AuditFiles]", folder: Path) -> None:
    import polars as pl

    from heedful.report import write_report

    folder.mkdir(parents=True, exist_ok=True)
    pl.concat([each.rows.lazy() if each.stored is None else each.stored for each in shown]).sink_parquet(
        folder / "rows.parquet"
    )
    pl.concat([each.outcomes for each in shown]).write_parquet(folder / "outcomes.parquet")
    document = json.dumps(_document([each.verdict for each in shown]), indent=2)
    (folder / "verdict.json").write_text(document + "\n", encoding="utf-8")
    write_report(shown, folder / "report.html")


def _document(verdicts: Sequence[Verdict], folder: Path | None = None) -> dict[str, Any]:
    """What verdict.json holds: the verdict, or those of several models.

    Args:
        folder: of outcomes.parquet, whose rows and shares are added.
    """
    content = [verdict.model_dump(mode="json") for verdict in verdicts]
    if folder is not None:
        import polars as pl

        outcomes = pl.read_parquet(folder / "outcomes.parquet")
        for own, verdict in zip(content, verdicts, strict=True):
            runs = [training.run for training in verdict.trainings]
            own["shares"] = [share.model_dump(mode="json") for share in verdict.answer.shares] if verdict.answer else []
            own["outcomes"] = outcomes.filter(pl.col("run").is_in(runs)).to_dicts()
    return content[0] if len(content) == 1 else {"audits": content}
