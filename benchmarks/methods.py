"""What an epoch of each training method costs, in epochs of vanilla training, in one run on one thread.

A BiLSTM of 64 units on 320 texts of SST; needs HEEDFUL_DATA. The methods take turns, so that a machine that is busy
for a while slows all of them down; processor time is taken, and medians compared: timings differ from machine to
machine, the ratios are what is claimed. What is done once, before the first epoch, is in a column of its own: what the
reference run or the teachers make of the texts. Their own training, of which each is a vanilla run, comes on top.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/methods.py
"""

import time
from collections.abc import Mapping
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from heedful.data import load
from heedful.settings import DataSettings, NetworkSettings, Option, Run, TrainingSettings, key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.methods import METHODS
from heedful.training.start import with_fingerprints
from heedful.training.teachers import teachers_of
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset
from training import TEXT

ROUNDS = 3
AIM = 2.0
"""Vanilla epochs that an epoch of what `faithful` sums may take."""
CHEAP = ("diversity", "guided_by_evidence", "guided_by_evidence, leave_one_out", "ensemble", "faithful")
LEFT_OUT = ("guided_by_rationales", "deceptive")
"""Methods that need texts with rationales."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in METHODS if name not in LEFT_OUT},
    "guided_by_evidence, leave_one_out": ("guided_by_evidence", {"target": "leave_one_out"}),
    "faithful, with evidence": ("faithful", {"evidence": 1.0}),
    "faithful, no teachers": ("faithful", {"attention": 0.0, "prediction": 0.0}),
}


class Trainings:
    """Runs of one data set, each trained once unless it is timed."""

    def __init__(self, base: Run, dataset: Dataset):
        self.base, self.dataset = base, dataset
        self.finished: dict[str, Trained] = {}

    def once(self, run: Run) -> Trained:
        """The finished run."""
        key = key_of(run)
        if key not in self.finished:
            self.finished[key] = train(run, self.dataset)
        return self.finished[key]

    def seconds(self, changes: Mapping[str, Any], method: str, options: Mapping[str, Option]) -> tuple[float, float]:
        """Of an epoch, and of what is done before it but for training other runs."""
        run = update_settings(self.base, {**changes, "training.method": method, "training.options": dict(options)})
        needs_reference = METHODS[method].needs_reference or METHODS[method].start == "reference"
        reference = self.once(update_settings(run, {"training": self.base.training})) if needs_reference else None
        if reference is not None:
            run = update_settings(run, {"reference": key_of(reference.run)})
        teachers = [self.once(teacher) for teacher in teachers_of(run)]
        ends: list[float] = []

        def note(progress: Progress) -> None:
            if progress.scores is None:
                ends.append(time.process_time())

        began = time.process_time()
        train(run, self.dataset, reference=reference, teachers=teachers, report=note)
        return ends[-1] - ends[0], ends[0] - began


def main() -> None:
    torch.set_num_threads(1)
    console = Console(highlight=False)
    data = DataSettings(source="sst2", train_limit=320, test_limit=50)
    dataset = load(data, TEXT)
    network = NetworkSettings(embed_size=100, hidden_size=64)
    base = Run(data=data, text=TEXT, network=network, training=TrainingSettings(epochs=1))
    trainings = Trainings(with_fingerprints(base, dataset.fingerprint), dataset)
    trainings.seconds({}, "vanilla", {})  # warms up
    taken: dict[str, list[tuple[float, float]]] = {}
    for _ in range(ROUNDS):
        for name, (method, options) in VARIANTS.items():
            taken.setdefault(name, []).append(trainings.seconds({}, method, options))
        orthogonal = trainings.seconds({"network.encoder": "orthogonal_bilstm"}, "vanilla", {})
        taken.setdefault("vanilla, orthogonal_bilstm", []).append(orthogonal)
    usual, before = (median(times) for times in zip(*taken["vanilla"], strict=True))
    table = Table("method", "epoch, s", "vanilla epochs", "before the first, s")
    ratios = {}
    for name, times in taken.items():
        epoch, first = (median(values) for values in zip(*times, strict=True))
        ratios[name] = epoch / usual
        table.add_row(name, f"{epoch:.2f}", f"{ratios[name]:.2f}", f"{first - before:+.2f}")
    console.print(table)
    for name in CHEAP:
        console.print(f"an epoch of {name} takes {ratios[name]:.2f} vanilla epochs (aim: {AIM:g} or less)")


if __name__ == "__main__":
    main()
