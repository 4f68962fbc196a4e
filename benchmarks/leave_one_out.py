"""Our leave-one-out against captum's FeatureAblation on the same models, on one thread, in one run.

Captum replaces features and cannot delete them, so its forward function drops the tokens that it replaced by padding:
the same numbers come out, which is checked. It gets one text at a time or a padded batch, whichever number of
perturbations at once is fastest for it. Models have random weights, embedding 300 and 128 units; all tokens are deleted
in turn. Processor time is taken, in turns, and medians compared: timings differ from machine to machine, the ratio is
what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/leave_one_out.py
"""

import time
from collections.abc import Callable
from statistics import median

import torch
from captum.attr import FeatureAblation
from rich.console import Console
from rich.table import Table
from torch import Tensor

from heedful.attribution import leave_one_out, leave_one_out_reference
from heedful.data.tokenizer import PAD
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.types import Batch, Trace

VOCABULARY = 5000
ROUNDS = 3
SIZES = {20: 32, 200: 4}
"""Texts of about so many tokens: how many."""
ENCODERS = ("bilstm", "bigru", "lstm", "gru", "rnn", "cnn", "average")
AIMS = {("bilstm", 20): 2.0, ("bilstm", 200): 2.5}
ALONE, TOGETHER = (16, 32, 64, 128), (2, 4)
"""Perturbations at once that captum is tried with, on single texts and on the padded batch."""


def texts(length: int, count: int) -> Batch:
    """Texts whose lengths lie within a tenth of the given one."""
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(length - length // 10, length + length // 10 + 1, (count, 1), generator=draw)
    mask = torch.arange(int(lengths.max())) < lengths
    tokens = torch.randint(4, VOCABULARY, mask.shape, generator=draw) * mask
    return Batch(torch.arange(count), tokens, mask, mask, torch.zeros(count, dtype=torch.long))


def without_padding(tokens: Tensor) -> Batch:
    """The tokens that are not padding, moved up."""
    kept = tokens != PAD
    order = (~kept).byte().argsort(dim=1, stable=True)[:, : int(kept.sum(1).max())]
    tokens, mask = tokens.gather(1, order), kept.gather(1, order)
    return Batch(torch.arange(len(tokens)), tokens, mask, mask, torch.zeros(len(tokens), dtype=torch.long))


def ours(model: AttentionModel, batch: Batch, way: Callable = leave_one_out) -> Tensor:
    """How much the probability of class 1 falls without each token, the run on the whole text included."""
    seen = trace(model, batch)
    whole, left = seen.logits.softmax(-1)[:, 1:], way(model, seen).softmax(-1)[..., 1]
    return (whole - left).where(batch.mask, 0.0)


def every_shortened_text(model: AttentionModel, seen: Trace) -> Tensor:
    """The reference implementation, attending to each shortened text."""
    return leave_one_out_reference(model, seen)[0]


def captums(model: AttentionModel, batch: Batch, at_once: int, alone: bool) -> Tensor:
    """The same by FeatureAblation."""
    ablation = FeatureAblation(lambda tokens: trace(model, without_padding(tokens)).logits.softmax(-1)[:, 1])
    if not alone:
        effect = ablation.attribute(batch.tokens, baselines=PAD, perturbations_per_eval=at_once)
        return effect.where(batch.mask, 0.0)
    rows = torch.zeros(batch.mask.shape)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        text = batch.tokens[row : row + 1, :length]
        rows[row, :length] = ablation.attribute(text, baselines=PAD, perturbations_per_eval=at_once)[0]
    return rows


def seconds(run: Callable[[], Tensor]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def fastest_captum(model: AttentionModel, batch: Batch) -> tuple[str, Callable[[], Tensor]]:
    """Captum with the settings that were fastest in one trial each, and their name."""
    choices = [(n, True) for n in ALONE] + [(n, False) for n in TOGETHER]
    trials = {choice: seconds(lambda choice=choice: captums(model, batch, *choice)) for choice in choices}
    best = min(trials, key=lambda choice: trials[choice])
    return f"{best[0]} x {'text' if best[1] else 'batch'}", lambda: captums(model, batch, *best)


def race(encoder: str, length: int) -> tuple[str, dict[str, float]]:
    """Captum's settings, and the median milliseconds a text of each contender."""
    torch.manual_seed(0)
    model = build_model(NetworkSettings(encoder=encoder), VOCABULARY, 2).eval()
    batch = texts(length, SIZES[length])
    settings, captum = fastest_captum(model, batch)
    contenders = {
        "captum": captum,
        "plain": lambda: ours(model, batch, every_shortened_text),
        "ours": lambda: ours(model, batch),
    }
    torch.testing.assert_close(contenders["ours"](), captum(), atol=1e-5, rtol=0)
    taken = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            taken[name].append(1000 * seconds(run) / SIZES[length])
    return settings, {name: median(each) for name, each in taken.items()}


def main() -> None:
    torch.set_num_threads(1)
    console = Console(highlight=False)
    table = Table("encoder", "tokens", "captum's best", "captum", "plain", "ours", "ratio", title="milliseconds a text")
    reached = []
    with torch.no_grad():
        for encoder in ENCODERS:
            for length in SIZES:
                settings, taken = race(encoder, length)
                ratio = taken["captum"] / taken["ours"]
                table.add_row(encoder, str(length), settings, *(f"{t:.2f}" for t in taken.values()), f"{ratio:.1f}")
                if aim := AIMS.get((encoder, length)):
                    reached.append(
                        f"{encoder}, {length} tokens: captum takes {ratio:.1f} times as long (aim: {aim} or more)"
                    )
    console.print(table, *reached, sep="\n")


if __name__ == "__main__":
    main()
