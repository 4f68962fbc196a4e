"""Our leave-one-out against captum's FeatureAblation on the same models, on one thread, in one run; and how it grows.

Captum replaces features and cannot delete them, so its forward function drops the tokens that it replaced by padding:
the same numbers come out, which is checked. It gets one text at a time or a padded batch, whichever number of
perturbations at once is fastest for it. Models have random weights, embedding 300 and 128 units; all tokens are deleted
in turn. Processor time is taken, in turns, and medians compared: timings differ from machine to machine, the ratio is
what is claimed.

For recurrent encoders the memory of the state is printed: how many steps a shortened text is read, on average, until
its state is the whole text's again. Times the number of shortened texts and the time of one step among many (to read a
token and to score the state), and the run on the whole text added, it is the bound below which no implementation gets
that takes these steps. Both are measured in turns with the others, and are medians as theirs are.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/leave_one_out.py [captum] [growth] [trained]

`trained` needs HEEDFUL_DATA: models trained on sst2 and imdb_small, in double precision as in an audit, on their test
texts and on these joined to longer ones.
"""

import math
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from captum.attr import FeatureAblation
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import linear

from heedful.attribution.deletion import logits_by_deletion
from heedful.attribution.leave_one_out import leave_one_out
from heedful.attribution.recurrent_step import RecurrentStep, recurrent_step
from heedful.data.batching import collate, encode_split, in_order
from heedful.data.tokenizer import PAD
from heedful.jobs.work import ensure_on, load_data
from heedful.models.attention import Additive
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.encoders.recurrent import Recurrent
from heedful.models.trace import trace
from heedful.settings import NetworkSettings, Run
from heedful.store.store import Store
from heedful.subjects.subject import float64_eval_copy
from heedful.types import Batch, Model, Trace

VOCABULARY = 5000
TOKENS = 2**13
"""Run in one batch where every shortened text is run."""
VARIANTS = 512
"""Shortened texts that take a step together, in the bound."""
ROUNDS = 5
SIZES = {20: 64, 200: 8}
"""Texts of about so many tokens: how many. An audit reads up to 64, or 8,192 tokens, at a time."""
ENCODERS = ("bilstm", "bigru", "lstm", "gru", "rnn", "cnn", "average")
AIMS = {("bilstm", 20): 2.5, ("bilstm", 200): 6.0}
EXPONENT = 1.4
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
    items = seen.encoded.items
    all_but_one = items[:, None] & ~torch.eye(items.shape[1], dtype=torch.bool)
    return logits_by_deletion(model, seen, all_but_one, items, tokens=TOKENS)


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


def race(encoder: str, length: int) -> tuple[str, dict[str, float], float]:
    """Captum's settings, the median milliseconds a text of each contender and of the bound, and the state's memory.

    Bound and memory are NaN where the encoder is not recurrent.
    """
    model, batch = random_model(encoder), texts(length, SIZES[length])
    settings, captum = fastest_captum(model, batch)
    contenders = {
        "captum": captum,
        "plain": lambda: ours(model, batch, every_shortened_text),
        "ours": lambda: ours(model, batch),
    }
    torch.testing.assert_close(contenders["ours"](), captum(), atol=1e-5, rtol=0)
    taken = {name: [] for name in (*contenders, "bound")}
    is_recurrent, seen = isinstance(model.encoder, Recurrent), trace(model, batch)
    steps = steps_taken(lambda: leave_one_out(model, seen)) if is_recurrent else math.nan
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            taken[name].append(1000 * seconds(run) / SIZES[length])
        whole = seconds(lambda: trace(model, batch).logits)
        step = step_seconds(model) if is_recurrent else math.nan
        taken["bound"].append(1000 * (steps * step + whole) / SIZES[length])
    directions = 1 if getattr(model.encoder, "back", None) is None else 2
    medians = {name: median(each) for name, each in taken.items()}
    return settings, medians, steps / (directions * int(batch.mask.sum()))


def steps_taken(run: Callable[[], object]) -> int:
    """How many steps all shortened texts together are read."""
    counted, original = [], RecurrentStep.apply

    def count(self: RecurrentStep, tokens: Tensor, state: Tensor, memory: Tensor) -> None:
        counted.append(len(tokens))
        original(self, tokens, state, memory)

    RecurrentStep.apply = count
    try:
        run()
    finally:
        RecurrentStep.apply = original
    return sum(counted)


def step_seconds(model: AttentionModel) -> float:
    """The seconds that one step of one shortened text takes among many, the median of several."""
    encoder, attention = model.encoder, model.attention
    assert isinstance(encoder, Recurrent) and isinstance(attention, Additive)
    vectors = torch.randn(VARIANTS, encoder.ahead.input_size, dtype=attention.hidden.weight.dtype)
    step, state = recurrent_step(encoder.ahead, vectors), vectors.new_zeros(VARIANTS, encoder.ahead.hidden_size)
    memory = step.memory(state, torch.ones(1, VARIANTS, dtype=torch.bool)).contiguous()
    tokens, weight = torch.arange(VARIANTS), attention.hidden.weight[:, : encoder.ahead.hidden_size]

    def ten() -> Tensor:
        scores = state
        for _ in range(10):
            step.apply(tokens, state, memory)
            scores = linear(state, weight).sigmoid_() @ attention.score.weight[0]
        return scores

    return median(seconds(ten) for _ in range(11)) / (10 * VARIANTS)


def against_captum(console: Console) -> None:
    headings = (
        "encoder",
        "tokens",
        "captum's best",
        "captum",
        "plain",
        "ours",
        "ratio",
        "memory",
        "bound",
        "ours/bound",
    )
    table, reached = Table(*headings, title="milliseconds a text"), []
    for encoder in ENCODERS:
        for length in SIZES:
            settings, taken, memory = race(encoder, length)
            bound = taken.pop("bound")
            ratio, over = taken["captum"] / taken["ours"], taken["ours"] / bound
            times = (f"{t:.2f}" for t in taken.values())
            beside = ("", "", "") if math.isnan(bound) else (f"{memory:.0f}", f"{bound:.2f}", f"{over:.2f}")
            table.add_row(encoder, str(length), settings, *times, f"{ratio:.1f}", *beside)
            if aim := AIMS.get((encoder, length)):
                line = f"{encoder}, {length} tokens: captum takes {ratio:.1f} times as long (aim: {aim} or more)"
                reached.append(f"{line}; {over:.2f} times the bound of {bound:.2f} ms")
    console.print(table, *reached, sep="\n")


def growth(console: Console) -> None:
    """A BiLSTM with random weights on 200 and on 2,000 tokens."""
    model = random_model("bilstm")
    print_growth(console, "random weights, float32", model, {n: texts(n, c) for n, c in ((200, 4), (2000, 1))})


def print_growth(console: Console, title: str, model: Model, batches: dict[int, Batch]) -> None:
    taken_by = {}
    for length, batch in batches.items():
        seen = trace(model, batch)
        leave_one_out(model, seen)
        taken = min(seconds(lambda seen=seen: leave_one_out(model, seen)) for _ in range(ROUNDS)) / len(batch.labels)
        memory = steps_taken(lambda seen=seen: leave_one_out(model, seen)) / (2 * int(batch.mask.sum()))
        taken_by[length] = taken
        console.print(f"{title}: {length} tokens, {1000 * taken:.1f} ms a text, {memory:.0f} steps a shortened text")
    (short, first), (long, last) = taken_by.items()
    exponent = math.log(last / first) / math.log(long / short)
    console.print(f"  growth exponent from {short} to {long} tokens: {exponent:.2f} (aim: {EXPONENT} or less)")


def trained(console: Console, name: str, run: Run, joined: bool) -> None:
    """A trained model in double precision, on some of its test texts; then longer texts, joined."""
    run, dataset = load_data(run)
    with torch.enable_grad():
        _, result, _ = ensure_on(run, dataset, Store("runs"))
    model, split = float64_eval_copy(result.model), encode_split(dataset.test, result.words)
    blocks = in_order(split.lengths, 32)
    batch = collate(split, blocks[len(blocks) // 2])
    seen = trace(model, batch)
    leave_one_out(model, seen)
    taken = 1000 * min(seconds(lambda: leave_one_out(model, seen)) for _ in range(ROUNDS)) / len(batch.labels)
    memory = steps_taken(lambda: leave_one_out(model, seen)) / (2 * int(batch.mask.sum()))
    length = float(batch.mask.sum(1).double().mean())
    title = f"{name}, trained, float64"
    console.print(f"{title}: {length:.0f} tokens, {taken:.2f} ms a text, {memory:.0f} steps a shortened text")
    if joined:
        tokens = torch.cat([torch.as_tensor(collate(split, [text]).tokens[0]) for text in range(40)])
        lengths = {length: tokens[:length][None] for length in (200, 2000)}
        print_growth(console, title, model, {n: without_padding(t) for n, t in lengths.items()})


def random_model(encoder: str) -> AttentionModel:
    torch.manual_seed(0)
    return build_model(NetworkSettings(encoder=encoder), VOCABULARY, 2).eval()


def main(chosen: tuple[str, ...] = ("captum", "growth")) -> None:
    torch.set_num_threads(1)
    console = Console(highlight=False)
    with torch.no_grad():
        if "captum" in chosen:
            against_captum(console)
        if "growth" in chosen:
            growth(console)
        if "trained" in chosen:
            from accuracy import plan
            from audit import IMDB

            trained(console, "sst2", plan()["sst2 bilstm"][0], joined=False)
            trained(console, "imdb_small", IMDB, joined=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ("captum", "growth"))
