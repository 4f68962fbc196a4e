"""Each test of the battery against its plain form, the whole battery against a training epoch, and how time grows.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/audit.py [sst2] [imdb_small] [leave_one_out] [growth]

Needs HEEDFUL_DATA. One thread, processor time; ratios measured in one run, on texts of the trained models' own test
sets. `benchmarks/reference.py` runs the model for one text and one change at a time, in float32; ours is
in float64.
"""

import sys
import time
from collections.abc import Callable

import leave_one_out
import torch
from accuracy import plan
from reference import TESTS, read
from rich.console import Console
from rich.table import Table

from heedful.auditing.rows import audit_rows
from heedful.auditing.subject import float64_eval_copy, subject_of
from heedful.battery import BATTERY, Evidence
from heedful.data.batching import collate, encode_split, in_order
from heedful.models.attention_model import build_model
from heedful.runs.store import Store
from heedful.runs.worker import ensure_on, load_data
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Trace
from training import ours

AIMS = {"adversarial_attention": 100, "permutation": 20, "erase_until_flip": 50}
IMDB = Run(
    data=DataSettings(source="imdb_small"),
    text=TextSettings(words="alphanumeric", start_end=True, longer_than=6, max_tokens=400),
    network=NetworkSettings(vectors="glove_6b_100d", missing="zero"),
    training=TrainingSettings(epochs=2),
)
console = Console(highlight=False)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def per_test(trained: Trained, dataset: Dataset, texts: int) -> dict[str, tuple[float, float]]:
    """Seconds a text of each test: ours over batches of 32, and the plain form one by one on some of the same texts.

    What the model says of a text is given to both; a test that encodes again is charged for that.
    """
    split = encode_split(dataset.test, trained.words)
    blocks = in_order(split.lengths, 32)  # as the audit reads a split; from these, two of middling length
    index = blocks[len(blocks) // 3] + blocks[2 * len(blocks) // 3]
    model, plain_model = float64_eval_copy(trained.model), trained.model.eval()
    batches = [collate(split, index[:32]), collate(split, index[32:])]
    alone = [collate(split, [i]) for i in index[:: max(1, len(index) // texts)]][:texts]
    fast_seen, slow_seen = [read(model, batch) for batch in batches], [read(plain_model, batch) for batch in alone]
    times = {}
    for name, plain in TESTS.items():
        battery_seconds(model, fast_seen[:1], name)  # warms up
        fast = battery_seconds(model, fast_seen, name)
        slow = seconds(lambda plain=plain: [plain(plain_model, *case) for case in zip(alone, slow_seen, strict=True)])
        times[name] = (fast / len(index), slow / len(alone))
    return times


def battery_seconds(model, seen: list[Trace], name: str) -> float:
    """Seconds that one test takes on these traces, sharing nothing with other tests.

    Leave-one-out is charged to its own test alone: the ranking by it is replaced by attention's.
    """
    generator = torch.Generator().manual_seed(0)
    batches = [Evidence(model, batch) for batch in seen]
    for evidence in batches:
        if name == "erase_until_flip":
            evidence.__dict__ |= {"leave_one_out": evidence.attention, "input_gradient": evidence.attention}

    def work() -> None:
        with torch.no_grad():
            for evidence in batches:
                BATTERY[name].function(evidence, generator)

    return seconds(work)


def compare(name: str, run: Run, texts: int) -> None:
    run, dataset = load_data(run)
    _, trained, _ = ensure_on(run, dataset, Store("runs"))
    table = Table("test", "ours, ms a text", "plain, ms a text", "ratio", "aim", title=f"{name}: BiLSTM")
    times = per_test(trained, dataset, texts)
    for test, (fast, slow) in times.items():
        table.add_row(test, f"{1e3 * fast:.2f}", f"{1e3 * slow:.1f}", f"{slow / fast:.0f}", str(AIMS.get(test, "")))
    console.print(table)
    if name != "sst2":
        return
    subject = subject_of("bench", trained, dataset, AuditSettings())
    whole = seconds(lambda: audit_rows(subject, AuditSettings(shown=0)))
    plain = sum(slow for _, slow in times.values()) * len(dataset.test)
    epoch = min(ours(update_settings(run, {"training": TrainingSettings(epochs=2)}), dataset)[0])
    console.print(
        f"whole battery on all {len(dataset.test)} test texts: {whole:.1f} s, {plain / whole:.0f} times faster"
    )
    console.print(
        f"  than the reference implementation (aim: 15), and {whole / epoch:.2f} training epochs (aim: < 1.5)"
    )


def made_up(texts: int, length: int, classes: int) -> tuple[torch.nn.Module, list[Batch]]:
    """A random model and random texts of one length."""
    torch.manual_seed(0)
    model = build_model(NetworkSettings(embed_size=50, hidden_size=30), 1000, classes).double().eval()
    mask = torch.ones(min(32, texts), length, dtype=torch.bool)
    tokens = [torch.randint(4, 1000, mask.shape) for _ in range(max(1, texts // 32))]
    labels = torch.zeros(len(mask), dtype=torch.long)
    return model, [Batch(torch.arange(len(mask)), batch, mask, mask, labels) for batch in tokens]


def growth() -> None:
    """Seconds a text, as one of length, number of texts and number of classes grows."""
    cases = [("length", 32, length, 2) for length in (50, 100, 200, 500, 1000, 2000)]
    cases += [("texts", texts, 50, 2) for texts in (32, 128, 512)]
    cases += [("classes", 32, 50, classes) for classes in (2, 3, 5, 10, 20)]
    tests = list(TESTS)
    headings = [name.replace("_", "\n") for name in tests]
    table = Table("growing", "texts", "length", "classes", *headings, title="ms a text")
    model, batches = made_up(8, 10, 2)
    for name in tests:
        battery_seconds(model, [read(model, batches[0])], name)  # warms up
    for what, texts, length, classes in cases:
        model, batches = made_up(texts if length <= 200 else 8, length, classes)
        count = sum(len(batch.labels) for batch in batches)
        seen = [read(model, batch) for batch in batches]
        row = [f"{1e3 * battery_seconds(model, seen, name) / count:.2f}" for name in tests]
        table.add_row(what, str(count), str(length), str(classes), *row)
    console.print(table)


def main() -> None:
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or ["sst2", "imdb_small", "leave_one_out", "growth"]
    if "sst2" in chosen:
        compare("sst2", plan()["sst2 bilstm"][0], texts=24)
    if "imdb_small" in chosen:
        compare("imdb_small", IMDB, texts=6)
    if "leave_one_out" in chosen:
        leave_one_out.main()
    if "growth" in chosen:
        growth()


if __name__ == "__main__":
    main()
