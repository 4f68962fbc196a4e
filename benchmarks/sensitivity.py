"""Our search for the smallest change that changes a decision against a plain binary search, on one thread, in one run.

The reference tries eight radii in turn for each number of top words, doubled or halved until the decision both changes
and does not, then between the two; at each radius ten steps of ascent from nothing, for all texts to the end.
Ours is the test's own search with its own settings. The top words by attention, five sizes; 32 texts of middling length
and a quickly trained BiLSTM of 64 units. sst2 needs HEEDFUL_DATA. Processor time is taken; timings differ from machine
to machine, the ratios are what is claimed.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/sensitivity.py
"""

import os
import time
from inspect import signature

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from heedful.attacks import Ball, ascend, slope
from heedful.attribution.items import item_of_token
from heedful.battery import Evidence
from heedful.battery.comprehensiveness_sufficiency import SIZES, top_items, top_sizes
from heedful.battery.sensitivity import sensitivity, smallest_flips
from heedful.data import load
from heedful.data.batching import collate, encode_split, in_order
from heedful.models.trace import rerun, trace
from heedful.settings import DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.subjects.subject import float64_eval_copy
from heedful.training.loop import train
from heedful.types import Batch, Model, Trace

TEXTS, PROBES, STEPS = 32, 8, 10
OURS = {name: signature(sensitivity).parameters[name].default for name in ("probes", "steps")}
LARGER = 1.02
SPEED, MEAN, SHARE = 3.0, 1.0, 0.05


def reference(model: Model, seen: Trace, words: Tensor) -> Tensor:
    """The smallest radius at which ascent changed the decision, for each text; NaN where none did."""
    decided, blank = seen.logits.argmax(-1, keepdim=True), torch.zeros_like(seen.embedded)
    movable = words[..., None].expand_as(blank)

    def lead(change: Tensor) -> Tensor:
        logits = rerun(model, seen, change).logits
        return logits.scatter(1, decided, -torch.inf).amax(1) - logits.gather(1, decided)[:, 0]

    steep = slope(lead, blank).where(movable, 0.0).flatten(1).norm(dim=1)
    radius = -lead(blank) / steep
    low, high = torch.zeros_like(radius), torch.full_like(radius, torch.inf)
    for _ in range(PROBES):
        change = ascend(lead, blank, movable, Ball(radius, "l2"), steps=STEPS)
        changes = lead(change) > 0
        high = high.minimum(change.flatten(1).norm(dim=1)).where(changes, high)
        low = low.maximum(radius).where(~changes, low)
        between = torch.where(low > 0, (low * high).sqrt(), high / 2)
        radius = torch.where(high.isinf(), 2 * low, between)
    return high.where(high.isfinite(), torch.nan)


def trained_on(source: str) -> tuple[Model, Batch]:
    """A trained model, and some texts."""
    run = Run(
        data=DataSettings(source=source, train_limit=2000),
        network=NetworkSettings(encoder="bilstm", hidden_size=64),
        training=TrainingSettings(epochs=3),
    )
    dataset = load(run.data, run.text)
    trained = train(run, dataset)
    split = encode_split(dataset.test, trained.words)
    blocks = in_order(split.lengths, TEXTS)
    return float64_eval_copy(trained.model), collate(split, blocks[len(blocks) // 2])


def top_words(evidence: Evidence) -> Tensor:
    """The most attended words for each size of rationale, [text size time]."""
    tops = top_items(evidence.ranking("attention"), evidence.items, top_sizes(evidence.count, SIZES))
    word_ids = item_of_token(evidence.trace)[:, None].expand(-1, len(SIZES), -1)
    return tops.gather(2, word_ids.clamp_min(0)) & (word_ids >= 0)


@torch.no_grad()
def race(model: Model, batch: Batch) -> tuple[float, float, Tensor, Tensor]:
    """Seconds of the plain search and of ours, and the radii that each finds."""
    seen = trace(model, batch)
    words = top_words(Evidence(model, seen))
    began = time.process_time()
    plain = torch.stack([reference(model, seen, chosen) for chosen in words.unbind(1)], 1)
    halfway = time.process_time()
    ours = smallest_flips(model, seen, words, **OURS)
    return halfway - began, time.process_time() - halfway, plain, ours


def main() -> None:
    torch.set_num_threads(1)
    table = Table("data", "plain, s", "ours, s", "ratio", "ours / plain", "larger", "plain alone", "ours alone")
    ratios, means, shares = [], [], []
    for source in ("mock-1", *(("sst2",) if os.environ.get("HEEDFUL_DATA") else ())):
        slow, fast, plain, ours = race(*trained_on(source))
        relative = (ours / plain)[(ours / plain).isfinite()]
        ratios.append(slow / fast)
        means.append(relative.mean().item())
        shares.append((relative > LARGER).double().mean().item())
        alone = [int((first.isfinite() & other.isnan()).sum()) for first, other in ((plain, ours), (ours, plain))]
        numbers = (f"{slow:.1f}", f"{fast:.1f}", f"{ratios[-1]:.1f}", f"{means[-1]:.3f}", f"{shares[-1]:.1%}")
        table.add_row(source, *numbers, *map(str, alone))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"the plain search takes at least {min(ratios):.1f} times as long (aim: {SPEED} or more)")
    console.print(f"our radii are at most {max(means):.3f} of the plain ones in the mean (aim: {MEAN} or less)")
    console.print(f"at most {max(shares):.1%} of them are larger by more than 2 % (aim: {SHARE:.0%} or less)")


if __name__ == "__main__":
    main()
