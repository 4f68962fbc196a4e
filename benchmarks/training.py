"""Our SST BiLSTM epoch against the same epoch written plainly, on one thread, in one run.

Plainly: `nn.LSTM` over packed sequences, default Adam, batches in random order with no bucketing by length.
Same model sizes, optimiser settings, loss and batch size. Needs HEEDFUL_DATA. Processor time is taken; timings differ
from machine to machine, the ratio is what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/training.py
"""

import time
from statistics import median

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from heedful.data import load
from heedful.data.batching import encode_split
from heedful.settings import DataSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.trained import Progress

EPOCHS = 4
TEXT = TextSettings(words="alphanumeric", start_end=True, longer_than=5)


def ours(run: Run, dataset) -> tuple[list[float], list[float]]:
    """Seconds and training loss of each epoch of our loop, evaluation left out."""
    began: dict[int, float] = {}
    ended: dict[int, float] = {}

    def note(progress: Progress) -> None:
        if progress.scores is None:
            began.setdefault(progress.epoch, time.process_time())
            ended[progress.epoch] = time.process_time()
            batches[0] = progress.batches

    batches = [0]
    trained = train(run, dataset, report=note)
    # The clock of an epoch starts after its first batch: add that batch back.
    seconds = [(ended[e] - began[e]) * batches[0] / (batches[0] - 1) for e in sorted(began)]
    losses = [r.value for r in trained.history if (r.split, r.measure) == ("train", "loss")]
    return seconds, losses


class PlainModel(nn.Module):
    """The same model as one would write it from the tutorial."""

    def __init__(self, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 300, padding_idx=0)
        self.lstm = nn.LSTM(300, 128, batch_first=True, bidirectional=True)
        self.hidden, self.score, self.output = nn.Linear(256, 128), nn.Linear(128, 1, bias=False), nn.Linear(256, 1)

    def forward(self, tokens, lengths):
        """One logit a text."""
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        place = torch.arange(tokens.shape[1])
        outside = (place == 0) | (place >= lengths[:, None] - 1)
        attention = self.score(self.hidden(states).tanh())[..., 0].masked_fill(outside, -torch.inf).softmax(-1)
        return self.output((attention[..., None] * states).sum(1))[:, 0]


def reference(dataset, words) -> tuple[list[float], list[float]]:
    """Seconds and training loss of each epoch of the plain loop."""
    torch.manual_seed(0)
    split = encode_split(dataset.train, words)
    model = PlainModel(words.size)
    attention = [*model.hidden.parameters(), *model.score.parameters()]
    rest = [*model.embedding.parameters(), *model.lstm.parameters(), *model.output.parameters()]
    optimizer = torch.optim.Adam([{"params": rest, "weight_decay": 1e-5}, {"params": attention}], 1e-3, amsgrad=True)
    positive = (split.labels == 0).sum() / (split.labels == 1).sum()
    seconds, losses = [], []
    for _ in range(EPOCHS):
        began, total = time.process_time(), 0.0
        for index in torch.randperm(len(split.texts)).split(32):
            texts = [split.texts[i] for i in index]
            tokens = pad_sequence(texts, batch_first=True)
            logits = model(tokens, torch.tensor([len(text) for text in texts]))
            labels = split.labels[index].float()
            each = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
            loss = (each * torch.where(labels == 1, positive, 1.0)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        seconds.append(time.process_time() - began)
        losses.append(total / len(split.texts))
    return seconds, losses


def main() -> None:
    torch.set_num_threads(1)
    data = DataSettings(source="sst2")
    dataset = load(data, TEXT)
    run = Run(data=data, text=TEXT, training=TrainingSettings(epochs=EPOCHS))
    words = train(update_settings(run, {"training": TrainingSettings(epochs=1)}), dataset).words  # and warms up
    our_seconds, our_losses = ours(run, dataset)
    plain_seconds, plain_losses = reference(dataset, words)
    table = Table("epoch", "ours, s", "plain, s", "ours, loss", "plain, loss")
    for epoch in range(EPOCHS):
        row = (our_seconds[epoch], plain_seconds[epoch], our_losses[epoch], plain_losses[epoch])
        table.add_row(str(epoch + 1), *(f"{value:.3f}" for value in row))
    console = Console(highlight=False)
    console.print(table)
    ratio = median(plain_seconds) / median(our_seconds)
    console.print(f"median epoch: the plain loop takes {ratio:.2f} times as long (aim: 2.5 or more)")


if __name__ == "__main__":
    main()
