"""One audit of 5,000 texts as long as SST's, by two processes against one, and whether they write the same bytes.

Rounds of both take turns, and the quickest of each counts; starting the processes is part of it. Needs two free cores.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/shards.py [--texts 5000] [--rounds 2] [--encoder bilstm]
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from made_texts import write_texts
from rich.console import Console
from rich.table import Table

from heedful.jobs.named_models import plan_named
from heedful.jobs.running import carry_out, check_done
from heedful.jobs.work import ensure
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.store.store import Store
from heedful.subjects.opening import find_model

MOST_RATIO = 0.6
WORDS, SPREAD = 19, 15
FILES = ("rows.parquet", "examples.parquet")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--texts", type=int, default=5_000)
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--encoder", default="bilstm")
    asked = arguments.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory() as place:
        folder = Path(place)
        data = write_texts(folder / "train.csv", 2_000, WORDS, spread=SPREAD, seed=1)
        network = NetworkSettings(encoder=asked.encoder, embed_size=128, hidden_size=64)
        run = Run(data=DataSettings(source=str(data)), network=network, training=TrainingSettings(epochs=2))
        key = ensure(run, Store(folder / "runs"))[0]
        # One text in ten is kept for dev.
        audited = DataSettings(
            source=str(write_texts(folder / "audited.csv", round(asked.texts / 0.9), WORDS, spread=SPREAD))
        )
        seconds, content = {1: float("inf"), 2: float("inf")}, set()
        for turn in range(asked.rounds):
            for workers in seconds:
                store = Store(folder / "runs", folder / f"{workers} workers, {turn}")
                plan = plan_named([find_model(key, store)], audited, AuditSettings(), store)
                began = time.perf_counter()
                check_done(carry_out(plan, store, workers=workers))
                seconds[workers] = min(seconds[workers], time.perf_counter() - began)
                content.add(tuple((store.audits / plan.wanted[0] / file).read_bytes() for file in FILES))
    ratio = seconds[2] / seconds[1]
    table = Table("measured", "value", "at most", "", title=f"{asked.encoder}, {asked.texts:,} texts")
    table.add_row("one process", f"{seconds[1]:.1f} s", "", "")
    table.add_row("two processes", f"{seconds[2]:.1f} s", "", "")
    table.add_row("two / one", f"{ratio:.2f}", f"{MOST_RATIO}", "met" if ratio <= MOST_RATIO else "not met")
    table.add_row("the same bytes", "", "", "met" if len(content) == 1 else "not met")
    Console().print(table)


if __name__ == "__main__":
    main()
