"""Our SST BiLSTM epoch against the same epoch written plainly, and against a floor, on one thread, in one run.

Plainly: `nn.LSTM` over packed sequences, default Adam, batches in random order with no bucketing by length.
Same model sizes, optimiser settings, loss and batch size. The floor: what cannot be left out of our own batches, two
passes of `nn.LSTM` over them, forward and backward, and a step of fused Adam on the same parameters; no embedding, no
attention, no loss. The passes are also timed in bfloat16. Needs HEEDFUL_DATA. Processor time is taken; timings differ
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
from heedful.data.batching import bucketed, collate, encode_split
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


def floor(dataset, words) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each epoch: of the passes of the two LSTMs, of the same in bfloat16, and of Adam."""
    split, generator = encode_split(dataset.train, words), torch.Generator().manual_seed(0)
    model = PlainModel(words.size)
    ahead, back = (nn.LSTM(300, 128, batch_first=True) for _ in range(2))
    trained = [*model.embedding.parameters(), *ahead.parameters(), *back.parameters(), *model.hidden.parameters()]
    optimizer = torch.optim.Adam(trained, 1e-3, amsgrad=True, weight_decay=1e-5, fused=True)
    for parameter in trained:
        parameter.grad = torch.randn_like(parameter)
    seconds: tuple[list[float], ...] = ([], [], [])
    for _ in range(EPOCHS):
        spent = [0.0, 0.0, 0.0]
        for index in bucketed(split.lengths, 32, generator):
            embedded = model.embedding(collate(split, index).tokens).detach().requires_grad_()
            for place, is_short in enumerate((False, True)):
                began = time.process_time()
                with torch.autocast("cpu", torch.bfloat16, enabled=is_short):
                    states = [layer(embedded)[0] for layer in (ahead, back)]
                inputs = [embedded, *ahead.parameters(), *back.parameters()]
                torch.autograd.grad(states, inputs, [torch.ones_like(each) for each in states])
                spent[place] += time.process_time() - began
            began = time.process_time()
            optimizer.step()
            spent[2] += time.process_time() - began
        for own, value in zip(seconds, spent, strict=True):
            own.append(value)
    return seconds


def main() -> None:
    torch.set_num_threads(1)
    data = DataSettings(source="sst2")
    dataset = load(data, TEXT)
    run = Run(data=data, text=TEXT, training=TrainingSettings(epochs=EPOCHS))
    words = train(update_settings(run, {"training": TrainingSettings(epochs=1)}), dataset).words  # and warms up
    our_seconds, our_losses = ours(run, dataset)
    plain_seconds, plain_losses = reference(dataset, words)
    passes, short_passes, steps = floor(dataset, words)
    floors = [sum(parts) for parts in zip(passes, steps, strict=True)]
    table = Table("epoch", "ours, s", "plain, s", "floor, s", "ours, loss", "plain, loss")
    for epoch in range(EPOCHS):
        row = (our_seconds[epoch], plain_seconds[epoch], floors[epoch], our_losses[epoch], plain_losses[epoch])
        table.add_row(str(epoch + 1), *(f"{value:.3f}" for value in row))
    console = Console(highlight=False)
    console.print(table)
    ratio = median(plain_seconds) / median(our_seconds)
    console.print(f"median epoch: the plain loop takes {ratio:.2f} times as long (aim: 2.5 or more)")
    above = median(our_seconds) / median(floors)
    console.print(f"median epoch: ours takes {above:.2f} times as long as the floor (aim: 1.5 or less)")
    short = median(short_passes) / median(passes)
    console.print(f"the passes of the LSTMs take {short:.2f} times as long in bfloat16 as in float32 on this processor")


if __name__ == "__main__":
    main()
