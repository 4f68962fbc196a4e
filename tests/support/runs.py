"""Data small enough to train on in a second, and runs on it."""

import torch

from heedful.settings import NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Dataset, Example

NETWORK = NetworkSettings(encoder="average", embed_size=5, hidden_size=3, embedding_start="normal")

RUN = Run(
    network=NETWORK,
    training=TrainingSettings(epochs=3, learning_rate=0.05, batch_size=4, patience=0, chosen_from=1),
)


def toy(task="classification", labels=("bad", "good"), sentences=False) -> Dataset:
    """Texts whose label is one word among fillers; the query, if the task has one, is uninformative."""
    fillers = ("the", "film", "was", "so")

    def example(number: int) -> Example:
        label = number % len(labels)
        tokens = list(fillers[: 2 + number % 3])
        tokens.insert(number % 2, labels[label])
        query = ("why",) if task != "classification" else ()
        return Example(tuple(tokens), label, query, (0, 2) if sentences else (), text=" ".join(tokens))

    examples = tuple(example(number) for number in range(60))
    return Dataset("toy", "f", task, labels, examples[:36], examples[36:48], examples[48:])


def changed(**changes) -> Run:
    """RUN with changed settings, each named by its part and name, as in network__encoder."""
    return update_settings(RUN, {place.replace("__", "."): value for place, value in changes.items()})


def weights(trained: Trained) -> dict[str, torch.Tensor]:
    return trained.model.state_dict()


def same(first: Trained, second: Trained) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(first).values(), weights(second).values(), strict=True))
