"""Heat maps of texts under three perturbations, after Figures 1, 3 and 4 of Hu et al. (2023)."""

from dataclasses import replace

import polars as pl

from heedful.report.figure import Figure
from heedful.studies.charts import heat_maps
from heedful.studies.figures import Heading, study_figure
from heedful.studies.seat.columns import OTHER_SEEDS, RADII
from heedful.studies.study import Cell, Results

PAPER = "Hu et al. 2023, {}".format
READ_AS = {
    "attention": "none",
    "noisy_attention": "noise on a word",
    "replaced_attention": "a similar word",
    "seed_attention": "another seed",
}
DRAWN_ENCODER = "bilstm"
SHORTEST, LONGEST = 6, 12
"""Words of a text that is drawn as a heat map."""
NOT_DRAWN = ("tweeteval_hate",)
"""Sets whose texts insult people: no page need repeat them."""


def heat_map_figures(results: Results) -> list[Figure]:
    """A text of each data set but hateful ones, the first short enough, as each model reads it when perturbed."""
    figures = []
    for data in (name for name in results.datasets if name not in NOT_DRAWN):
        cells = results.select(data=data, encoder=DRAWN_ENCODER, role=OTHER_SEEDS)
        cells = [cell for cell in cells if not cell.shown.is_empty()]
        example = _short_text(cells[0]) if cells else None
        if example is not None:
            figures.append(_heat_map(pl.concat([_weights(cell, example) for cell in cells]), data))
    # One explanation is enough for figures that follow each other.
    return [*figures[:1], *(replace(figure, caption="As above.") for figure in figures[1:])]


def _short_text(cell: Cell) -> int | None:
    """The first text that is shown word by word, is short, and in which a word was replaced."""
    texts = (
        cell.shown.filter(measure="attention")
        .group_by("example")
        .agg(words=pl.len(), replaced=(pl.col("word") != pl.col("replaced")).any())
    )
    short = texts.filter(pl.col("words").is_between(SHORTEST, LONGEST) & pl.col("replaced"))["example"]
    return None if short.is_empty() else int(short.sort()[0])


def _weights(cell: Cell, example: int) -> pl.DataFrame:
    """model, read (how the text was read), place, word, weight, and whether the word was perturbed, of one text."""
    text = cell.shown.filter(pl.col("example") == example)
    rows = text.filter(pl.col("measure").is_in(list(READ_AS)))
    is_similar, is_noisy = pl.col("measure") == "replaced_attention", pl.col("measure") == "noisy_attention"
    noise_on = text.filter(measure="noisy", value=1.0)["item"].to_list()
    is_replaced = is_similar & (pl.col("word") != pl.col("replaced"))
    return rows.select(
        pl.lit(cell.method).alias("model"),
        pl.col("measure").replace_strict(READ_AS, return_dtype=pl.String).alias("read"),
        pl.col("item").alias("place"),
        pl.when(is_similar).then("replaced").otherwise("word").alias("word"),
        pl.col("value").round(4).alias("weight"),
        (is_replaced | (is_noisy & pl.col("item").is_in(noise_on))).alias("perturbed"),
    )


def _heat_map(frame: pl.DataFrame, data: str) -> Figure:
    top = frame.sort("weight", descending=True).group_by("model", "read", maintain_order=True).first()
    described = "; ".join(f"{model}, {read}: {word} {weight:.2f}" for model, read, _, word, weight, _ in top.rows())
    title = f"A text under three perturbations, {data}, {DRAWN_ENCODER}"
    return study_figure(
        Heading(f"heat_{data}", title, PAPER("Figures 1, 3 and 4")),
        heat_maps(frame, list(READ_AS.values())),
        caption=(
            f"Attention (seed 0) to the first text of {SHORTEST} to {LONGEST} words that the audit shows: as it is; "
            f"with Gaussian noise of variance {RADII[-1]:g} on a word; with a word replaced by the nearest one by the "
            "pretrained vectors (GloVe); and from another seed. Colour: the weight, from 0 to 1; underlined: the "
            "perturbed word."
        ),
        alt=f"Heat maps. Most attended: {described}.",
    )
