"""How far work is: a bar a job, and live counts of many runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.table import Table

    from heedful.runs.sweep import Report, Standing
    from heedful.training.trained import Progress


def progress_bar(console: "Console") -> "Bar":
    """Bars with a description, how many are done, and the time; gone when their work is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def reporter(bar: "Bar", name: str = "") -> "Callable[[Progress], None]":
    """What to call with the progress of training: a bar over batches, the last epoch's scores in front."""
    task = bar.add_task(f"{name}reading data", total=None)
    last = ""

    def report(progress: "Progress") -> None:
        nonlocal last
        if progress.scores is not None:
            last = "  ".join(
                f"{measure} {value:.3f}" for measure, value in progress.scores.items() if "macro" not in measure
            )
            return
        done = (progress.epoch - 1) * progress.batches + progress.batch
        label = f"{name}epoch {progress.epoch} of {progress.epochs}  {last}"
        bar.update(task, description=label, completed=done, total=progress.epochs * progress.batches)

    return report


@contextmanager
def live_counts(console: "Console", errors: dict[str, str], said: Callable[[str], str]) -> "Iterator[Report]":
    """What to call with the standing of a sweep: a live table of counts, and a line for each run that ended.

    Args:
        errors: filled as they come, so that Ctrl-C loses none.
        said: of the key of what was done, what the line says.
    """
    from rich.live import Live

    began = time.perf_counter()
    with Live(console=console, transient=True, refresh_per_second=2) as live:

        def report(standing: "Standing", key: str | None, error: str | None) -> None:
            if key is not None and error is not None:
                errors[key] = error
                console.print(f"failed {key}: {error}", markup=False)
            elif key is not None:
                console.print(f"done   {said(key)}", markup=False)
            live.update(_counts(standing, began))

        yield report


def _counts(standing: "Standing", began: float) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from heedful.runs.sweep import span

    passed, ended = time.perf_counter() - began, standing.done + standing.failed
    remaining = span(passed / ended * standing.left) if ended else "-"
    table = Table(box=SIMPLE_HEAD)
    cells = {"found": standing.found, "done": standing.done, "failed": standing.failed, "running": standing.running}
    cells |= {"left": standing.left, "so far": span(passed), "time left": remaining}
    for name in cells:
        table.add_column(name, justify="right")
    table.add_row(*map(str, cells.values()))
    if not standing.running and standing.left:
        table.caption = "waiting for a worker"
    return table


def cores() -> int:
    """How many processes this machine runs at a time."""
    from dask.system import CPU_COUNT

    return CPU_COUNT
