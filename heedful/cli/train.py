"""`heedful train`: one run, from data to a stored model and its scores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.cli import command_options
from heedful.cli.command_options import make_run, use_threads
from heedful.cli.output import output
from heedful.cli.progress import progress_bar, training_reporter

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.settings import Run
    from heedful.store.store import Store
    from heedful.training.trained import Trained


def train(
    data: command_options.Source,
    text: command_options.Text = None,
    label: command_options.Label = None,
    query: command_options.Query = None,
    rationale: command_options.Rationale = None,
    encoder: command_options.Encoder = None,
    attention: command_options.Attention = None,
    method: command_options.Method = None,
    vectors: command_options.Vectors = None,
    seed: command_options.Seed = 0,
    epochs: command_options.Epochs = None,
    reference: command_options.Reference = None,
    finetune: command_options.Finetune = None,
    record_flow: command_options.RecordFlow = None,
    settings: command_options.Set = None,
    runs: command_options.Runs = "runs",
    device: command_options.Device = "cpu",
    threads: command_options.Threads = 1,
) -> None:
    """Train one model on DATA, or fine-tune one; store it, and print how well it predicts."""
    recorded = [f"training.record_flow=[{record_flow}]"] if record_flow else []
    run = make_run(locals(), [*(settings or []), *recorded])
    use_threads(threads, device)
    from heedful.jobs.work import ensure
    from heedful.store.folders import check_writable
    from heedful.store.store import Store

    check_writable(runs, "--runs")
    if run.finetune is not None:
        _finetune(run, Store(runs), device)
        return
    out, store = output(), Store(runs)
    with progress_bar(out.progress) as bar:
        key, trained, is_cached = ensure(run, store, device=device, report=training_reporter(bar))
    for note in trained.notes:
        out.note(note)
    print_scores(out.console, trained)
    if trained.tokens is not None:
        after = ", ".join(str(epoch) for epoch in trained.tokens["epoch"].unique().sort())
        out.console.print(f"scores of tokens after epochs {after}: {runs}/{key}/tokens.parquet", markup=False)
    _end(out, Stored(f"{runs}/{key}", is_cached), trained.seconds, trained.scores, trained.notes, trained.labels)


def _finetune(run: "Run", store: "Store", device: str) -> None:
    """Fine-tune a Hugging Face model, as the run says, or find that it was."""
    from heedful.jobs.work import ensure_finetuned

    out = output()
    with progress_bar(out.progress) as bar:
        finetuned, is_cached = ensure_finetuned(run, store, device=device, report=training_reporter(bar))
    described = finetuned.described
    for note in described.notes:
        out.note(note)
    _print_table(out.console, described.run, described.chosen_epoch, finetuned.scores)
    stored = Stored(f"{store.folder}/{finetuned.key}", is_cached)
    _end(out, stored, described.seconds, finetuned.scores, described.notes, described.labels)


@dataclass(frozen=True)
class Stored:
    """Where a run is, and whether it was there before."""

    folder: str
    is_cached: bool


def _end(
    out: "Output",
    stored: Stored,
    seconds: float,
    scores: dict[str, dict[str, float]],
    notes: tuple[str, ...],
    labels: tuple[str, ...],
) -> None:
    """Say where the run is, and end the command's output."""
    where, key = stored.folder, stored.folder.rpartition("/")[2]
    ended = f"cached in {where}" if stored.is_cached else f"trained in {seconds:.1f} s, stored in {where}"
    out.console.print(ended, markup=False, soft_wrap=True)
    document = {"key": key, "folder": where, "is_cached": stored.is_cached, "seconds": seconds}
    out.end({**document, "scores": scores, "notes": notes, "labels": labels}, result=key)


def _print_table(console: "Console", run: "Run", epoch: int, scores: dict[str, dict[str, float]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from heedful.training.trained import pretrained_name

    network = run.network
    own = f"{network.encoder}, {network.attention} attention"
    title = f"{run.data.source}: {f'{pretrained_name(run)}, fine-tuned' if run.finetune else own}, epoch {epoch}"
    table = Table("split", *scores["test"], title=escape(title), title_justify="left")
    for split, values in scores.items():
        table.add_row(split, *(f"{value:.3f}" for value in values.values()))
    console.print(table)


def print_scores(console: "Console", trained: "Trained") -> None:
    """A table of the metrics of each split."""
    _print_table(console, trained.run, trained.chosen_epoch, trained.scores)
    if trained.coverage is not None:
        console.print(f"{trained.coverage:.1%} of the vocabulary has a pretrained vector")
