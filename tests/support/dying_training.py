"""`heedful train` as a process that counts its steps, and kills itself with SIGKILL at a chosen one.

A step is a batch trained or an epoch scored, or a file or folder of the store about to be touched. For each line on its
standard input, a JSON list of calls [STEP, COUNTS, ARGUMENTS ...], it forks a process a call, all at once, and answers
with their exit codes: forks need not import torch again. STEP 0 is never; the file COUNTS gets the number of steps
before saving began and in all, if the process comes to its end.
"""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

PRELOADED = ("heedful.cli", "heedful.jobs.work", "rich.progress", "rich.table", "sklearn.metrics", "torch._dynamo")
"""What a training imports in the end; torch's optimizers import the last of them, which takes them two seconds."""
TOUCHES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree")


class Steps:
    """Counts steps, and ends the process at the last one."""

    def __init__(self, last: int, folder: str):
        self.last, self.folder = last, folder
        self.done = self.trained = 0

    def step(self) -> None:
        self.done += 1
        if self.done == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def batch(self, progress: object) -> None:
        self.step()
        self.trained = self.done

    def hook(self, event: str, arguments: tuple) -> None:
        if event in TOUCHES and isinstance(arguments[0], str | Path) and self.folder in str(arguments[0]):
            self.step()


def train(last: str, counts: str, *arguments: str) -> None:
    from heedful.__main__ import main as heedful
    from heedful.cli import progress

    steps = Steps(int(last), arguments[arguments.index("--runs") + 1])
    progress.training_reporter = lambda bar: steps.batch
    sys.addaudithook(steps.hook)
    sys.argv = ["heedful", "train", *arguments]
    try:
        heedful()
    finally:
        Path(counts).write_text(f"{steps.trained} {steps.done}")


def forked(call: list[str]) -> int:
    """The process of a call."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        train(*call)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        os._exit(code)


def serve() -> None:
    for name in PRELOADED:
        import_module(name)  # so that forks have it

    answers, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    for line in sys.stdin:
        children = [forked(call) for call in json.loads(line)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        os.write(answers, (json.dumps(codes) + "\n").encode())


if __name__ == "__main__":
    serve()
