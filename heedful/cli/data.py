"""`heedful data`: look at data before training on it."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.options import make_run

if TYPE_CHECKING:
    from heedful.types import Dataset

app = typer.Typer(help="Describe and check data.", no_args_is_help=True)


@app.command()
def describe(
    data: options.Source,
    text: options.Text = None,
    label: options.Label = None,
    query: options.Query = None,
    settings: options.Set = None,
    show: Annotated[int, typer.Option(min=0, help="Texts to show of each label.")] = 1,
) -> None:
    """Count texts, labels and lengths of DATA, and show some of it as the model will see it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    dataset = _load(data, text, label, query, settings)
    console = Console(highlight=False)
    table = Table(
        "split", "texts", "labels", "tokens: shortest", "mean", "longest", title=f"{dataset.name} ({dataset.task})"
    )
    for name in ("train", "dev", "test"):
        examples = getattr(dataset, name)
        lengths = [len(example.tokens) for example in examples] or [0]
        counts = Counter(example.label for example in examples)
        labels = ", ".join(f"{escape(name)} {counts[number]}" for number, name in enumerate(dataset.labels))
        mean = sum(lengths) / len(lengths)
        table.add_row(name, str(len(examples)), labels, str(min(lengths)), f"{mean:.1f}", str(max(lengths)))
    console.print(table)
    for note in dataset.notes:
        console.print(f"note: {escape(note)}")
    for number, name in enumerate(dataset.labels):
        shown = [example for example in dataset.train if example.label == number][:show]
        for example in shown:
            query_shown = f"  |  {' '.join(example.query)}" if example.query else ""
            console.print(f"[bold]{escape(name)}[/bold]: {escape(' '.join(example.tokens) + query_shown)}")
    console.print(f"fingerprint {dataset.fingerprint}")


@app.command()
def check(
    data: options.Source,
    text: options.Text = None,
    label: options.Label = None,
    query: options.Query = None,
    settings: options.Set = None,
) -> None:
    """Read all of DATA; exit 0 if it can be trained on, and 2 with the first reason why not."""
    dataset = _load(data, text, label, query, settings)
    for note in dataset.notes:
        typer.echo(f"note: {note}")
    sizes = ", ".join(f"{len(getattr(dataset, name))} {name}" for name in ("train", "dev", "test"))
    typer.echo(f"{dataset.name}: good to train on ({dataset.task}, {len(dataset.labels)} labels; {sizes})")


def _load(data: str, text: str | None, label: str | None, query: str | None, settings: list[str] | None) -> "Dataset":
    from heedful.runs.worker import load_data

    return load_data(make_run({"data": data, "text": text, "label": label, "query": query}, settings))[1]
