"""Many runs: those not yet in the store are done by a Dask cluster and stored as they arrive; all end in one table."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import dask.config
import polars as pl
from distributed import Client, Future, as_completed, get_worker
from distributed.scheduler import KilledWorker

from heedful.errors import HeedfulError
from heedful.runs.store import RunFile, Store
from heedful.runs.worker import Files, Inspection, files_of, inspect, keep, work
from heedful.settings import Run


@dataclass(frozen=True)
class Standing:
    """Where a sweep stands, told at its start and after every run."""

    found: int
    done: int
    failed: int
    running: int
    left: int
    """Not yet done, those running included."""


Report = Callable[[Standing, str | None, str | None], None]
"""Called with the standing, the key of the run that just ended (None at the start), and why it failed if it did."""


@dataclass(frozen=True)
class Task:
    """What a worker is asked to do: train a run, or audit one that is trained; the answer is the files of a folder.

    Args:
        place: the folder that the answer is stored as.
        needs: keys of the runs whose files it takes.
        settings: what to do, as JSON: a Run, or an `engine.Inspection`.
    """

    place: Path
    needs: tuple[str, ...]
    function: Callable[..., Files]
    settings: str


def tasks_of(
    runs: Mapping[str, Run], store: Store, audits: Mapping[str, Inspection] | None = None, folder: Path | None = None
) -> dict[str, Task]:
    """All that must be there in the end, by key: the runs, and the audits in their own folder."""
    tasks = {
        key: Task(store.folder / key, (run.reference,) if run.reference else (), _train, run.model_dump_json())
        for key, run in runs.items()
    }
    for key, one in (audits or {}).items():
        base = (runs[one.run] if one.run in runs else store.read(one.run).run).reference
        needs = dict.fromkeys((*one.needs, *((base,) if base else ())))
        tasks[key] = Task((folder or Path("audits")) / key, tuple(needs), _inspect, one.model_dump_json())
    return tasks


def sweep(
    runs: Mapping[str, Run],
    store: Store,
    client: Client,
    *,
    audits: Mapping[str, Inspection] | None = None,
    folder: Path | None = None,
    device: str = "cpu",
    report: Report | None = None,
) -> dict[str, str]:
    """Do the runs (and audits of runs) that are not there and store each as it arrives; why others failed, by key.

    A run that raises is not tried again in this call; one whose worker died is, by another worker. Whatever ends this
    function early (Ctrl-C, a lost connection) stops what is running, and what was stored stays.

    Args:
        runs: by key, as `plan.prepare` makes them.
        audits: by key, as `engine.audit_key` makes them; each is done once its runs are.
        folder: where audits are stored; `audits` by default.
    """
    going = _Sweep(tasks_of(runs, store, audits, folder), store, client, device)
    told = report or (lambda standing, key, error: None)
    try:
        going.start()
        told(going.standing(), None, None)
        for future in going.arriving:
            ended = going.finish(future)
            going.start()
            for key in ended:
                told(going.standing(), key, going.errors.get(key))
    finally:
        client.cancel(list(going.under_way), force=True)
    return going.errors


class _Sweep:
    """What is waiting, under way, done and failed."""

    def __init__(self, tasks: Mapping[str, Task], store: Store, client: Client, device: str):
        self.tasks, self.store, self.client, self.device = tasks, store, client, device
        self.arriving = as_completed(loop=client.loop)
        self.under_way: dict[Future, str] = {}
        self.errors: dict[str, str] = {}
        self.ready: deque[str] = deque()
        self.followers: dict[str, list[str]] = defaultdict(list)
        self.waits_for: dict[str, set[str]] = {}
        missing = [key for key, task in tasks.items() if not task.place.is_dir()]
        self.found, self.done, self.left = len(tasks) - len(missing), 0, len(missing)
        for key in missing:
            self.waits_for[key] = set(tasks[key].needs) & set(missing)
            for base in self.waits_for[key]:
                self.followers[base].append(key)
            if not self.waits_for[key]:
                self.ready.append(key)

    def start(self) -> None:
        """Submit what is ready, but never so much that the models it refers to would fill the scheduler's memory."""
        room = max(64, 4 * self.threads()) - len(self.under_way)
        bases: dict[str, Future] = {}
        while self.ready and room > 0:
            key, room = self.ready.popleft(), room - 1
            task = self.tasks[key]
            for base in task.needs:
                if base not in bases:
                    bases[base] = self.submit(_given, files_of(base, self.store))
            needed = [bases[base] for base in task.needs]
            future = self.submit(task.function, task.settings, key, self.device, task.needs, *needed)
            self.under_way[future] = key
            self.arriving.add(future)

    def submit(self, function: Callable[..., Files], *arguments: Any) -> Future:
        """Send a task: in Dask's terms impure, so that what failed before is tried anew.

        Audits, and what they need, go first: a worker has their data at hand from the run before.
        """
        # A base run's files are sent along on purpose: a dead worker then loses nothing that must be trained again.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, pure=False, priority=int(function is not _train))

    def finish(self, future: Future) -> list[str]:
        """Store what arrived, or note why it failed; the key of that task, and of those that can not be done now."""
        key = self.under_way[future]
        files = self.received(future)
        del self.under_way[future]
        future.release()
        if isinstance(files, str):
            return self.fail(key, files)
        keep(files, self.tasks[key].place)
        self.done, self.left = self.done + 1, self.left - 1
        for follower in reversed(self.followers.pop(key, [])):
            self.waits_for[follower].discard(key)
            if not self.waits_for[follower] and follower not in self.errors:
                self.ready.appendleft(follower)
        return [key]

    def received(self, future: Future) -> Files | str:
        """The files of a finished task, or in one line why there are none."""
        try:
            return future.result()
        except CancelledError:
            raise HeedfulError(
                f"the connection to the scheduler was lost with {self.left} runs left. What was finished is stored: "
                "start the cluster and call again."
            ) from None
        except KilledWorker:
            return "every worker that took this run died; is memory short?"
        except HeedfulError as error:
            return str(error)
        except Exception as error:  # whatever it was, it was raised elsewhere and concerns that run alone
            return f"{type(error).__name__}: {error}"

    def fail(self, key: str, error: str) -> list[str]:
        """Note a failure, of the task and of all that need it; their keys."""
        if key in self.errors:
            return []
        self.errors[key] = error
        self.left -= 1
        failed = [self.fail(one, f"its base run {key} failed: {error}") for one in self.followers.pop(key, [])]
        return [key, *(one for keys in failed for one in keys)]

    def threads(self) -> int:
        """How many tasks the cluster can do at a time, at this moment."""
        return sum(self.client.nthreads().values())  # pyright: ignore[reportAttributeAccessIssue]

    def standing(self) -> Standing:
        """The counts."""
        running = min(len(self.under_way), self.threads())
        return Standing(self.found, self.done, len(self.errors), running, self.left)


def _given(files: Files) -> Files:
    return files


class Stopped(Exception):
    """Nobody waits for this run any more."""


def _train(settings: str, key: str, device: str, needs: tuple[str, ...], *files: Files) -> Files:
    """As `engine.work`, given up between two batches once the client is gone or has cancelled."""
    stop = _stop_if_cancelled(key)
    return work(settings, key, files[0] if files else None, device=device, report=lambda progress: stop())


def _inspect(settings: str, key: str, device: str, needs: tuple[str, ...], *files: Files) -> Files:
    """As `engine.inspect`, given up likewise."""
    stop = _stop_if_cancelled(key)
    runs = dict(zip(needs, files, strict=True))
    return inspect(settings, key, runs, device=device, report=lambda done, texts: stop())


def _stop_if_cancelled(key: str) -> Callable[[], None]:
    worker = get_worker()
    task = worker.state.tasks[str(worker.get_current_task())]

    def stop() -> None:
        if task.state == "cancelled":
            raise Stopped(f"{key} was cancelled")

    return stop


def table(runs: Mapping[str, Run], store: Store, errors: Mapping[str, str], found: Iterable[str] = ()) -> pl.DataFrame:
    """One row a run: key, the settings that vary, status (found, done, failed or left), error, test scores, seconds.

    Args:
        errors: why runs failed, as `sweep` tells.
        found: keys of the runs that were there before.
    """
    there = set(found)
    settings = {key: _flat(run.model_dump(mode="json")) for key, run in runs.items()}
    vary = _varying(list(settings.values()))
    rows = []
    for key, run in runs.items():
        described = store.read(key) if run in store else None
        status = "failed" if key in errors else "left" if described is None else "found" if key in there else "done"
        scores = described.scores["test"] if described else {}
        chosen = {place: settings[key].get(place) for place in vary}
        seconds = described.seconds if described else None
        rows.append({"key": key, **chosen, "status": status, "error": errors.get(key), **scores, "seconds": seconds})
    names = dict.fromkeys(name for row in rows for name in row if name != "seconds")
    return pl.DataFrame({name: _column([row.get(name) for row in rows]) for name in (*names, "seconds")})


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def _varying(settings: list[dict[str, Any]]) -> list[str]:
    """Places where not all runs are alike; what follows from others (the data's hash) left out."""
    places = dict.fromkeys(place for one in settings for place in one if place != "data.fingerprint")
    return [place for place in places if any(one.get(place) != settings[0].get(place) for one in settings)]


def _column(values: list[Any]) -> pl.Series:
    """The values in one type: as text where they are lists or of several types."""
    kinds = {type(value) for value in values if value is not None}
    if list in kinds or not (len(kinds) <= 1 or kinds <= {int, float}):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    return pl.Series(values, strict=False)


def expected_seconds(run: Run, finished: Iterable[RunFile]) -> float | None:
    """The time a run will take, by the median of those that differ in the seed alone, or share its data and encoder."""
    alike: list[float] = []
    similar: list[float] = []
    for one in finished:
        if one.run.model_copy(update={"seed": run.seed, "reference": run.reference}) == run:
            alike.append(one.seconds)
        if one.run.data == run.data and one.run.network.encoder == run.network.encoder:
            similar.append(one.seconds)
    times = alike or similar
    return median(times) if times else None


def span(seconds: float) -> str:
    """Seconds as a person says them.

    >>> span(42.4), span(754.0), span(7_500.0)
    ('42 s', '13 min', '2.1 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
