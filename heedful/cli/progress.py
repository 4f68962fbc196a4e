"""How far work is: a bar a job, and live counts of many runs; lines where there is no terminal.

The console is `output().progress`: stderr.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from heedful.formatting import format_seconds

if TYPE_CHECKING:
    from rich.console import Console

# How far work is, where there is no terminal: a line every ten seconds with n of N and the time left.

EVERY = 10.0
"""Seconds between two lines of one job."""


@dataclass
class _Job:
    description: str
    total: int | None
    completed: int = 0
    visible: bool = True
    began: float = 0.0


class ProgressLines:
    """Jobs and how far each is, with the methods of rich's Progress that we call.

    Args:
        every: seconds between two lines.
    """

    def __init__(self, console: "Console", every: float = EVERY, clock: Callable[[], float] = time.monotonic):
        self.console, self.every, self.clock = console, every, clock
        self._jobs: list[_Job] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._print_lines, daemon=True)

    def __enter__(self) -> "ProgressLines":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def add_task(self, description: str, total: int | None = None) -> int:
        """A new job; its number."""
        self._jobs.append(_Job(description, total, began=self.clock()))
        return len(self._jobs) - 1

    def update(
        self,
        task_id: int,
        *,
        description: str | None = None,
        completed: int | None = None,
        total: int | None = None,
        visible: bool | None = None,
    ) -> None:
        """Say how far the job is."""
        job = self._jobs[task_id]
        job.description = job.description if description is None else description
        job.completed = job.completed if completed is None else completed
        job.total = job.total if total is None else total
        job.visible = job.visible if visible is None else visible

    def advance(self, task_id: int) -> None:
        """One more is done."""
        self._jobs[task_id].completed += 1

    def lines(self) -> list[str]:
        """A line for each job under way."""
        return [self._line(job) for job in list(self._jobs) if job.visible and job.completed != job.total]

    def _line(self, job: _Job) -> str:
        if job.total is None:
            return job.description
        passed, share = self.clock() - job.began, job.completed / job.total
        left = f", about {format_seconds(passed / share - passed)} left" if share else ""
        return f"{job.description.strip()}: {job.completed:,} of {job.total:,}{left}"

    def _print_lines(self) -> None:
        while not self._stop.wait(self.every):
            for line in self.lines():
                self.console.print(line, markup=False, soft_wrap=True)


if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from heedful.jobs.executors import Progress as StepReport
    from heedful.jobs.executors import Step
    from heedful.jobs.running import Report, SweepStatus
    from heedful.training.trained import Progress

    class Bars(Protocol):
        """What is called of rich's Progress and of our lines."""

        def __enter__(self) -> "Bars": ...
        def __exit__(self, kind: Any, error: Any, trace: Any, /) -> None: ...
        def add_task(self, description: str, *, total: int | None = None) -> Any:
            """A new job; its number."""

        def update(
            self,
            task_id: Any,
            *,
            description: str | None = None,
            completed: int | None = None,
            total: int | None = None,
            visible: bool | None = None,
        ) -> None:
            """Say how far the job is."""

        def advance(self, task_id: Any) -> None:
            """One more is done."""


def progress_bar(console: "Console") -> "Bars":
    """Bars with a description, how many are done, and the time left; gone when their work is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if not console.is_terminal:
        return ProgressLines(console)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    return Progress(*columns, console=console, transient=True)


def training_reporter(bar: "Bars", name: str = "") -> "Callable[[Progress], None]":
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
        if progress.epoch == 0:
            label = f"{name}{progress.teacher and f'{progress.teacher}, '}reading the texts by the encoder"
            bar.update(task, description=label, completed=progress.batch, total=progress.batches)
            return
        done = (progress.epoch - 1) * progress.batches + progress.batch
        label = (
            f"{name}{progress.teacher and f'{progress.teacher}, '}epoch {progress.epoch} of {progress.epochs}  {last}"
        )
        bar.update(task, description=label, completed=done, total=progress.epochs * progress.batches)

    return report


@contextmanager
def live_counts(console: "Console", errors: dict[str, str], describe: Callable[[str], str]) -> "Iterator[Report]":
    """What to call with the status of a sweep: a live table of counts, and a line for each run that ended.

    Args:
        errors: filled as they come, so that Ctrl-C loses none.
        describe: from the key of what was done to what its line says.
    """
    with _live_status(console) as show:

        def report(status: "SweepStatus", key: str | None, error: str | None) -> None:
            if key is not None and error is not None:
                errors[key] = error
                console.print(f"failed {key}: {error}", markup=False, soft_wrap=True)
            elif key is not None:
                console.print(f"done   {describe(key)}", markup=False, soft_wrap=True)
            show(status)

        yield report


@contextmanager
def _live_status(console: "Console") -> "Iterator[Callable[[SweepStatus], None]]":
    """What to call with the status of a sweep: a live table of counts; on no terminal, lines."""
    from rich.live import Live

    began = time.perf_counter()
    if console.is_terminal:
        with Live(console=console, transient=True, refresh_per_second=2) as live:
            yield lambda status: live.update(_counts(status, began))
        return
    with ProgressLines(console) as lines:
        task = lines.add_task("runs")

        def show(status: "SweepStatus") -> None:
            waiting = bool(status.left) and not status.running
            ended = status.done + status.failed
            description = "runs (waiting for a worker)" if waiting else "runs"
            lines.update(task, description=description, completed=ended, total=ended + status.left)

        yield show


@contextmanager
def live_steps(console: "Console", names: Mapping[str, str]) -> "Iterator[tuple[Report, StepReport]]":
    """What to call with the status of a sweep, and with how far each worker is: a bar for all, and one for each job.

    Args:
        names: what each job is called, by its key.
    """
    with progress_bar(console) as bar:
        whole = bar.add_task("all", total=None)
        jobs: dict[str, Any] = {}

        def report(status: "SweepStatus", key: str | None, error: str | None) -> None:
            ended = status.cached + status.done + status.failed
            bar.update(whole, completed=ended, total=ended + status.left)
            if key in jobs:
                bar.update(jobs[key], visible=False)
            if error is not None:
                console.print(f"failed {names.get(key or '', key)}: {error}", markup=False)

        def progress(step: "Step") -> None:
            if step.key not in jobs:
                jobs[step.key] = bar.add_task("", total=step.total)
            label = f"{names.get(step.key.partition('/')[0], step.key)}: {step.what}"
            bar.update(jobs[step.key], description=label, completed=step.done, total=step.total)

        yield report, progress


def _counts(status: "SweepStatus", began: float) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from heedful.formatting import format_seconds

    passed, ended = time.perf_counter() - began, status.done + status.failed
    remaining = format_seconds(passed / ended * status.left) if ended else "-"
    table = Table(box=SIMPLE_HEAD)
    counts = {"cached": status.cached, "done": status.done, "failed": status.failed, "running": status.running}
    counts |= {"left": status.left, "so far": format_seconds(passed), "time left": remaining}
    for name in counts:
        table.add_column(name, justify="right")
    table.add_row(*map(str, counts.values()))
    if not status.running and status.left:
        table.caption = "waiting for a worker"
    return table
