"""A SEAT epoch against a vanilla epoch, and the closed-form worst case against projected gradient ascent, in one run.

A BiLSTM of the default sizes on 2,000 texts of SST, one thread; needs HEEDFUL_DATA. The ascent is that of Hu et al.
(2023): ten steps from a random start, through the model's own `decode`. Processor time is taken, and medians compared:
timings differ from machine to machine, the ratios are what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/seat.py
"""

import time
from collections.abc import Callable
from statistics import median

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import kl_div

from heedful.attacks import Ball, ascend, draw
from heedful.data import load
from heedful.data.batching import collate, encode_split, in_order
from heedful.exact import Norm
from heedful.models.trace import detached, trace
from heedful.settings import DataSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.methods.seat import worst_move
from heedful.training.trained import Progress, Trained
from heedful.types import Dataset, LinearModel, Trace
from training import TEXT

EPOCHS = 3
BATCHES, REPEATS = 9, 10
RADII = (0.001, 0.01, 0.1)
NORMS: tuple[Norm, ...] = ("linf", "l2", "l1")


def epochs(base: Trained, dataset: Dataset) -> dict[str, float]:
    """Median seconds of an epoch of each method; all but vanilla follow the same vanilla run."""
    taken = {}
    for method in ("vanilla", "seat", "seat_all"):
        run = update_settings(base.run, {"training": TrainingSettings(method=method, epochs=EPOCHS)})
        taken[method] = median(epoch_seconds(run, dataset, None if method == "vanilla" else base))
    return taken


def epoch_seconds(run: Run, dataset: Dataset, base: Trained | None) -> list[float]:
    """Seconds of each epoch, from the end of its first batch to the end of its last; evaluation is left out."""
    ends: dict[int, list[float]] = {}

    def note(progress: Progress) -> None:
        if progress.scores is None:
            ends.setdefault(progress.epoch, []).append(time.process_time())

    train(run, dataset, reference=base, report=note)
    return [epoch[-1] - epoch[0] for epoch in ends.values()]


def searched(model: LinearModel, seen: Trace, ball: Ball, generator: torch.Generator) -> Tensor:
    """The divergence that ten steps of ascent reach."""
    encoded, attention, items = detached(seen.encoded), seen.attention.detach(), seen.encoded.items
    logits = seen.logits.detach().log_softmax(-1)

    def moved(change: Tensor) -> Tensor:
        other = model.decode(encoded, attention + change).log_softmax(-1)
        return kl_div(other, logits, reduction="none", log_target=True).sum(-1)

    return moved(ascend(moved, draw(items, ball, generator, attention.dtype), items, ball, steps=10))


def milliseconds(work: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Of one call in the mean, after a first one; and what it found."""
    result = work().detach()
    began = time.process_time()
    for _ in range(REPEATS):
        work()
    return 1000 * (time.process_time() - began) / REPEATS, result


def race(trained: Trained, dataset: Dataset, norm: Norm, radius: float) -> tuple[float, float, float, bool]:
    """Milliseconds a batch of each, the share of the worst that ascent finds, and whether it ever finds more.

    In float64, where "more" means more than rounding.
    """
    split = encode_split(dataset.test, trained.words)
    blocks = in_order(split.lengths, 32)
    model = trained.model.double().eval()
    assert isinstance(model, LinearModel)
    generator = torch.Generator().manual_seed(0)
    fast, slow, shares, beaten = [], [], [], False
    for block in blocks[:: len(blocks) // BATCHES]:
        seen = trace(model, collate(split, block))
        closed, exact = milliseconds(lambda seen=seen: worst_move(model, seen, radius, norm, "free"))
        ascent, reached = milliseconds(lambda seen=seen: searched(model, seen, Ball(radius, norm), generator))
        fast.append(closed)
        slow.append(ascent)
        shares.append(float((reached / exact).mean()))
        beaten = beaten or bool((reached > exact * (1 + 1e-9) + 1e-15).any())
    return median(fast), median(slow), median(shares), beaten


def main() -> None:
    torch.set_num_threads(1)
    console = Console(highlight=False)
    data = DataSettings(source="sst2", train_limit=2000)
    dataset = load(data, TEXT)
    base = train(Run(data=data, text=TEXT, training=TrainingSettings(epochs=2)), dataset)  # and warms up
    taken = epochs(base, dataset)
    console.print(f"seconds an epoch: {', '.join(f'{name} {value:.2f}' for name, value in taken.items())}")
    for method in ("seat", "seat_all"):
        console.print(f"a {method} epoch takes {taken[method] / taken['vanilla']:.2f} vanilla epochs (aim: 2 or less)")
    table = Table("norm", "radius", "closed, ms", "ascent, ms", "ratio", "ascent finds", title="worst case of a batch")
    ratios, beaten = [], False
    for norm in NORMS:
        for radius in RADII:
            closed, ascent, share, more = race(base, dataset, norm, radius)
            ratios.append(closed / ascent)
            beaten = beaten or more
            numbers = (f"{closed:.2f}", f"{ascent:.2f}", f"{closed / ascent:.3f}", f"{share:.0%}")
            table.add_row(norm, str(radius), *numbers)
    console.print(table)
    console.print(f"the closed form takes at most {max(ratios):.3f} of ten steps' time (aim: 0.1 or less)")
    console.print(f"ascent found more than the closed form: {'yes' if beaten else 'never'} (aim: never)")


if __name__ == "__main__":
    main()
