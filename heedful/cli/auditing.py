"""Make audits with progress bars, write their files, print them, and compare models. Needs no torch."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from rich.text import Text

import heedful
from heedful.cli import command_options
from heedful.cli.output import make_table
from heedful.cli.progress import show_jobs
from heedful.errors import HeedfulError
from heedful.formatting import format_interval, format_number, format_seconds
from heedful.schema import Interval, Verdict, updated
from heedful.schema.rankings import ranking_title
from heedful.store.folders import CHECKSUMS, find_damage, sha256_of, write_checksums, write_file
from heedful.store.store import read_verdict_file
from heedful.verdict.answer_text import QUESTION

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.jobs.planning import Plan
    from heedful.report import AuditFiles
    from heedful.schema import AuditAnswer
    from heedful.store.store import Store
    from heedful.verdict.model_comparison import Comparison, Side

DRAWN_TEXTS = 10_000
"""Maximum number of texts whose rows the report keeps in memory; larger audits are sampled at random."""


def make_audits(console: "Console", plan: "Plan", store: "Store", **how: Any) -> None:
    """Do the missing jobs of a plan, with progress bars.

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


LONG = 10.0
"""Seconds from which an estimate is printed before the work."""


def print_estimate(
    console: "Console", plan: "Plan", store: "Store", *, quick_texts: int = 0, device: str = "cpu", workers: int | None
) -> None:
    """Print how long the missing jobs take, if that is long.

    Args:
        quick_texts: number of texts of `--quick`, if it is offered; 0: it is not.
    """
    from heedful.jobs.estimating import estimate

    try:
        known = estimate(plan, store, quick_texts=quick_texts or 1, device=device, workers=workers)
    except HeedfulError:  # the work itself says what is wrong, or does without what only the probe lacks
        return
    if known is None or known.seconds < LONG:
        return
    models = f"{known.models} model{'s' if known.models > 1 else ''}"
    quick = f"; --quick for {format_seconds(known.quick)}" if quick_texts and known.quick < 0.7 * known.seconds else ""
    line = f"about {format_seconds(known.seconds)}: {models}, {known.texts:,} texts{quick}"
    console.print(line, markup=False, soft_wrap=True)


PAGE = "report.html"
WRITTEN = (PAGE, "rows.parquet", "outcomes.parquet", "examples.parquet", "verdict.json")


@dataclass(frozen=True)
class AuditOutput:
    """The result of an audit.

    Args:
        folders: the audit of each model, of all its seeds together.
        verdicts: one per model.
    """

    page: Path
    folders: tuple[Path, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models for a reader."""
        return model_names(self.verdicts)

    def audits(self) -> "list[AuditFiles]":
        """Tables of the audits, with rows of at most DRAWN_TEXTS texts in memory."""
        from heedful.report import read_audit

        return [read_audit(folder, most=max(1, DRAWN_TEXTS // len(self.folders))) for folder in self.folders]


def model_names(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Distinct names of audited models for a reader."""
    from heedful.report.audits import distinct_names

    names = [verdict.model or verdict.run for verdict in verdicts]
    return distinct_names(names, [verdict.settings for verdict in verdicts]) if len(names) > 1 else (*names,)


def write_answer(folders: Sequence[Path], out: Path, *, with_texts: bool = True) -> AuditOutput:
    """Write report.html, verdict.json, and the rows, outcomes and examples of all models, unless they are there.

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
    from heedful.cli.printed_audit import asks_for_rankings, print_details, print_rankings, print_verdict

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
    """Options that name the audited model to `heedful explain`; empty for a custom model."""
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
    pl.concat([each.examples for each in shown]).write_parquet(folder / "examples.parquet")
    content = [each.verdict.model_dump(mode="json") for each in shown]
    document = content[0] if len(content) == 1 else {"audits": content}
    write_file(folder / "verdict.json", json.dumps(document, indent=2) + "\n")
    page = write_report(shown, answer.page)
    write_file(page, page.read_text(encoding="utf-8") + f"<!-- {made_of} -->\n")
    write_checksums(folder, WRITTEN)


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


# Models side by side, their answers and what every test measures: tables in the terminal, and a document.

FIRST, MODEL = 24, 17
"""Smallest width of the first column, and of each model; models that do not fit get another table."""
CHANGE_COLORS = {"better": "green", "worse": "red"}
COMPARISON_LEGEND = (
    "Prediction scores are means over seeds. Shares are of 100 texts. Under the value of each test: its 95% interval "
    "and, from the second model on, the difference from the first, marked better or worse for attention if it is "
    "significant."
)


@dataclass(frozen=True)
class ComparedModels:
    """Several audited models.

    Args:
        names: distinct names.
        notes: models whose audited texts differ from those of the first.
    """

    names: tuple[str, ...]
    audits: "tuple[AuditFiles, ...]"
    comparisons: "tuple[Comparison, ...]"
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The comparison as a JSON document."""
        fields = {"run", "data", "split", "texts", "scores", "answer"}
        models = [
            {"name": name, **audit.verdict.model_dump(mode="json", include=fields)}
            for name, audit in zip(self.names, self.audits, strict=True)
        ]
        questions = [
            {
                "name": each.name,
                "question": each.question,
                "group": each.group,
                "models": {name: _numbers(side) for name, side in zip(self.names, each.sides, strict=True)},
            }
            for each in self.comparisons
        ]
        return {"models": models, "questions": questions, "notes": list(self.notes)}

    def summary(self) -> str:
        """The answer of each model, a line each."""
        answers = zip(self.names, (audit.verdict.answer for audit in self.audits), strict=True)
        return "\n".join(f"{name}: {answer.headline if answer else 'no answer'}" for name, answer in answers)


def compare_models(audits: "Sequence[AuditFiles]") -> ComparedModels:
    """The models, their answers and tests, and notes if they cannot be compared per text."""
    from heedful.report.audits import by_training
    from heedful.verdict.model_comparison import are_same_texts, compare

    first = audits[0]
    names = model_names([audit.verdict for audit in audits])
    others = {
        name: audit
        for name, audit in zip(names[1:], audits[1:], strict=True)
        if not are_same_texts(first.verdict, first.rows, audit.verdict, audit.rows)
    }
    rows = {name: by_training(audit.rows) for name, audit in zip(names, audits, strict=True)}
    comparisons = compare(rows, first.verdict.item, on_other_texts=others)

    def texts(audit: "AuditFiles") -> str:
        verdict = audit.verdict
        return f"{verdict.texts:,} {verdict.split} texts{f' of {verdict.data}' if verdict.data else ''}"

    notes = [
        f"{name} was audited on other texts ({texts(audit)}) than {names[0]} ({texts(first)}): their values are "
        "listed, but no difference is computed. For that, audit both on the same data with the same --examples."
        for name, audit in others.items()
    ]
    return ComparedModels(names, tuple(audits), tuple(comparisons), tuple(notes))


def print_models(console: "Console", compared: ComparedModels) -> None:
    """Prediction scores, answers and tests, a column for each model, in as many tables as the width needs."""
    verdicts = [audit.verdict for audit in compared.audits]
    rows: list[tuple[Any, ...]] = []
    for metric in dict.fromkeys(name for verdict in verdicts for name in verdict.scores):
        known = (format_number(each.scores[metric]) if metric in each.scores else None for each in verdicts)
        rows.append((metric, *known))
    answers = [verdict.answer for verdict in verdicts]
    if any(answers):
        cells = [_answer_cells(answer) if answer else {} for answer in answers]
        rows.append((QUESTION,))
        rows += [(name, *(each.get(name) for each in cells)) for name in next(filter(None, cells))]
    for group, comparisons in groupby(compared.comparisons, key=lambda each: each.group):
        rows.append((group,))
        rows += [(each.question, *(side and _side(side) for side in each.sides)) for each in comparisons]
    headings = []
    for name, verdict in zip(compared.names, verdicts, strict=True):
        seeds = f"{len(verdict.trainings)} seeds" if len(verdict.trainings) > 1 else ""
        headings.append("\n".join(filter(None, (verdict.data, name, seeds))))
    most = max(1, (console.width - FIRST) // MODEL - 1)
    for start in range(1, max(2, len(headings)), most):  # the first model, and as many others as fit next to it
        places = [0, *range(start, min(start + most, len(headings)))]
        shown = [(row[0], *(row[1 + place] for place in places)) if len(row) > 1 else row for row in rows]
        known = [row for row in shown if len(row) == 1 or any(cell is not None for cell in row[1:])]
        filled = [[format_number(None) if cell is None else cell for cell in row] for row in known]
        console.print(make_table(("", *(headings[place] for place in places)), filled, text=range(len(places) + 1)))
    for note in compared.notes:
        console.print(note, style="yellow", markup=False)
    console.print(COMPARISON_LEGEND, style="dim", markup=False)


def _side(side: "Side") -> Text:
    """The value, its interval, and the difference from the first model, a line each."""
    lines = [Text(format_number(side.value.value))]
    if interval := format_interval(side.value.low, side.value.high):
        lines.append(Text(interval, "dim"))
    difference = side.difference_from_first
    if difference is not None and difference.value == difference.value:
        marked = f"{_signed(difference.value)} {side.change}".strip()
        lines.append(Text(marked, CHANGE_COLORS.get(side.change, "dim")))
    return Text("\n").join(lines)


def _answer_cells(answer: "AuditAnswer") -> dict[str, str | Text | None]:
    """Cells of a model's answer."""

    def per_100(share: "Interval | None") -> Text | None:
        if share is None or share.value is None:
            return None
        value, low, high = (f"{100 * (end or 0.0):.0f}" for end in (share.value, share.low, share.high))
        return Text.assemble(value, "\n", (f"{low} to {high}", "dim"))

    overall, shown = answer.overall, answer.recommendation
    return {
        "answer": answer.headline,
        "points to the key words": per_100(overall.shares.points),
        "the same, words replaced": per_100(overall.replaced and overall.replaced.points),
        "no small set decides": per_100(overall.shares.no_small_set),
        "moved information": per_100(answer.moved),
        "show": shown and (ranking_title(shown.ranking) if shown.show == "ranking" else shown.show),
    }


def _signed(difference: float) -> str:
    """A difference with its sign: two decimals, or the first digit that is not 0.

    >>> _signed(0.126), _signed(-0.0024), _signed(3e-9), _signed(0.0)
    ('+0.13', '-0.002', '+3e-09', '0')
    """
    return f"{difference:+.2f}" if abs(difference) >= 0.005 else f"{difference:+.1g}" if difference else "0"


def _numbers(side: "Side | None") -> dict[str, Any] | None:
    if side is None:
        return None
    own, apart = side.value, side.difference_from_first
    return {
        **{"value": own.value, "low": own.low, "high": own.high, "texts": own.n},
        "difference": apart and {"value": apart.value, "low": apart.low, "high": apart.high},
        "change": side.change,
    }
