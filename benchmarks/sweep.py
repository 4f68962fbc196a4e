"""A grid of 12 small runs by two workers against one, and what the engine adds to a run; one after the other.

Workers are started, and have loaded torch, before the clock starts; the quickest of three rounds counts, for both. The
overhead of a run is what one worker's sweep takes beyond the sum of the times that training itself took, over their
number: sending, reading data, packing, storing. Needs two free cores; the ratio is what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/sweep.py
"""

import time
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from heedful.jobs.executors import open_executor
from heedful.jobs.planning import plan_sweep
from heedful.jobs.running import run
from heedful.jobs.sweep_file import expand_grid
from heedful.store.store import Store

MOST_RATIO, MOST_OVERHEAD = 0.65, 0.050
ROUNDS = 3

GRID = {
    "data": {"source": "mock-1", "train_limit": 200, "test_limit": 50},
    "network": {"embed_size": 8, "hidden_size": 5},
    "training": {"epochs": 15},
    "grid": {"network.encoder": ["gru", "bilstm"], "network.attention": ["additive", "dot"], "seed": [0, 1, 2]},
}


def seconds(workers: int) -> tuple[float, float]:
    """The time of the whole grid, and of its training alone; the quickest of a few rounds."""
    with TemporaryDirectory() as folder:
        store = Store(f"{folder}/runs", f"{folder}/audits")
        with open_executor(store, workers) as executor:
            warm = {**GRID, "training": {"epochs": 1}, "grid": {"seed": list(range(4 * workers))}}
            run(plan_sweep(expand_grid(warm), None, store).missing(store), executor)
            times = []
            for turn in range(ROUNDS):
                own = {**GRID["grid"], "seed": [3 * turn + more for more in range(3)]}
                plan = plan_sweep(expand_grid({**GRID, "grid": own}), None, store)
                began = time.perf_counter()
                assert run(plan.missing(store), executor) == {}
                passed = time.perf_counter() - began
                times.append((passed, sum(store.read(key).seconds for key in plan.runs)))
    return min(times)


def main() -> None:
    (one_worker, training), (two_workers, _) = seconds(1), seconds(2)
    ratio, overhead = two_workers / one_worker, (one_worker - training) / 12
    table = Table("measured", "value", "at most", "", title="12 small runs")
    table.add_row("one worker", f"{one_worker:.2f} s", "", "")
    table.add_row("two workers", f"{two_workers:.2f} s", "", "")
    table.add_row("two / one", f"{ratio:.2f}", f"{MOST_RATIO}", "met" if ratio <= MOST_RATIO else "not met")
    within = "met" if overhead <= MOST_OVERHEAD else "not met"
    table.add_row("overhead a run", f"{1e3 * overhead:.0f} ms", f"{1e3 * MOST_OVERHEAD:.0f} ms", within)
    Console().print(table)


if __name__ == "__main__":
    main()
