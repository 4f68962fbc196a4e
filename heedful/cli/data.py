"""`heedful data`: look at data before training on it."""

from collections import Counter
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.options import make_run

if TYPE_CHECKING:
    from heedful.auditing.synonym_pairs import Pair
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


@app.command()
def synonyms(
    data: options.Source,
    vectors: options.Vectors = None,
    text: options.Text = None,
    label: options.Label = None,
    query: options.Query = None,
    settings: options.Set = None,
    kind: Annotated[str, typer.Option(help="both (WordNet and vectors), wordnet, or vectors.")] = "both",
    min_similarity: Annotated[float | None, typer.Option(help="How similar the two words must be at least.")] = None,
    pairs: Annotated[int, typer.Option(min=0, help="How many words to list.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed of the words that are listed.")] = 0,
) -> None:
    """List random words of DATA and the synonyms that an audit would put in their place."""
    from heedful.auditing.synonym_pairs import drawn_pairs
    from heedful.data.synonyms import MIN_SIMILARITY, Kind, find_synonyms
    from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
    from heedful.errors import pick

    known: dict[str, Kind] = {name: name for name in MIN_SIMILARITY}
    run = make_run({"data": data, "text": text, "label": label, "query": query, "vectors": vectors}, settings)
    dataset = _load(data, text, label, query, settings)
    words = learn_vocabulary(WordTokenizer.from_settings(run.text), dataset.train, run.text.min_count)
    chosen = find_synonyms(words.words, pick("kind", kind, known), vectors or "", min_similarity)
    drawn = drawn_pairs(dataset.test, words, chosen, seed)
    _print_pairs(drawn[:pairs])
    share = len(drawn) / max(1, len(dataset.test))
    typer.echo(
        f"{chosen.source}\n{len(chosen.pairs)} of the {words.size} words of the vocabulary have a synonym in it; "
        f"{share:.0%} of the {len(dataset.test)} test texts have a word to replace."
    )


def _print_pairs(pairs: "Sequence[Pair]") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "text", "synonym", "similarity", "cosine", box=None)
    for number, pair in enumerate(pairs, start=1):
        context = f"{escape(pair.before)} [bold]\\[{escape(pair.word)}][/bold] {escape(pair.after)}".strip()
        cosine = "" if isnan(pair.synonym.cosine) else f"{pair.synonym.cosine:.2f}"
        table.add_row(str(number), context, escape(pair.synonym.word), f"{pair.synonym.similarity:.2f}", cosine)
    Console(highlight=False).print(table)


def _load(data: str, text: str | None, label: str | None, query: str | None, settings: list[str] | None) -> "Dataset":
    from heedful.runs.worker import load_data

    return load_data(make_run({"data": data, "text": text, "label": label, "query": query}, settings))[1]
