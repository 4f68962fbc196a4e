"""Each test of the battery against its plain form, and the whole battery, test by test, against a training epoch.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/audit.py [sst2] [imdb_small] [newsgroups_sports] [plain] [leave_one_out]

Needs HEEDFUL_DATA. One thread, processor time; ratios measured in one run, on texts of the trained models' own test
sets; runs are kept in `runs/`. The epoch and the battery are measured in turns, on some of the texts, and the best
round of each counts for all texts. `benchmarks/reference.py` (`plain`) runs the model for one text and one change at a
time, in float32; ours is in float64. How time grows: `benchmarks/growth.py`.
"""

import sys
from dataclasses import replace

import leave_one_out
import torch
from accuracy import GLOVE, JAIN_WALLACE, plan
from reference import TESTS, read
from rich.console import Console
from rich.table import Table
from timing import seconds, test_names, times_of_batch, times_of_tests

from heedful.battery import BATTERY, Evidence
from heedful.data.batching import collate, encode_split, in_order
from heedful.jobs.work import ensure_on, load_data
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.subject import float64_eval_copy
from heedful.training.trained import Trained
from heedful.types import Dataset, Trace
from training import ours

AIMS = {"adversarial_attention": 100, "permutation": 20, "erase_until_flip": 50}
IMDB = Run(
    data=DataSettings(source="imdb_small"),
    text=TextSettings(words="alphanumeric", start_end=True, longer_than=6, max_tokens=400),
    network=NetworkSettings(vectors="glove_6b_100d", missing="zero"),
    training=TrainingSettings(epochs=2),
)
SPORTS = Run(
    data=DataSettings(source="newsgroups_sports"),
    text=JAIN_WALLACE,
    network=GLOVE,
    training=TrainingSettings(epochs=3),
)
RUNS = {"sst2": plan()["sst2 bilstm"][0], "imdb_small": IMDB, "newsgroups_sports": SPORTS}
SAMPLES = {"sst2": 320, "imdb_small": 32, "newsgroups_sports": 32}
"""Test texts that the battery is timed on."""
BATTERY_AIMS = {"sst2": "aim: < 1", "imdb_small": "aim: < 1", "newsgroups_sports": "aim: < 300 ms a text"}
EPOCH_TEXTS = 1500
"""Training texts that an epoch is timed on, at most."""
ROUNDS = 2
console = Console(highlight=False)


def per_test(trained: Trained, dataset: Dataset, texts: int) -> dict[str, tuple[float, float]]:
    """Seconds a text of each test: ours over batches of 32, and the plain form one by one on some of the same texts.

    What the model says of a text is given to both; a test that encodes again is charged for that.
    """
    split = encode_split(dataset.test, trained.words)
    blocks = in_order(split.lengths, 32)  # from these, two of middling length
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
            evidence.__dict__ |= {"leave_one_out": evidence.attention, "gradient_x_input": evidence.attention}

    def work() -> None:
        with torch.no_grad():
            for evidence in batches:
                BATTERY[name].function(evidence, generator)

    return seconds(work)


def compare(name: str, texts: int) -> None:
    """Each test that has a plain form, beside it."""
    trained, dataset = trained_on(name)
    table = Table("test", "ours, ms a text", "plain, ms a text", "ratio", "aim", title=f"{name}: BiLSTM")
    times = per_test(trained, dataset, texts)
    for test, (fast, slow) in times.items():
        table.add_row(test, f"{1e3 * fast:.2f}", f"{1e3 * slow:.1f}", f"{slow / fast:.0f}", str(AIMS.get(test, "")))
    console.print(table)


def trained_on(name: str) -> tuple[Trained, Dataset]:
    run, dataset = load_data(RUNS[name])
    _, trained, _ = ensure_on(run, dataset, Store("runs"))
    return trained, dataset


def epoch_seconds(run: Run, dataset: Dataset) -> float:
    """Seconds that an epoch over all training texts takes, by one over some of them."""
    some = replace(dataset, train=dataset.train[:: max(1, len(dataset.train) // EPOCH_TEXTS)])
    changed = update_settings(run, {"training": update_settings(run.training, {"epochs": 2})})
    return min(ours(changed, some)[0]) * len(dataset.train) / len(some.train)


def battery_per_text(trained: Trained, dataset: Dataset, texts: int | None) -> dict[str, float]:
    """Seconds a text of each part of the default battery."""
    subject = FinishedRun(trained).texts(dataset, AuditSettings(examples=texts))
    taken, count = times_of_tests(float64_eval_copy(trained.model), subject.batches(), subject.context, test_names())
    return {name: each / count for name, each in taken.items()}


def bound_per_text(trained: Trained, dataset: Dataset, texts: int | None) -> tuple[float, float]:
    """Recurrent steps a text that the battery takes, and the seconds below which no battery gets that takes them.

    The texts themselves are read once, and everything else is free.
    """
    subject = FinishedRun(trained).texts(dataset, AuditSettings(examples=texts))
    model, count = float64_eval_copy(trained.model), len(subject.numbers)
    batches, names = list(subject.batches()), test_names()
    steps = leave_one_out.steps_taken(
        lambda: [times_of_batch(model, batch, subject.context, names) for batch in batches]
    )
    with torch.no_grad():
        reading = min(seconds(lambda: [read(model, batch) for batch in batches]) for _ in range(ROUNDS))
        step = min(leave_one_out.step_seconds(model) for _ in range(ROUNDS))
    return steps / count, (steps * step + reading) / count


def print_battery(name: str, texts: int | None) -> None:
    """Each test's milliseconds a text and its share, and how many epochs the battery takes on all test texts."""
    trained, dataset = trained_on(name)
    rounds = [(battery_per_text(trained, dataset, texts), epoch_seconds(trained.run, dataset)) for _ in range(ROUNDS)]
    times = min((times for times, _ in rounds), key=lambda times: sum(times.values()))
    epoch, whole = min(epoch for _, epoch in rounds), sum(times.values())
    table = Table("test", "ms a text", "share", "epochs", title=f"{name}: the default battery, BiLSTM")
    for test, each in sorted(times.items(), key=lambda pair: -pair[1]):
        epochs = each * len(dataset.test) / epoch
        table.add_row(test, f"{1e3 * each:.2f}", f"{each / whole:.0%}", f"{epochs:.2f}")
    console.print(table)
    ratio = whole * len(dataset.test) / epoch
    console.print(
        f"{name}: {1e3 * whole:.1f} ms a text; on all {len(dataset.test)} test texts {ratio:.2f} training epochs of "
        f"{len(dataset.train)} texts, {epoch:.1f} s each ({BATTERY_AIMS[name]})"
    )
    steps, bound = bound_per_text(trained, dataset, texts)
    console.print(
        f"{name}: to read each text once and its variants for the steps of a recurrent network that the tests take "
        f"({steps:.0f} a text), at the time of a step among many, is {1e3 * bound:.1f} ms a text, "
        f"{bound * len(dataset.test) / epoch:.2f} epochs: the battery takes {whole / bound:.1f} times that bound\n"
    )


def main() -> None:
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or [*RUNS, "plain", "leave_one_out"]
    for name, texts in SAMPLES.items():
        if name in chosen:
            print_battery(name, texts)
    if "plain" in chosen:
        compare("sst2", texts=24)
        compare("imdb_small", texts=6)
    if "leave_one_out" in chosen:
        leave_one_out.main()


if __name__ == "__main__":
    main()
