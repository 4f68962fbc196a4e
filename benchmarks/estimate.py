"""Estimated time of audits of three sizes, compared with the time that they take; exits 1 beyond a factor of 1.5.

Seconds of computing in one process, so that other work on the machine does not count.

    python benchmarks/estimate.py [SIZE ...]
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from heedful.cli.audit_command import audit_settings
from heedful.cli.command_options import make_run
from heedful.jobs.estimating import estimate
from heedful.jobs.planning import plan_audits
from heedful.jobs.running import carry_out, check_done
from heedful.store.store import Store

SIZES = {
    "small": ("reviews", 1, "150", []),
    "medium": ("sst2", 1, "500", ["data.train_limit=2000"]),
    "large": ("rotten_tomatoes", 2, "500", ["data.train_limit=4000"]),
}
"""Data, number of seeds, number of texts and other settings."""
MOST = 1.5


def measure(source: str, seeds: int, examples: str, settings: list[str]) -> tuple[float, float]:
    """Estimated and measured seconds."""
    with TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs", Path(folder) / "audits")
        run = make_run({"data": source}, settings)
        plan = plan_audits([run], audit_settings(None, examples, False, {}), store, seeds=seeds)
        known = estimate(plan, store, quick_texts=150, workers=1)
        assert known is not None
        wall, began = time.perf_counter(), time.process_time()
        check_done(carry_out(plan, store, workers=1))
        print(f"  wall {time.perf_counter() - wall:.0f} s, estimated {known.seconds:.0f} s wall", flush=True)
        return known.computing, time.process_time() - began


if __name__ == "__main__":
    torch.set_num_threads(1)
    ratios = []
    for name in sys.argv[1:] or SIZES:
        estimated, measured = measure(*SIZES[name])
        ratios.append(estimated / measured)
        print(f"{name}: estimated {estimated:.1f} s, measured {measured:.1f} s, ratio {ratios[-1]:.2f}", flush=True)
    sys.exit(not all(1 / MOST <= ratio <= MOST for ratio in ratios))
