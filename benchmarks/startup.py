"""How long a user waits for a command that has nothing to compute: seconds of wall clock, best of several.

A small model is trained and audited first, in a folder of its own; then `heedful audit` is called again, and what it
imports is named. Needs no data. The machine should be quiet: the clock of the wall is taken.

    python benchmarks/startup.py
"""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

REPEATS = 5
AIM = 1.5
MODEL = ["--encoder", "average", "--epochs", "2", "--set", "data.train_limit=2000", "--set", "data.test_limit=500"]
AUDIT = ["audit", "mock-1", *MODEL, "--seeds", "1"]
HEAVY = ("torch", "torch._dynamo", "sklearn", "scipy", "polars", "altair", "transformers", "dask")
HEEDFUL = "import sys; sys.argv[0] = 'heedful'; from heedful.__main__ import main; main()"


def run(code: str, arguments: list[str], folder: Path) -> tuple[float, str]:
    """Seconds that a new interpreter takes, and which large libraries it has imported when it ends."""
    note = "lambda: print('imported:', *(name for name in HEAVY if name in sys.modules), file=sys.stderr)"
    named = f"import atexit, sys\nHEAVY = {HEAVY}\natexit.register({note})"
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", f"{named}\n{code}", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - began
    return seconds, ended.stderr.rpartition("imported:")[2].strip()


def main() -> None:
    console = Console(highlight=False)
    with TemporaryDirectory() as parent:
        folder = Path(parent)
        run(HEEDFUL, AUDIT, folder)
        run(HEEDFUL, [*AUDIT, "--seed", "1", "--out", "other"], folder)
        audits = sorted(place.name for place in (folder / "audits").iterdir())
        commands = {
            "import heedful": ("import heedful", []),
            "heedful --help": (HEEDFUL, ["--help"]),
            "heedful audit, asked the same again": (HEEDFUL, AUDIT),
            "heedful list tests": (HEEDFUL, ["list", "tests"]),
            "heedful compare": (HEEDFUL, ["compare", *audits]),
        }
        best = {name: min(run(*command, folder) for _ in range(REPEATS)) for name, command in commands.items()}
    table = Table("command", f"best of {REPEATS}, s", "large libraries imported")
    for name, (seconds, imported) in best.items():
        table.add_row(name, f"{seconds:.2f}", imported or "none")
    console.print(table)
    console.print(f"`heedful audit` on a finished audit: aim below {AIM} s")


if __name__ == "__main__":
    main()
