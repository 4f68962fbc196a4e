"""`heedful train`: one run, from data to a stored model and its scores."""

from typing import TYPE_CHECKING

from heedful.cli import options
from heedful.cli.options import make_run, use_threads
from heedful.cli.output import output
from heedful.cli.progress import progress_bar, training_reporter

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.training.trained import Trained


def train(
    data: options.Source,
    text: options.Text = None,
    label: options.Label = None,
    query: options.Query = None,
    encoder: options.Encoder = None,
    attention: options.Attention = None,
    method: options.Method = None,
    vectors: options.Vectors = None,
    seed: options.Seed = 0,
    epochs: options.Epochs = None,
    reference: options.Reference = None,
    record_flow: options.RecordFlow = None,
    settings: options.Set = None,
    runs: options.Runs = "runs",
    device: options.Device = "cpu",
    threads: options.Threads = 1,
) -> None:
    """Train one model on DATA, store it, and print how well it predicts."""
    recorded = [f"training.record_flow=[{record_flow}]"] if record_flow else []
    run = make_run(locals(), [*(settings or []), *recorded])
    use_threads(threads, device)
    from heedful.runs.folders import check_writable
    from heedful.runs.store import Store
    from heedful.runs.worker import ensure

    out, store = output(), Store(runs)
    check_writable(runs, "--runs")
    with progress_bar(out.progress) as bar:
        key, trained, is_cached = ensure(run, store, device=device, report=training_reporter(bar))
    for note in trained.notes:
        out.note(note)
    print_scores(out.console, trained)
    where = f"{runs}/{key}"
    if trained.tokens is not None:
        after = ", ".join(str(epoch) for epoch in trained.tokens["epoch"].unique().sort())
        out.console.print(f"scores of tokens after epochs {after}: {where}/tokens.parquet", markup=False)
    ended = f"cached in {where}" if is_cached else f"trained in {trained.seconds:.1f} s, stored in {where}"
    out.console.print(ended, markup=False, soft_wrap=True)
    document = {"key": key, "folder": where, "is_cached": is_cached, "seconds": trained.seconds}
    out.end({**document, "scores": trained.scores, "notes": trained.notes, "labels": trained.labels}, result=key)


def print_scores(console: "Console", trained: "Trained") -> None:
    """A table of the metrics of each split."""
    from rich.markup import escape
    from rich.table import Table

    network = trained.run.network
    title = f"{trained.run.data.source}: {network.encoder}, {network.attention} attention, epoch {trained.chosen_epoch}"
    table = Table("split", *trained.scores["test"], title=escape(title), title_justify="left")
    for split, scores in trained.scores.items():
        table.add_row(split, *(f"{value:.3f}" for value in scores.values()))
    console.print(table)
    if trained.coverage is not None:
        console.print(f"{trained.coverage:.1%} of the vocabulary has a pretrained vector")
