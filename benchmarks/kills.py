"""Kills training, audits and sweeps at random moments, calls them again, and compares what is then on disk.

    python benchmarks/kills.py [--kills 200] [--seed 0] [--sweeps 0.1]

Each victim is a process group that is killed whole (SIGKILL): half of them after a random time, half as they touch a
random file of the store. After the kill, no folder may pass for finished that is not; after the next call, every file
must have the bytes of an undisturbed one. What may differ, and nothing else: the seconds in run.json, the seconds and
the date in audit.json and verdict.json, and the checksums of these three. Exits with 1 where anything differs.

Victims are forked from this process, which has imported everything and written nothing, so that polars has not started
its threads: a fresh interpreter would spend most of its life importing. The workers of a sweep are fresh, as always.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from heedful.jobs.planning import plan_audits, plan_sweep
from heedful.jobs.running import carry_out, check_done
from heedful.jobs.work import ensure, load_data
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.store.folders import CHECKSUMS
from heedful.store.store import Store, audit_defect, run_defect
from heedful.training.loop import train

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=60, test_limit=20),
    network=NetworkSettings(encoder="average", embed_size=8, hidden_size=5),
    training=TrainingSettings(epochs=2),
)
AUDIT = AuditSettings(tests=("uniform", "permutation"), shown=3)

VOLATILE = {"run.json": {"seconds"}, "audit.json": {"seconds", "date"}, "verdict.json": {"seconds", "date"}}
"""What a repetition may write otherwise."""

TOUCHES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree")
PATIENCE = 600.0
"""Seconds after which an undisturbed call counts as hanging."""


def do_training(folder: Path) -> None:
    ensure(RUN, Store(folder / "runs"))


def do_audit(folder: Path) -> None:
    store = Store(folder / "runs", folder / "audits")
    check_done(carry_out(plan_audits([RUN], AUDIT, store), store))


def do_sweep(folder: Path) -> None:
    store = Store(folder / "runs", folder / "audits")
    plan = plan_sweep([RUN, update_settings(RUN, {"seed": 1})], AUDIT, store)
    check_done(carry_out(plan, store, workers=2, in_parts=False))


@dataclass(frozen=True)
class Undisturbed:
    """What a kind of work leaves where nobody kills it.

    Args:
        work: what is called with a folder.
        start: a folder with what must be there before.
        end: the same folder afterwards.
        seconds, touches: how long it takes, and how often it touches a file of its folder.
    """

    work: Callable[[Path], None]
    start: Path
    end: Path
    seconds: float
    touches: int


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--sweeps", type=float, default=0.1, help="share of the kills that hit a sweep")
    asked = arguments.parse_args()
    torch.set_num_threads(1)
    train(*load_data(RUN))  # imports what waits for its first use
    dice, problems = random.Random(asked.seed), Counter[str]()
    with TemporaryDirectory() as scratch:
        kinds = undisturbed(Path(scratch))
        kinds = {name: kind for name, kind in kinds.items() if name != "sweep" or asked.sweeps > 0}
        weights = [asked.sweeps if name == "sweep" else (1 - asked.sweeps) / 2 for name in kinds]
        began, seen = time.perf_counter(), {name: Counter[str]() for name in kinds}
        trial = 0
        while sum(counts["killed"] for counts in seen.values()) < asked.kills:
            trial += 1
            (name,) = dice.choices(list(kinds), weights)
            wrong = kill_and_repeat(kinds[name], Path(scratch) / f"trial {trial}", dice, seen[name])
            for problem in wrong:
                print(f"trial {trial}, {name}: {problem}", flush=True)
            problems.update(wrong)
    seconds = (time.perf_counter() - began) / max(1, trial)
    for name, counts in seen.items():
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in sorted(counts.items()))}")
    print(f"{asked.kills} kills, {sum(problems.values())} problems; {seconds:.1f} s a trial")
    sys.exit(1 if problems else 0)


def undisturbed(scratch: Path) -> dict[str, Undisturbed]:
    """Each kind of work done twice: to know its bytes, its time and its touches, and that the bytes repeat."""
    works = {"training": do_training, "audit": do_audit, "sweep": do_sweep}
    kinds: dict[str, Undisturbed] = {}
    for name, work in works.items():
        start = kinds["training"].end if name == "audit" else scratch / "nothing"
        start.mkdir(exist_ok=True)
        ends = [shutil.copytree(start, scratch / f"{name} {repetition}") for repetition in (1, 2)]
        began = time.perf_counter()
        for end in ends:
            finish(work, end, counted_in=scratch / "touches")
        seconds = (time.perf_counter() - began) / 2
        kinds[name] = Undisturbed(work, start, ends[0], seconds, int((scratch / "touches").read_text()))
        if differing := differences(*ends):
            sys.exit(f"{name} does not repeat itself even undisturbed: {differing[0]}")
        print(f"{name}: {seconds:.1f} s, {kinds[name].touches} touches of files", flush=True)
    return kinds


def kill_and_repeat(kind: Undisturbed, folder: Path, dice: random.Random, seen: Counter[str]) -> list[str]:
    """Kill one victim, call again, and return what is wrong then."""
    shutil.copytree(kind.start, folder)
    by_touch = dice.random() < 0.5
    victim = fork(kind.work, folder, last=dice.randint(1, kind.touches) if by_touch else None)
    if not by_touch:
        time.sleep(dice.uniform(0, kind.seconds))
        with suppress(ProcessLookupError):
            os.killpg(victim, signal.SIGKILL)
    status = wait(victim, PATIENCE)
    is_killed = status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    seen["killed" if is_killed else "ended before the kill"] += 1
    problems = [] if is_killed or status == 0 else [f"the victim ended by itself with status {status}"]
    problems += orphans(victim)
    problems += [f"after the kill {problem}" for problem in unfinished(folder)]
    seen["with parts left behind"] += bool(list(folder.glob("*/.part-*")))
    seen["with all finished"] += not differences(kind.end, folder)
    try:
        finish(kind.work, folder)
    except RuntimeError as error:
        problems.append(str(error))
    problems += differences(kind.end, folder)
    problems += [f"{path.name} is still there" for path in folder.glob("*/.part-*")]
    shutil.rmtree(folder)
    return problems


def fork(work: Callable[[Path], None], folder: Path, *, last: int | None = None, counted_in: Path | None = None) -> int:
    """Start the work as a process group of its own; its number.

    Args:
        last: the touch of a file at which it kills itself and all its children.
        counted_in: a file that gets the number of touches.
    """
    process = os.fork()
    if process:
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(process, process)
        return process
    code = 1
    try:
        os.setpgid(0, 0)
        log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(log, stream)
        touches = count_touches(folder, last)
        work(folder)
        if counted_in is not None:
            counted_in.write_text(str(touches[0]))
        code = 0
    finally:
        if code:
            import traceback

            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def count_touches(folder: Path, last: int | None) -> list[int]:
    """Count, in its only item, how often this process touches files of the stores; kill its group at the last one."""
    touches, word_ids = [0], os.getpid()

    def touch(event: str, arguments: tuple[object, ...]) -> None:
        if event in TOUCHES and os.getpid() == word_ids and str(folder) in str(arguments[0]):
            touches[0] += 1
            if touches[0] == last:
                os.killpg(0, signal.SIGKILL)

    sys.addaudithook(touch)
    return touches


def finish(work: Callable[[Path], None], folder: Path, counted_in: Path | None = None) -> None:
    """Do the work to its end; an error with what it printed where it fails."""
    process = fork(work, folder, counted_in=counted_in)
    status = wait(process, PATIENCE)
    if status != 0:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        raise RuntimeError(f"the call failed or hung (status {status}): {(folder / 'log').read_text()[-2000:]}")


def wait(process: int, patience: float) -> int | None:
    """The status that a process ended with; None if it did not."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    return None


def orphans(group: int) -> list[str]:
    """Whether processes of a killed group live on."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return []
        time.sleep(0.01)
    return ["processes of the group live on"]


def unfinished(folder: Path) -> list[str]:
    """Folders that stand in the place of a finished run or audit and are none."""
    problems = []
    for part, problem_of in (("runs", run_defect), ("audits", audit_defect)):
        for place in (folder / part).glob("[!.]*"):
            if (problem := problem_of(place)) is not None:
                problems.append(f"{part}/{place.name} is not finished: {problem}")
    return problems


def differences(first: Path, second: Path) -> list[str]:
    """In what the runs and audits of two folders differ, apart from what may."""
    contents = [
        {
            path.relative_to(folder): comparable(path)
            for part in ("runs", "audits")
            for path in folder.glob(f"{part}/*/*")
        }
        for folder in (first, second)
    ]
    places = sorted(contents[0].keys() | contents[1].keys())
    places = [place for place in places if not place.parts[1].startswith(".")]
    return [f"{place} differs" for place in places if contents[0].get(place) != contents[1].get(place)]


def comparable(path: Path) -> bytes | object:
    """What must be the same: the bytes of a file without those of the times in it."""
    if path.name in VOLATILE:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: value for name, value in content.items() if name not in VOLATILE[path.name]}
    if path.name == CHECKSUMS:
        return [line for line in path.read_text().splitlines() if line.partition("  ")[2] not in VOLATILE]
    return path.read_bytes()


if __name__ == "__main__":
    main()
