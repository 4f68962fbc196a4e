"""`heedful train` as a process that counts its steps, and kills itself with SIGKILL at a chosen one.

A step is a batch trained or an epoch scored, or a file or folder of the store about to be touched. Called as
`dying_training.py STEP COUNTS ARGUMENTS...`: STEP 0 is never; the file COUNTS gets the number of steps before saving
began and in all, if the process comes to its end.
"""

import os
import signal
import sys
from pathlib import Path

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


def main() -> None:
    from heedful.__main__ import main as heedful
    from heedful.cli import train

    last, counts, arguments = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    steps = Steps(last, arguments[arguments.index("--runs") + 1])
    train.training_reporter = lambda bar: steps.batch
    sys.addaudithook(steps.hook)
    sys.argv = ["heedful", "train", *arguments]
    try:
        heedful()
    finally:
        counts.write_text(f"{steps.trained} {steps.done}")


if __name__ == "__main__":
    main()
