"""`heedful train`: one run, from data to a stored model and its scores."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from heedful.cli import options
from heedful.cli.options import make_run, use_threads

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from heedful.training import Progress, Trained


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
    settings: options.Set = None,
    runs: options.Runs = "runs",
    device: options.Device = "cpu",
    threads: options.Threads = 1,
) -> None:
    """Train one model on DATA, store it, and print how well it predicts."""
    run = make_run(locals(), settings)
    use_threads(threads, device)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from heedful.engine import ensure
    from heedful.store import Store

    console = Console(highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        key, trained, found = ensure(run, Store(runs), device=device, report=reporter(bar))
    for note in trained.notes:
        console.print(f"note: {note}")
    print_scores(console, trained)
    where = f"{runs}/{key}"
    console.print(f"found in {where}" if found else f"trained in {trained.seconds:.1f} s, stored in {where}")


def reporter(bar: "Bar", name: str = "") -> "Callable[[Progress], None]":
    """What to call with the progress of training: a bar over batches, the last epoch's scores in front."""
    task = bar.add_task(f"{name}reading data", total=None)
    last = ""

    def report(progress: "Progress") -> None:
        nonlocal last
        if progress.scores is not None:
            last = "  ".join(
                f"{measure} {value:.3f}" for measure, value in progress.scores.items() if "macro" not in measure
            )
            return
        done = (progress.epoch - 1) * progress.batches + progress.batch
        label = f"{name}epoch {progress.epoch} of {progress.epochs}  {last}"
        bar.update(task, description=label, completed=done, total=progress.epochs * progress.batches)

    return report


def print_scores(console: "Console", trained: "Trained") -> None:
    """A table of the metrics of each split."""
    from rich.table import Table

    network = trained.run.network
    title = f"{trained.run.data.source}: {network.encoder}, {network.attention} attention, epoch {trained.chosen_epoch}"
    table = Table("split", *trained.scores["test"], title=title, title_justify="left")
    for split, scores in trained.scores.items():
        table.add_row(split, *(f"{value:.3f}" for value in scores.values()))
    console.print(table)
    if trained.coverage is not None:
        console.print(f"{trained.coverage:.1%} of the vocabulary has a pretrained vector")
