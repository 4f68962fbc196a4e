"""The numbers that the papers printed, to be shown beside ours.

Each paper's folder has a file `published.csv`, one number per row, with these columns:

item, page      where it is printed: "Table 2", "Figure 13", "section 5.4"; the page only where we know it
data            our name for the data set, else the paper's own in lower case; "all" for a statement about all of them
model           as our tables call it; empty where the number is about the data alone
                jain_wallace                 encoder and attention: "bilstm additive", "average additive"
                serrano_smith                attention over sentences or words; encoder: "hierarchical rnn", "flat none"
                attefa, wiegreffe_pinter     encoder: "bilstm", or "mlp", which reads each token alone
                seat                         encoder and method: "rnn seat", "bilstm word_at", "bert seat without topk"
                sun_lu                       "dp", "dp-l", "dp-a", "ad", the paper's names
                mohankumar                   "vanilla", "diversity", "orthogonal"
                rationales                   "BiRNN", "BiRNN-Attn", "BiRNN-HateXplain", the paper's names
measure         a name in measures.toml, followed by what the paper splits by: "class 0" (the predicted class; for
                sizes and tokens the label), "seed=50", "lambda=10", "radius=0.01" (noise on embeddings), "words=2"
                (replaced)
value, spread   the number, and the standard deviation printed beside it; shares are in 0..1 even if printed in percent
note            what to know before comparing

Per-seed numbers of Amini and Kosseim (Tables 4 and 5) are included only for the columns that could be read without
doubt: all nine seeds, agreeing with the mean and deviation of Table 3. For Wiegreffe and Pinter we have what others
report. Later runs of Jain and Wallace's code are from the result files that they published with it (graph_outputs).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import NamedTuple

import polars as pl

from heedful.errors import lookup

PAPERS: dict[str, str] = {
    "jain_wallace": "Jain and Wallace (2019), Attention is not Explanation",
    "wiegreffe_pinter": "Wiegreffe and Pinter (2019), Attention is not not Explanation",
    "serrano_smith": "Serrano and Smith (2019), Is Attention Interpretable?",
    "attefa": "Amini and Kosseim (2022), How (Un)Faithful is Attention?",
    "seat": "Hu et al. (2023), SEAT: Stable and Explainable Attention",
    "sun_lu": "Sun and Lu (2020), Understanding Attention for Text Classification",
    "mohankumar": "Mohankumar et al. (2020), Towards Transparent and Explainable Attention Models",
    "rationales": "Mathew et al. (2021), HateXplain: A Benchmark Dataset for Explainable Hate Speech Detection",
}

_COLUMNS = {
    "item": pl.String,
    "page": pl.Int64,
    "data": pl.String,
    "model": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "spread": pl.Float64,
    "note": pl.String,
}


class Place(NamedTuple):
    """Where a number of a paper is: unique within the paper."""

    item: str
    data: str
    model: str
    measure: str


@cache
def published(paper: str) -> pl.DataFrame:
    """All numbers that we have from a paper, in the order of its tables; a page or spread not printed is null.

    >>> published("sun_lu").select("item", "data", "model", "measure", "value").row(35)
    ('Table 2', 'sst2', 'dp', 'accuracy lambda=0.001', 0.553)
    """
    lookup("paper", paper, PAPERS)
    file = resources.files("heedful.papers") / paper / "published.csv"
    return pl.read_csv(file.read_bytes(), schema=_COLUMNS).with_columns(pl.col("model", "note").fill_null(""))


def number(paper: str, *, item: str, data: str, measure: str, model: str = "") -> float | None:
    """The number printed there, or None where the paper prints none; without a model, one about the data alone.

    >>> number("jain_wallace", item="Table 2", data="sst2", model="bilstm additive", measure="tau_gradient class 0")
    0.4
    """
    place = Place(item, data, model, measure)
    for places in _reading:
        places.add(place)
    rows = published(paper).filter(**place._asdict())
    return None if rows.is_empty() else rows["value"].item()


_reading: list[set[Place]] = []


@contextmanager
def read_numbers() -> Iterator[set[Place]]:
    """The places of all numbers that `number` is asked for in the block: what tables and figures show of a paper."""
    _reading.append(places := set())
    try:
        yield places
    finally:
        _reading.pop()


def deviation(paper: str, *, item: str, data: str, measure: str, model: str = "") -> float | None:
    """The standard deviation printed next to that number, or None where the paper prints none."""
    rows = published(paper).filter(item=item, data=data, model=model, measure=measure)
    return None if rows.is_empty() else rows["spread"].item()
