"""`heedful improve`: from a finished run to one whose attention points more often, at no cost in accuracy."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli import command_options
from heedful.cli.command_options import argument, open_store, option
from heedful.cli.output import as_json, make_table, output
from heedful.errors import SettingError
from heedful.formatting import format_estimate, format_interval, format_number

if TYPE_CHECKING:
    from heedful.cli.output import Output
    from heedful.jobs.improving import Improvement, MethodScores
    from heedful.jobs.planning import Plan


@dataclass(frozen=True, kw_only=True)
class ImproveOptions(command_options.FolderOptions):
    """The options of `heedful improve`."""

    key: str = argument("A finished run: its key or a unique prefix.", "KEY", autocompletion=command_options.runs)
    max_accuracy_drop: float = option(
        "Percentage points of accuracy that may be lost, measured on dev texts.", default=0.5, min=0.0, max=100.0
    )
    examples: int | None = option("Dev texts that judge each method, at most. Default: 400.", min=20)
    out: str = option("Folder for report.html, with before and after, and for improvement.json.", default="report")


OWN_DATA = "To train on other data, train a run on them first: heedful train DATA."
LEGEND = (
    "Points: share of all dev texts in which attention points to the key words; texts in which no small set of words "
    "decides count against a method. * chosen."
)


def improve(options: ImproveOptions) -> None:
    """Search for training that makes a finished run's attention point more often; print before and after.

    Training methods are judged on dev texts. The best one is tested on test texts, with seeds that had no part in the
    choice. Finished work is stored: the same command continues after an interruption.
    """
    from heedful.jobs.improving import improve as search
    from heedful.store.store import answers_by_run
    from heedful.subjects.opening import find_model, recorded_source, store_of

    printed, store, key = output(), open_store(options, "runs", "audits", "out"), options.key
    known = find_model(key, store)
    if known.kind == "classifier":
        raise SettingError(
            f"KEY must name a finished run; '{key}' is a Hugging Face model, whose own attention the recipe does not "
            f"train. Train an attention of ours over its encoder: heedful train DATA --encoder hf:{key}."
        )
    if known.kind == "custom":
        raise SettingError(f"KEY must name a finished run; '{key}' is your own model, which Heedful does not train.")
    run = store_of(known).read(known.name).run
    if answers_by_run(store.audits).get(known.name) == "Yes":
        printed.say("The audit of this run already answers Yes: its attention can be shown as an explanation.")
    if note := recorded_source(run, OWN_DATA):
        printed.note(note)

    def carry_out(plan: "Plan", purpose: str) -> None:
        from heedful.cli.auditing import make_audits

        printed.progress.print(f"{purpose}: {len(plan.audits)} runs", markup=False, soft_wrap=True)
        make_audits(printed.progress, plan, store, device=options.device)

    most_lost = options.max_accuracy_drop / 100
    reached = search(run, store, carry_out, max_accuracy_drop=most_lost, texts=options.examples)
    _print(printed, reached, Path(options.out), most_lost)


def _print(printed: "Output", reached: "Improvement", folder: Path, max_accuracy_drop: float) -> None:
    from heedful.cli.auditing import compare_models, print_models

    methods = (reached.own_way, *reached.others)
    rows = [
        (f"{method.name} *" if method.name == reached.chosen.name else method.name, *_numbers(method))
        for method in methods
    ]
    headings = ("", "accuracy", "lost", "points (95%)")
    printed.console.print(make_table(headings, rows, title="Training methods, on dev texts"))
    printed.console.print(LEGEND, style="dim", markup=False)
    tested = reached.tested
    judged = {"dev": methods, "test": () if tested is None else (tested.own_way, tested.chosen)}
    document: dict[str, Any] = {"key": reached.key, "chosen": reached.chosen.name}
    document |= {split: [each.model_dump() for each in own] for split, own in judged.items()}
    if tested is None:
        from heedful.jobs.improving import refusal

        lost = f"{100 * max_accuracy_drop:g} percentage points of accuracy"
        printed.say(f"No method is better than the run's own within {lost}.")
        better = [method for method in reached.others if method.points > reached.own_way.points]
        printed.say(*(f"{method.name} {refusal(method, max_accuracy_drop)}." for method in better))
    else:
        compared = compare_models([tested.before, tested.after])
        printed.console.print("\nBefore and after, on test texts, from seeds that had no part in the choice:\n")
        print_models(printed.console, compared)
        document["comparison"] = compared.document()
    from heedful.store.folders import write_file

    write_file(folder / "improvement.json", as_json(document) + "\n")
    if tested is not None:
        from heedful.jobs.improving import frontier
        from heedful.report import write_report
        from heedful.report.figures.other_figures import frontier_figure

        best = frontier(methods)
        figure = frontier_figure(reached.own_way, reached.others, reached.chosen, best, max_accuracy_drop)
        shown = [replace(tested.before, name="before"), replace(tested.after, name="after")]
        page = write_report(shown, folder / "report.html", figures=[figure])
        own, chosen = tested.own_way, tested.chosen
        interval = format_interval(100 * chosen.lost_low, 100 * chosen.lost_high)
        printed.say(
            f"{chosen.name}: attention points in {format_number(own.points)} of all test texts before, in "
            f"{format_number(chosen.points)} after; accuracy lost: {100 * chosen.lost:.1f} percentage points "
            f"(95% interval {interval}).",
            f"kept: run {reached.key}. Audit or explain it: heedful audit --model {reached.key}",
            f"report: {page}",
        )
        document["report"] = str(page)
    printed.end(document, result=reached.key)


def _numbers(method: "MethodScores") -> tuple[str, ...]:
    lost = "" if method.lost_low == method.lost_high else f"{100 * method.lost:.1f}"
    return format_number(method.accuracy), lost, format_estimate(method.points, method.points_low, method.points_high)
