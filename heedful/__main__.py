"""The `heedful` command, also as `python -m heedful`: imports little, so that Ctrl-C is heard from the first moment."""

import gc
import signal
import sys
from types import FrameType


class _Interrupt:
    """Ctrl-C, remembered: what it interrupts can raise errors different from KeyboardInterrupt."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)


def main() -> None:
    """Run a command: exit code 0 done, 2 the user's input, 1 ours, 130 stopped by Ctrl-C."""
    interrupt = _Interrupt()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        from heedful.cli import run_command

        gc.set_threshold(50_000, 20, 100)  # far fewer searches for cycles: they take a twentieth of an audit's time
        run_command()
    except SystemExit as leaving:
        if leaving.code != 130 and not (interrupt.came and leaving.code):
            raise
    except BaseException as error:
        if not interrupt.came and not isinstance(error, KeyboardInterrupt):
            raise
    else:
        return
    sys.stderr.write("heedful: stopped. Finished work is kept; unfinished work is not.\n")
    sys.exit(130)


if __name__ == "__main__":
    main()
