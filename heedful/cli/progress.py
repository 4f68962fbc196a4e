"""Progress: bars on a terminal, and elsewhere a line per minute with n of N and the time left.

The console is `output().progress`: stderr.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from heedful.formatting import format_seconds

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.jobs.executors import Progress as StepReport
    from heedful.jobs.executors import Step
    from heedful.jobs.running import Report, SweepStatus
    from heedful.training import trained

EVERY = 60.0
"""Seconds between two lines off a terminal."""
MOST_NAMED = 3
"""Jobs in a line."""


class Bars(Progress):
    """A bar for each job, gone when the work is done; off a terminal one line for all.

    Args:
        every: seconds between two lines.
    """

    def __init__(self, console: "Console", every: float = EVERY, **options: Any):
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal, **options)
        self.every = every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._print_lines, daemon=True)

    def start(self) -> None:
        """Begin to show progress."""
        super().start()
        if self.disable:
            self._thread.start()

    def stop(self) -> None:
        """Stop showing progress."""
        if not self.disable:
            super().stop()
        elif self._thread.is_alive():
            self._ended.set()
            self._thread.join()

    def lines(self) -> list[str]:
        """A line for each running job."""
        lines = []
        for task in self.tasks:
            if not task.visible or task.completed == task.total:
                continue
            counted = left = ""
            if task.total is not None:
                counted = f": {task.completed:,.0f} of {task.total:,.0f}"
                passed, share = task.elapsed or 0.0, task.completed / task.total
                left = f", about {format_seconds(passed / share - passed)} left" if share else ""
            lines.append(f"{task.description.strip()}{counted}{left}")
        return lines

    def _print_lines(self) -> None:
        while not self._ended.wait(self.every):
            if lines := self.lines():
                self.console.print("; ".join(lines[:MOST_NAMED]), markup=False, soft_wrap=True)


def training_reporter(bars: Bars, name: str = "") -> "Callable[[trained.Progress], None]":
    """Reporter of training progress: a bar over batches, with the scores of the last epoch."""
    task = bars.add_task(f"{name}reading data", total=None)
    scores = ""

    def report(progress: "trained.Progress") -> None:
        nonlocal scores
        if progress.scores is not None:
            shown = {measure: value for measure, value in progress.scores.items() if "macro" not in measure}
            scores = "  ".join(f"{measure} {value:.3f}" for measure, value in shown.items())
            return
        if progress.epoch:
            what, epochs = f"epoch {progress.epoch} of {progress.epochs}  {scores}", progress.epochs
        else:
            what, epochs = "reading the texts by the encoder", 1
        whose = f"{name}{progress.teacher}, " if progress.teacher else name
        done = max(progress.epoch - 1, 0) * progress.batches + progress.batch
        bars.update(task, description=f"{whose}{what}", completed=done, total=epochs * progress.batches)

    return report


@contextmanager
def show_jobs(
    console: "Console",
    names: Mapping[str, str],
    errors: dict[str, str] | None = None,
    describe: Callable[[str], str] | None = None,
) -> "Iterator[tuple[Report, StepReport]]":
    """Reporters of finished jobs and of steps: a bar for all jobs, and one for each running job.

    Args:
        names: name of each job, by its key.
        errors: filled as they come, so that Ctrl-C loses none.
        describe: line for a finished job, from its key; None: no lines.
    """
    with Bars(console) as bars:
        whole = bars.add_task("all", total=None)
        tasks: dict[str, TaskID] = {}
        parts: dict[str, float] = {}
        jobs = ended = 0

        def show_whole(**shown: Any) -> None:
            done = 100 * (ended + sum(parts.values())) / max(1, jobs)
            bars.update(whole, completed=done, total=100, **shown)

        def report(status: "SweepStatus", key: str | None, error: str | None) -> None:
            nonlocal jobs, ended
            ended = status.done + status.failed
            jobs = ended + status.left
            parts.pop(key or "", None)
            failed = f", {status.failed:,} failed" if status.failed else ""
            waiting = " (waiting for a worker)" if status.left and not status.running else ""
            show_whole(description=f"all, in percent{failed}{waiting}")
            if key is None:
                return
            if key in tasks:
                bars.update(tasks[key], visible=False)
            if error is not None:
                if errors is not None:
                    errors[key] = error
                console.print(f"failed {names.get(key, key)}: {error}", markup=False, soft_wrap=True)
            elif describe is not None:
                console.print(f"done   {describe(key)}", markup=False, soft_wrap=True)

        def progress(step: "Step") -> None:
            if step.key not in tasks:
                tasks[step.key] = bars.add_task("", total=step.total)
            label = f"{names.get(step.key.partition('/')[0], step.key)}: {step.what}"
            bars.update(tasks[step.key], description=label, completed=step.done, total=step.total)
            parts[step.key] = step.done / max(1, step.total)
            show_whole()

        yield report, progress
