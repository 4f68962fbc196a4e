"""`heedful data`: look at data before training on it."""

from dataclasses import asdict, dataclass
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import command_options
from heedful.cli.command_options import make_run, option
from heedful.cli.output import make_table, output
from heedful.formatting import format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.progress import Bars
    from heedful.data.fetch import Report
    from heedful.data.summary import Summary

app = typer.Typer(help="Describe, check and fetch data.", no_args_is_help=True)

MOST_LABELS = 30
MOST_WORDS = 60
"""How many labels the class balance lists, and how many words of a text are shown."""


def _fetchable(incomplete: str) -> list[tuple[str, str]]:
    """What the shell offers to complete."""
    from heedful.data.public_sets import PUBLIC_SETS

    return [(name, public.title) for name, public in PUBLIC_SETS.items() if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class DataOptions(command_options.SourceOptions):
    """The options of `heedful data check`."""

    settings: command_options.Set = None


@dataclass(frozen=True, kw_only=True)
class DescribeOptions(DataOptions):
    """The options of `heedful data describe`."""

    show: int = option("Texts to show of each label.", default=1, min=0)


@dataclass(frozen=True, kw_only=True)
class SynonymOptions(DataOptions):
    """The options of `heedful data synonyms`."""

    vectors: command_options.Vectors = None
    kind: str = option("both (WordNet and vectors), wordnet, or vectors.", default="both")
    min_similarity: float | None = option("How similar the two words must be at least.")
    pairs: int = option("How many words to list.", default=100, min=0)
    seed: int = option("Random seed of the words that are listed.", default=0)


@app.command()
def describe(options: DescribeOptions) -> None:
    """Show class balance, lengths and duplicates of DATA, what would be dropped, and texts as a model reads them."""
    out, summary = output(), _summary(options)
    _print_balance(out.console, summary)
    _print_splits(out.console, summary)
    if not summary.dropped:
        out.console.print("No row would be dropped.")
    out.say(*(f"dropped from {lost.where}: {lost.count:,} {lost.what}" for lost in summary.dropped))
    for note in summary.dataset.notes:
        if note not in map(str, summary.dropped):
            out.note(note)
    _print_texts(out.console, summary, options.show)
    out.say(f"fingerprint {summary.dataset.fingerprint}")
    out.end(summary.as_json(), f"{_sizes(summary)}; {len(summary.dataset.labels)} labels")


@app.command()
def check(options: DataOptions) -> None:
    """Read all of DATA; exit 0 if it can be trained on, and 2 with the first reason why not."""
    out, summary = output(), _summary(options)
    dataset = summary.dataset
    for note in dataset.notes:
        out.note(note)
    verdict = f"good to train on ({dataset.task}, {len(dataset.labels)} labels; {_sizes(summary)})"
    out.say(f"{dataset.name}: {verdict}")
    out.end({"good": True, **summary.as_json()}, verdict)


@app.command()
def synonyms(options: SynonymOptions) -> None:
    """List random words of DATA and the synonyms that an audit would replace them by."""
    from rich.text import Text

    from heedful.battery.word_substitution import drawn_pairs
    from heedful.data import load
    from heedful.data.synonyms import MIN_SIMILARITY, Kind, find_synonyms
    from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
    from heedful.errors import lookup

    out = output()
    known: dict[str, Kind] = {name: name for name in MIN_SIMILARITY}
    run = make_run(vars(options), options.settings)
    dataset = load(run.data, run.text)
    words = learn_vocabulary(WordTokenizer.from_settings(run.text), dataset.train, run.text.min_count)
    chosen = find_synonyms(
        words.words, lookup("kind", options.kind, known), options.vectors or "", options.min_similarity
    )
    drawn = drawn_pairs(dataset.test, words, chosen, options.seed)
    rows, listed = [], []
    for number, pair in enumerate(drawn[: options.pairs], start=1):
        synonym = pair.synonym
        context = Text.assemble(f"{pair.before} ".lstrip(), (f"[{pair.word}]", "bold"), f" {pair.after}".rstrip())
        cosine = "" if isnan(synonym.cosine) else f"{synonym.cosine:.2f}"
        rows.append((str(number), context, synonym.word, f"{synonym.similarity:.2f}", cosine))
        listed.append({**asdict(synonym), "word": pair.word, "synonym": synonym.word})
    out.console.print(make_table(("", "text", "synonym", "similarity", "cosine"), rows, text=(0, 1, 2)))
    share = len(drawn) / max(1, len(dataset.test))
    summary = (
        f"{len(chosen.pairs)} of the {words.size} words of the vocabulary have a synonym in it; "
        f"{share:.0%} of the {len(dataset.test)} test texts have a word to replace."
    )
    out.say(chosen.source, summary)
    facts = {"source": chosen.source, "words": words.size, "with_synonym": len(chosen.pairs), "share_of_texts": share}
    out.end({**facts, "pairs": listed}, summary)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Datasets to fetch; none: list them.", autocompletion=_fetchable),
    ] = None,
) -> None:
    """Fetch public datasets into the data folder: HEEDFUL_DATA, or heedful/data in the user's cache."""
    from heedful.cli.progress import Bars
    from heedful.data.fetch import fetch_set
    from heedful.data.public_sets import PUBLIC_SETS
    from heedful.data.sources.files import has_set
    from heedful.errors import lookup
    from heedful.settings.data_folder import data_path

    out, known = output(), PUBLIC_SETS
    if not names:
        there = {name: has_set(data_path() / name) for name in known}
        rows = [(name, public.title, "yes" if there[name] else "") for name, public in known.items()]
        out.console.print(make_table(("name", "what it is", "here"), rows, text=(0, 1, 2)))
        sets = [{"name": n, "title": p.title, "terms": p.terms, "is_there": there[n]} for n, p in known.items()]
        out.end({"folder": str(data_path()), "sets": sets}, "\n".join(known))
        return
    wanted = {name: lookup("dataset to fetch", name, known) for name in names}
    with Bars(out.progress) as bar:
        fetched = [fetch_set(name, public, _download_reporter(bar, name)) for name, public in wanted.items()]
    for done in fetched:
        public = wanted[done.name]
        was_there = " (it was there)" if done.was_there else ""
        out.say(f"{done.name}: {done.folder}{was_there}")
        out.note(f"{done.name}: terms of use: {public.terms}")
        if public.remark and not done.was_there:
            out.note(f"{done.name} is not quite the set of the study pages: {public.remark}")
    sets = [{"name": d.name, "folder": str(d.folder), "was_there": d.was_there} for d in fetched]
    out.end({"folder": str(data_path()), "sets": sets}, "\n".join(str(done.folder) for done in fetched))


def show_vectors_download(name: str | None) -> None:
    """Fetch public word vectors with a progress bar, unless they are there or the name is not theirs."""
    if name is None:  # and torch need not be imported
        return
    from heedful.cli.progress import Bars
    from heedful.data.fetch import VECTORS, fetch_vectors, fetched_vectors

    if name in VECTORS and not fetched_vectors(name).is_file():
        with Bars(output().progress) as bar:
            place = fetch_vectors(name, _download_reporter(bar, name))
        output().note(f"{name}: downloaded once to {place}. Terms of use: Public Domain Dedication and License (PDDL).")


def _summary(options: DataOptions) -> "Summary":
    from heedful.data import labelled_texts
    from heedful.data.summary import summarize

    run = make_run(vars(options), options.settings)
    return summarize(labelled_texts(run.data, run.text), run.data, run.text)


def _sizes(summary: "Summary") -> str:
    return ", ".join(f"{split.texts:,} {name}" for name, split in summary.splits.items())


def _print_balance(console: "Console", summary: "Summary") -> None:
    """How many texts each label has, split by split."""
    counts, listed = summary.splits["train"].labels, summary.dataset.labels
    if len(listed) > MOST_LABELS:
        listed = sorted(listed, key=lambda label: -counts[label])[:MOST_LABELS]
    splits = summary.splits.values()
    rows = []
    for label in listed:
        counted = (
            (split.labels[label], format_number(split.labels[label] / split.texts, percent=True)) for split in splits
        )
        rows.append([label, *(f"{count:,} ({share})" for count, share in counted)])
    if len(listed) < len(counts):
        rows.append([f"and {len(counts) - len(listed)} rarer labels", *("" for _ in splits)])
    title = f"{summary.dataset.name} ({summary.dataset.task}): texts of each label"
    console.print(make_table(("label", *summary.splits), rows, title=title))


def _print_splits(console: "Console", summary: "Summary") -> None:
    """How many texts each split has, how long they are, and which occur twice."""
    words = ("words:\nmedian", "\n95%", "\nlongest")
    headings = ("split", "texts", *words, "repeated\ntexts", "also in\ntrain", "also in\ndev")
    rows = []
    for name, split in summary.splits.items():
        also = (f"{split.also_in[other]:,}" if other in split.also_in else "" for other in ("train", "dev"))
        lengths = (f"{count:,.0f}" for count in split.words.values())
        rows.append((name, f"{split.texts:,}", *lengths, f"{split.repeated:,}", *also))
    console.print(make_table(headings, rows))
    if summary.conflicting:
        console.print(f"{summary.conflicting:,} texts occur with more than one label.")


def _print_texts(console: "Console", summary: "Summary", count: int) -> None:
    from rich.markup import escape

    for number, label in enumerate(summary.dataset.labels):
        shown = [example for example in summary.dataset.train if example.label == number][:count]
        for example in shown:
            more = " ..." if len(example.tokens) > MOST_WORDS else ""
            query = f"  |  {' '.join(example.query)}" if example.query else ""
            words = " ".join(example.tokens[:MOST_WORDS])
            console.print(f"[bold]{escape(label)}[/bold]: {escape(f'{words}{more}{query}')}")


def _download_reporter(bar: "Bars", name: str) -> "Report":
    """What to call with the progress of a download: a bar for each file, in kB."""
    tasks: dict[str, Any] = {}

    def report(file: str, done: int, total: int) -> None:
        if file not in tasks:
            tasks[file] = bar.add_task(f"{name}: {file} (kB)", total=None)
        bar.update(tasks[file], completed=min(done, total or done) >> 10, total=total >> 10 if total else None)

    return report
