"""One audit of 5,000 texts as long as SST's, done in parts by two workers against one, and against this process.

Workers are started, and have loaded torch, before the clock starts; what starting them takes is printed beside. Rounds
of both take turns, and the quickest of each counts. The files must have the same bytes. Needs two free cores; on a busy
machine the processor time of the busiest worker, with that of this process, says what free cores would take.

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

from heedful.auditing.audit import PreparedAudit, prepare_audit
from heedful.jobs.audit_parts import AuditParts, make_audit, request_of
from heedful.jobs.executors import connected
from heedful.jobs.request import AuditSource
from heedful.jobs.running import SplitAudit, check_done, sweep
from heedful.jobs.work import ensure
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.store.store import Store
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.opening import load_texts

MOST_RATIO = 0.6
WORDS, SPREAD = 19, 15
FILES = ("rows.parquet", "examples.parquet")


class Bench:
    """A model, its texts, and the audit of them."""

    def __init__(self, folder: Path, texts: int, encoder: str):
        data = write_texts(folder / "train.csv", 2_000, WORDS, spread=SPREAD, seed=1)
        network = NetworkSettings(encoder=encoder, embed_size=128, hidden_size=64)
        run = Run(data=DataSettings(source=str(data)), network=network, training=TrainingSettings(epochs=2))
        self.folder, self.store = folder, Store(folder / "runs")
        trained = ensure(run, self.store)[1]
        # One text in ten is kept for dev.
        audited = write_texts(folder / "audited.csv", round(texts / 0.9), WORDS, spread=SPREAD)
        self.source = AuditSource(data=DataSettings(source=str(audited)))
        subject = FinishedRun(trained)
        dataset = load_texts(subject, DataSettings(source=str(audited)))
        self.request = request_of(subject, dataset, AuditSettings())
        self.prepared: PreparedAudit = prepare_audit(subject, dataset, AuditSettings())

    def parts(self, name: str) -> AuditParts:
        """The parts of an audit of that name, of which none is done."""
        return AuditParts(self.folder / name / self.request.key, len(self.prepared.shards))

    def by_workers(self, count: int, turn: int) -> tuple[float, float, float]:
        """Seconds of the audit; of processor time on its longest way, the busiest worker's; of starting so many."""
        began = time.perf_counter()
        with connected(workers=count) as client:
            client.wait_for_workers(count)
            client.run(_load)
            started = time.perf_counter()
            parts = self.parts(f"{count} workers, {turn}")
            tasks = SplitAudit(self.request, parts, self.source).tasks()
            before, own = client.run(time.process_time), time.process_time()
            check_done(sweep({}, self.store, client, others=tasks))
            make_audit(self.prepared, parts)
            own, after = time.process_time() - own, client.run(time.process_time)
            busiest = max(after[worker] - before[worker] for worker in before)
            return time.perf_counter() - started, busiest + own, started - began

    def here(self) -> float:
        """Seconds of the audit in this process."""
        began = time.perf_counter()
        make_audit(self.prepared, self.parts("here"))
        return time.perf_counter() - began

    def content(self, name: str) -> list[bytes]:
        """The tables of that audit."""
        return [(self.folder / name / self.request.key / file).read_bytes() for file in FILES]


def _load() -> None:
    """What a worker imports for its first part."""
    import heedful.jobs.running  # noqa: F401


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--texts", type=int, default=5_000)
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--encoder", default="bilstm")
    asked = arguments.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        bench = Bench(Path(folder), asked.texts, asked.encoder)
        rounds = [[bench.by_workers(count, turn) for count in (1, 2)] for turn in range(asked.rounds)]
        here = bench.here()
        one_worker, two_workers = (tuple(map(min, zip(*times, strict=True))) for times in zip(*rounds, strict=True))
        names = ["here", *(f"{count} workers, {turn}" for count in (1, 2) for turn in range(asked.rounds))]
        same = all(bench.content(name) == bench.content("here") for name in names)
        texts, shards = len(bench.prepared.texts.numbers), len(bench.prepared.shards)
    ratio, path = (two_workers[place] / one_worker[place] for place in (0, 1))
    table = Table("measured", "value", "at most", "", title=f"{asked.encoder}, {texts:,} texts in {shards} shards")
    table.add_row("this process", f"{here:.1f} s", "", "")
    for name, seconds in {"one worker": one_worker, "two workers": two_workers}.items():
        table.add_row(name, f"{seconds[0]:.1f} s, {seconds[1]:.1f} s of processor time", "", "")
    table.add_row("starting two", f"{two_workers[2]:.1f} s", "", "")
    table.add_row("two / one", f"{ratio:.2f}", f"{MOST_RATIO}", "met" if ratio <= MOST_RATIO else "not met")
    table.add_row(
        "the same of processor time", f"{path:.2f}", f"{MOST_RATIO}", "met" if path <= MOST_RATIO else "not met"
    )
    table.add_row("the same bytes", "yes" if same else "no", "", "met" if same else "not met")
    Console().print(table)


if __name__ == "__main__":
    main()
