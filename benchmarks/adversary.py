"""An epoch of an adversary against a plain training epoch of the same model, on one thread, in one run.

The reference's attention and predictions are computed once, so an adversarial epoch adds to a plain one the divergence
and its gradient, and on the texts that epochs are selected by a second reading for the loss. Both kinds of epoch are
timed whole, with that reading, as a user waits for them, in turns. sst2 needs HEEDFUL_DATA. Processor time is taken;
timings differ from machine to machine, the ratio is what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/adversary.py
"""

import os
import time
from statistics import median

import torch
from rich.console import Console
from rich.table import Table

from heedful.data import load
from heedful.settings import DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset

ROUNDS, EPOCHS = 3, 3
AIM = 1.6


def epochs(run: Run, dataset: Dataset, reference: Trained | None) -> list[float]:
    """Seconds of each epoch but the first, whose beginning is not reported."""
    ends: list[float] = []

    def note(progress: Progress) -> None:
        if progress.scores is not None:
            ends.append(time.process_time())

    train(run, dataset, reference=reference, report=note)
    return [after - before for before, after in zip(ends[:-1], ends[1:], strict=True)]


def compare(source: str, encoder: str) -> tuple[float, float]:
    """Median seconds of a plain and of an adversarial epoch."""
    data = DataSettings(source=source, train_limit=640, test_limit=80)
    plain = Run(data=data, network=NetworkSettings(encoder=encoder), training=TrainingSettings(epochs=EPOCHS))
    settings = update_settings(plain.training, {"method": "adversary", "loss_sum": "mean"})
    against = update_settings(plain, {"training": settings, "seed": 1})
    dataset = load(data, plain.text)
    base = train(plain, dataset)  # and warms up
    seconds: tuple[list[float], list[float]] = [], []
    for _ in range(ROUNDS):
        seconds[0].extend(epochs(plain, dataset, None))
        seconds[1].extend(epochs(against, dataset, base))
    return median(seconds[0]), median(seconds[1])


def main() -> None:
    torch.set_num_threads(1)
    sources = ["mock-1", *(["sst2"] if os.environ.get("HEEDFUL_DATA") else [])]
    table = Table("data", "encoder", "plain, s", "adversary, s", "ratio")
    ratios: list[float] = []
    for source in sources:
        for encoder in ("average", "bilstm"):
            plain, adversary = compare(source, encoder)
            ratios.append(adversary / plain)
            table.add_row(source, encoder, f"{plain:.3f}", f"{adversary:.3f}", f"{ratios[-1]:.2f}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"an adversarial epoch takes at most {max(ratios):.2f} times a plain one (aim: {AIM} or less)")


if __name__ == "__main__":
    main()
