"""All terms of the flow for every token of SST's vocabulary against one epoch of training, on one thread, in one run.

Sun and Lu's models at their sizes (embeddings of 100, Adagrad, batches of 100): dot attention on embeddings, after an
affine map, and additive attention. The terms are summed over all training texts. Needs HEEDFUL_DATA. Processor time is
taken and medians compared; timings differ from machine to machine, the ratio is what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/flow.py
"""

import time
from statistics import median

import torch
from rich.console import Console
from rich.table import Table

from heedful.data import load
from heedful.data.batching import encode_split
from heedful.settings import DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.token_scores import flow, measurements, token_classes, token_counts
from heedful.training.loop import train
from heedful.training.trained import Progress
from heedful.types import Dataset

EPOCHS, ROUNDS = 4, 5
TEXT = TextSettings(words="alphanumeric")
MODELS = {"dot": ("identity", "dot"), "dot, affine": ("affine", "dot"), "additive": ("identity", "additive")}
TRAINING = TrainingSettings(
    epochs=EPOCHS,
    batch_size=100,
    optimizer="adagrad",
    learning_rate=0.02,
    learning_rate_decay=0.001,
    weight_decay=0,
    loss_sum="mean",
    class_weights=False,
)


def race(encoder: str, attention: str, dataset: Dataset) -> tuple[float, float, float]:
    """Median seconds of an epoch (evaluation left out), of the flow, and of all that is recorded of tokens."""
    network = NetworkSettings(
        encoder=encoder, attention=attention, embed_size=100, hidden_size=100, scale=10, head_bias=False
    )
    clock: dict[int, list[float]] = {}

    def note(progress: Progress) -> None:
        if progress.scores is None:
            clock.setdefault(progress.epoch, []).append(time.process_time())

    trained = train(
        Run(data=DataSettings(source="sst2"), text=TEXT, network=network, training=TRAINING), dataset, report=note
    )
    # The clock of an epoch starts after its first batch: add that batch back. The first epoch warms up.
    epochs = [(ticks[-1] - ticks[0]) * len(ticks) / (len(ticks) - 1) for epoch, ticks in clock.items() if epoch > 1]
    split = encode_split(dataset.train, trained.words)
    classes = token_classes(token_counts(split, trained.words.size, len(dataset.labels)))
    terms, everything = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        flow(trained.model, split)
        terms.append(time.process_time() - began)
        began = time.process_time()
        measurements(trained.model, split, classes, dataset.labels)
        everything.append(time.process_time() - began)
    return median(epochs), median(terms), median(everything)


def main() -> None:
    torch.set_num_threads(1)
    dataset = load(DataSettings(source="sst2"), TEXT)
    console = Console(highlight=False)
    table = Table("model", "epoch, s", "flow, s", "all measurements, s", "epoch / flow")
    ratios = []
    for name, (encoder, attention) in MODELS.items():
        epoch, terms, everything = race(encoder, attention, dataset)
        ratios.append(epoch / terms)
        table.add_row(name, f"{epoch:.3f}", f"{terms:.3f}", f"{everything:.3f}", f"{ratios[-1]:.1f}")
    console.print(table)
    console.print(f"an epoch takes at least {min(ratios):.1f} times as long as all terms of the flow (aim: 1 or more)")


if __name__ == "__main__":
    main()
