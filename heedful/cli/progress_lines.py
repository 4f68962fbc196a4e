"""How far work is, where there is no terminal: a line every ten seconds with n of N and the time left."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.formatting import format_seconds

if TYPE_CHECKING:
    from rich.console import Console

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
