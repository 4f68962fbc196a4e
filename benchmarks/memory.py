"""Peak memory of `heedful audit` on 10,000 and 100,000 texts of 20 words, and with --million on 1,000,000.

A model is trained on made-up texts, and the command audits it on other files: reading, tests, verdict, report and all.
What is printed is the largest resident size of the command's process (`--workers 1`: it does all by itself).

    OMP_WAIT_POLICY=PASSIVE python benchmarks/memory.py [--million] [--tests NAME,NAME] [--counts 10000,100000]

The whole battery takes some milliseconds a text. `--tests` names fewer; memory is then that of their rows.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from made_texts import write_texts
from rich.console import Console
from rich.table import Table

MOST_RATIO, MOST_MEGABYTES, MILLION = 1.3, 2_000, 1_000_000
WORDS = 20
TRAIN = ["--encoder", "average", "--epochs", "3", "--set", "network.embed_size=32", "--set", "network.hidden_size=32"]


def heedful(folder: Path, *arguments: str) -> tuple[float, float, str]:
    """Seconds and peak megabytes of a command of Heedful, and what it printed."""
    began = time.perf_counter()
    with (folder / "printed").open("w+b") as printed:
        process = subprocess.Popen([sys.executable, "-m", "heedful", *arguments], cwd=folder, stdout=printed)
        _, status, used = os.wait4(process.pid, 0)
        printed.seek(0)
        content = printed.read().decode()
    if status:
        sys.exit(f"heedful {arguments[0]} failed: exit code {os.waitstatus_to_exitcode(status)}")
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return time.perf_counter() - began, used.ru_maxrss / scale, content


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--million", action="store_true")
    arguments.add_argument("--tests", default="")
    arguments.add_argument("--counts", default="10000,100000")
    asked = arguments.parse_args()
    counts = [*map(int, asked.counts.split(",")), *([MILLION] if asked.million else [])]
    table = Table("texts", "seconds", "peak MB", "to the first", "at most", "", title=asked.tests or "whole battery")
    with TemporaryDirectory() as place:
        folder, first = Path(place), 0.0
        write_texts(folder / "train.csv", 2_000, WORDS, seed=1)
        key = json.loads(heedful(folder, "train", "train.csv", *TRAIN, "--json")[2])["key"]
        for count in counts:
            write_texts(folder / "audited.csv", round(count / 0.9), WORDS)  # one in ten is kept for dev
            only = ["--tests", asked.tests] if asked.tests else []
            seconds, megabytes, _ = heedful(
                folder, "audit", "audited.csv", "--model", key, "--workers", "1", "--quiet", *only
            )
            first = first or megabytes
            most = f"{MOST_MEGABYTES:,} MB" if count >= MILLION else f"{MOST_RATIO} times"
            is_met = megabytes <= MOST_MEGABYTES if count >= MILLION else megabytes <= MOST_RATIO * first
            print(f"{count:,} texts: {megabytes:,.0f} MB, {seconds:.0f} s", flush=True)
            cells = f"{count:,}", f"{seconds:.0f}", f"{megabytes:,.0f}", f"{megabytes / first:.2f}", most
            table.add_row(*cells, "met" if is_met else "not met")
    Console().print(table)


if __name__ == "__main__":
    main()
