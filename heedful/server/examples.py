"""Texts to begin with: of a model's audit, or of the data that it was trained on."""

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

import polars as pl

from heedful.data import DATASETS
from heedful.data import load as load_dataset
from heedful.data.sources.named import named_sets
from heedful.errors import HeedfulError
from heedful.report.audit_files import AuditFiles
from heedful.server.model_info import ExampleText
from heedful.settings import Run
from heedful.types import Dataset, Example

MOST = 12
LONGEST = 1_200
"""Characters of an example, at most."""


def examples_of_audit(audit: AuditFiles) -> list[ExampleText]:
    """The texts that the audit shows word by word, with what people marked in them."""
    marked = audit.rows.filter(pl.col("item").is_not_null(), pl.col("measure") == "rationale")
    marks = {
        int(number): sorted(items)
        for number, items in marked.filter(pl.col("value") == 1).group_by("example").agg("item").iter_rows()
    }
    known = set(marked["example"].unique().to_list())
    texts = [
        ExampleText(
            text=row["text"] or " ".join(row["items"]),
            query=row["query"] or "",
            label=row["label"],
            marks=marks.get(row["example"], []) if row["example"] in known else None,
        )
        for row in audit.examples.sort("example").iter_rows(named=True)
    ]
    return _chosen(texts)


def examples_of_data(run: Run) -> list[ExampleText]:
    """Texts of the run's test split; none where the data is not at hand, or changed.

    Only what Heedful generates, or has under a name, is read: a run may come from strangers, and what it names with it.
    """
    dataset = _own_data(run)
    return [] if dataset is None else _chosen(_texts(dataset.test, dataset.labels))


def _own_data(run: Run) -> Dataset | None:
    if run.data.source not in DATASETS and run.data.source not in named_sets():
        return None
    try:
        dataset = load_dataset(run.data, run.text, sentences=run.reads_sentences)
    except (HeedfulError, OSError):
        return None
    return dataset if run.data.fingerprint in ("", dataset.fingerprint) else None


def _texts(examples: Sequence[Example], labels: Sequence[str]) -> Iterable[ExampleText]:
    for example in examples:
        yield ExampleText(
            text=example.text or " ".join(example.tokens),
            query=example.query_text or " ".join(example.query),
            label=labels[example.label],
            marks=None if example.rationale is None else sorted(example.rationale),
        )


def _chosen(texts: Iterable[ExampleText]) -> list[ExampleText]:
    """Some texts that are not too long, the labels taking turns."""
    by_label: dict[str, list[ExampleText]] = {}
    for text in texts:
        own = by_label.setdefault(text.label, [])
        if len(text.text) <= LONGEST and len(own) < MOST:
            own.append(text)
    turns = chain.from_iterable(zip_longest(*by_label.values()))
    return [text for text in turns if text is not None][:MOST]
