"""`heedful data`: look at data before training on it."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import command_options
from heedful.cli.command_options import make_run
from heedful.cli.output import output
from heedful.formatting import format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.battery.word_substitution import Pair
    from heedful.cli.progress import Bars
    from heedful.data.fetching import Recipe
    from heedful.data.fetching.download import Report
    from heedful.data.summary import Summary
    from heedful.settings import Run

app = typer.Typer(help="Describe, check and fetch data.", no_args_is_help=True)


def _fetchable(incomplete: str) -> list[tuple[str, str]]:
    """What the shell offers to complete."""
    from heedful.data.fetching import RECIPES

    return [(name, recipe.title) for name, recipe in RECIPES.items() if name.startswith(incomplete)]


MOST_LABELS = 30
MOST_WORDS = 60
"""How many labels the class balance lists, and how many words of a text are shown."""


@app.command()
def describe(
    data: command_options.Source,
    text: command_options.Text = None,
    label: command_options.Label = None,
    query: command_options.Query = None,
    rationale: command_options.Rationale = None,
    settings: command_options.Set = None,
    show: Annotated[int, typer.Option(min=0, help="Texts to show of each label.")] = 1,
) -> None:
    """Show class balance, lengths and duplicates of DATA, what would be dropped, and texts as a model reads them."""
    from heedful.data import labelled_texts
    from heedful.data.summary import summarize

    out = output()
    run = _run(data, text, label, query, settings, rationale)
    summary = summarize(labelled_texts(run.data, run.text), run.data, run.text)
    _print_balance(out.console, summary)
    _print_splits(out.console, summary)
    _print_dropped(out.console, summary)
    for note in summary.dataset.notes:
        if note not in map(str, summary.dropped):
            out.note(note)
    _print_texts(out.console, summary, show)
    out.console.print(f"fingerprint {summary.dataset.fingerprint}", soft_wrap=True)
    out.end(summary.as_json(), f"{_sizes(summary)}; {len(summary.dataset.labels)} labels")


@app.command()
def check(
    data: command_options.Source,
    text: command_options.Text = None,
    label: command_options.Label = None,
    query: command_options.Query = None,
    rationale: command_options.Rationale = None,
    settings: command_options.Set = None,
) -> None:
    """Read all of DATA; exit 0 if it can be trained on, and 2 with the first reason why not."""
    from heedful.data import labelled_texts
    from heedful.data.summary import summarize

    out = output()
    run = _run(data, text, label, query, settings, rationale)
    summary = summarize(labelled_texts(run.data, run.text), run.data, run.text)
    dataset = summary.dataset
    for note in dataset.notes:
        out.note(note)
    verdict = f"good to train on ({dataset.task}, {len(dataset.labels)} labels; {_sizes(summary)})"
    out.console.print(f"{dataset.name}: {verdict}", markup=False, soft_wrap=True)
    out.end({"good": True, **summary.as_json()}, verdict)


@app.command()
def synonyms(
    data: command_options.Source,
    vectors: command_options.Vectors = None,
    text: command_options.Text = None,
    label: command_options.Label = None,
    query: command_options.Query = None,
    settings: command_options.Set = None,
    kind: Annotated[str, typer.Option(help="both (WordNet and vectors), wordnet, or vectors.")] = "both",
    min_similarity: Annotated[float | None, typer.Option(help="How similar the two words must be at least.")] = None,
    pairs: Annotated[int, typer.Option(min=0, help="How many words to list.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed of the words that are listed.")] = 0,
) -> None:
    """List random words of DATA and the synonyms that an audit would put in their place."""
    from heedful.battery.word_substitution import drawn_pairs
    from heedful.data import load
    from heedful.data.synonyms import MIN_SIMILARITY, Kind, find_synonyms
    from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
    from heedful.errors import lookup

    out = output()
    known: dict[str, Kind] = {name: name for name in MIN_SIMILARITY}
    run = _run(data, text, label, query, settings)
    dataset = load(run.data, run.text)
    words = learn_vocabulary(WordTokenizer.from_settings(run.text), dataset.train, run.text.min_count)
    chosen = find_synonyms(words.words, lookup("kind", kind, known), vectors or "", min_similarity)
    drawn = drawn_pairs(dataset.test, words, chosen, seed)
    _print_pairs(out.console, drawn[:pairs])
    share = len(drawn) / max(1, len(dataset.test))
    summary = (
        f"{len(chosen.pairs)} of the {words.size} words of the vocabulary have a synonym in it; "
        f"{share:.0%} of the {len(dataset.test)} test texts have a word to replace."
    )
    out.console.print(f"{chosen.source}\n{summary}", markup=False, soft_wrap=True)
    listed = [
        {"word": p.word, "synonym": p.synonym.word, "similarity": p.synonym.similarity, "cosine": p.synonym.cosine}
        for p in drawn[:pairs]
    ]
    facts = {"source": chosen.source, "words": words.size, "with_synonym": len(chosen.pairs), "share_of_texts": share}
    out.end({**facts, "pairs": listed}, summary)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Data sets to get; none: list them.", autocompletion=_fetchable),
    ] = None,
) -> None:
    """Get public data sets into the data folder: HEEDFUL_DATA, or heedful/data in the user's cache."""
    from heedful.cli.progress import Bars
    from heedful.data.fetching import RECIPES
    from heedful.data.fetching.fetch import fetch_set, has_set
    from heedful.errors import lookup
    from heedful.settings.data_folder import data_path

    out = output()
    if not names:
        there = {name: has_set(data_path() / name) for name in RECIPES}
        _print_fetchable(out.console, RECIPES, there)
        listed = {name: {"title": RECIPES[name].title, "terms": RECIPES[name].terms} for name in RECIPES}
        sets = [{"name": name, **listed[name], "is_there": there[name]} for name in RECIPES]
        out.end({"folder": str(data_path()), "sets": sets}, "\n".join(RECIPES))
        return
    recipes = {name: lookup("data set to fetch", name, RECIPES) for name in names}
    fetched = []
    with Bars(out.progress) as bar:
        for name, recipe in recipes.items():
            fetched.append(fetch_set(name, recipe, _download_reporter(bar, name)))
    for done in fetched:
        recipe = recipes[done.name]
        was_there = " (it was there)" if done.was_there else ""
        out.console.print(f"{done.name}: {done.folder}{was_there}", markup=False, soft_wrap=True)
        out.note(f"{done.name}: terms of use: {recipe.terms}")
        if recipe.remark and not done.was_there:
            out.note(f"{done.name} is not quite the set of the study pages: {recipe.remark}")
    sets = [{"name": d.name, "folder": str(d.folder), "was_there": d.was_there} for d in fetched]
    out.end({"folder": str(data_path()), "sets": sets}, "\n".join(str(done.folder) for done in fetched))


def _run(
    data: str,
    text: str | None,
    label: str | None,
    query: str | None,
    settings: list[str] | None,
    rationale: str | None = None,
) -> "Run":
    columns = {"text": text, "label": label, "query": query, "rationale": rationale}
    return make_run({"data": data, **columns}, settings)


def _sizes(summary: "Summary") -> str:
    return ", ".join(f"{split.texts:,} {name}" for name, split in summary.splits.items())


def _print_balance(console: "Console", summary: "Summary") -> None:
    """How many texts each label has, split by split."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    title = f"{escape(summary.dataset.name)} ({summary.dataset.task}): texts of each label"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("label", overflow="fold")
    for name in summary.splits:
        table.add_column(name, justify="right", no_wrap=True)
    counts = summary.splits["train"].labels
    listed = summary.dataset.labels
    if len(listed) > MOST_LABELS:
        listed = sorted(listed, key=lambda label: -counts[label])[:MOST_LABELS]
    for label in listed:
        table.add_row(escape(label), *(_share(s.labels[label], s.texts) for s in summary.splits.values()))
    if len(listed) < len(counts):
        table.add_row(f"and {len(counts) - len(listed)} rarer labels")
    console.print(table)


def _share(count: int, total: int) -> str:
    return f"{count:,} ({format_number(count / total, percent=True)})"


def _print_splits(console: "Console", summary: "Summary") -> None:
    """How many texts each split has, how long they are, and which occur twice."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    headings = ("texts", "words:\nmedian", "\n95 %", "\nlongest", "repeated\ntexts", "also in\ntrain", "also in\ndev")
    table = Table("split", box=SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, split in summary.splits.items():
        also = (f"{split.also_in[other]:,}" if other in split.also_in else "" for other in ("train", "dev"))
        lengths = (f"{split.median:,.0f}", f"{split.high:,}", f"{split.longest:,}")
        table.add_row(name, f"{split.texts:,}", *lengths, f"{split.repeated:,}", *also)
    console.print(table)
    if summary.conflicting:
        console.print(f"{summary.conflicting:,} texts occur with more than one label.")


def _print_dropped(console: "Console", summary: "Summary") -> None:
    """What would not be trained or tested on, and why."""
    if not summary.dropped:
        console.print("No row would be dropped.")
    for lost in summary.dropped:
        console.print(f"dropped from {lost.where}: {lost.count:,} {lost.what}", markup=False)


def _download_reporter(bar: "Bars", name: str) -> "Report":
    """What to call with the progress of a download: a bar for each file, in kB."""
    tasks: dict[str, Any] = {}

    def report(file: str, done: int, total: int | None) -> None:
        if file not in tasks:
            tasks[file] = bar.add_task(f"{name}: {file} (kB)", total=None)
        bar.update(tasks[file], completed=done >> 10, total=None if total is None else total >> 10)

    return report


def _print_fetchable(console: "Console", recipes: "Mapping[str, Recipe]", there: Mapping[str, bool]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("name", "what it is", "here", box=SIMPLE_HEAD)
    for name, recipe in recipes.items():
        table.add_row(name, recipe.title, "yes" if there[name] else "")
    console.print(table)


def _print_texts(console: "Console", summary: "Summary", count: int) -> None:
    from rich.markup import escape

    for number, label in enumerate(summary.dataset.labels):
        shown = [example for example in summary.dataset.train if example.label == number][:count]
        for example in shown:
            more = " ..." if len(example.tokens) > MOST_WORDS else ""
            query = f"  |  {' '.join(example.query)}" if example.query else ""
            words = " ".join(example.tokens[:MOST_WORDS])
            console.print(f"[bold]{escape(label)}[/bold]: {escape(f'{words}{more}{query}')}")


def _print_pairs(console: "Console", pairs: "Sequence[Pair]") -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "text", "synonym", "similarity", "cosine", box=None)
    for number, pair in enumerate(pairs, start=1):
        context = f"{escape(pair.before)} [bold]\\[{escape(pair.word)}][/bold] {escape(pair.after)}".strip()
        cosine = "" if isnan(pair.synonym.cosine) else f"{pair.synonym.cosine:.2f}"
        table.add_row(str(number), context, escape(pair.synonym.word), f"{pair.synonym.similarity:.2f}", cosine)
    console.print(table)
