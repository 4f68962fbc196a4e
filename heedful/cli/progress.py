"""How far training and auditing are: one bar a job."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from heedful.training import Progress


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
