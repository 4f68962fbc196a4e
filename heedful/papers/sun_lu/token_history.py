"""From token scores that runs recorded to values that claims are tested on, and frames that figures draw."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl
import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.battery.question import Values
from heedful.measures import auroc_per_item
from heedful.papers.reproduction import Cell
from heedful.token_scores import NEUTRAL

PLANTED = {"negative": 0, "positive": 1, "first": 0, "second": 1, "third": 2, "neutral": NEUTRAL}
"""The kind of each word of the planted sets, which its name begins with."""

Chosen = Callable[[Tensor], Bool[Tensor, " token"]]
"""From the class of each token to which of them are meant."""


def indicative(classes: Tensor) -> Bool[Tensor, " token"]:
    """The tokens that indicate some label."""
    return classes >= 0


def neutral(classes: Tensor) -> Bool[Tensor, " token"]:
    """The tokens that indicate none."""
    return classes == NEUTRAL


def of_label(number: int) -> Chosen:
    """The tokens that indicate that label."""
    return lambda classes: classes == number


def by_token(table: pl.DataFrame) -> pl.DataFrame:
    """epoch, token, class, and a column for each measure that has one number a token."""
    tokens = table.filter(pl.col("token").is_not_null())
    known = tokens.filter(measure="class").select("token", pl.col("value").cast(pl.Int32).alias("class"))
    kind = pl.col("token").str.split("_").list.first()
    if known["token"].str.contains(f"^({'|'.join(PLANTED)})_").all():
        known = known.with_columns(kind.replace_strict(PLANTED, return_dtype=pl.Int32).alias("class"))
    wide = tokens.filter(pl.col("measure") != "class").pivot("measure", index=["epoch", "token"], values="value")
    return wide.join(known, on="token", how="left", maintain_order="left")


def last_scores(table: pl.DataFrame) -> pl.DataFrame:
    """token, class and the measures of each token at the last epoch that was recorded."""
    is_last = pl.col("epoch") == pl.col("epoch").max()
    return by_token(table.filter(is_last | (pl.col("measure") == "class")))


def last_alignment(table: pl.DataFrame) -> float:
    """V.W at the last epoch that was recorded, of a model for two labels."""
    return float(table.filter(measure="V.W").sort("epoch")["value"][-1])


def shares(cell: Cell, of: Chosen, others: Chosen) -> Values:
    """For each token of one kind, the share of another kind's with a smaller attention score, at the last epoch.

    The mean is AUROC: .5 where the two kinds have similar scores.
    """
    rows = []
    for table in cell.tokens:
        attention, classes = _attention(table)
        rows.append(auroc_per_item(attention, others(classes))[of(classes)])
    return torch.stack(rows)


def split_shares(cell: Cell) -> Values:
    """How far the tokens of the label that V.W favours are above those of the other, for two labels.

    For each token of label 1, the share of tokens of label 0 below it where V.W > 0, and above it otherwise.
    """
    above = shares(cell, of_label(1), of_label(0))
    rows = zip(above, cell.tokens, strict=True)
    return torch.stack([row if last_alignment(table) > 0 else 1 - row for row, table in rows])


def sunken_shares(cell: Cell) -> Values:
    """For each token of the label that V.W disfavours, the share of neutral ones above it; NaN for the other label."""
    rows = []
    for table in cell.tokens:
        attention, classes = _attention(table)
        above = 1 - auroc_per_item(attention, neutral(classes))
        sunken = 0 if last_alignment(table) > 0 else 1
        rows.append(above.masked_fill(classes != sunken, torch.nan)[indicative(classes)])
    return torch.stack(rows)


def score_frame(cells: Sequence[Cell], measure: str) -> pl.DataFrame:
    """data, model, class and value: a score of every label-indicative or neutral token, last epoch, first seed."""
    parts = []
    for cell in cells:
        scores = last_scores(cell.tokens[0])
        if measure not in scores.columns:
            continue
        named = {number: f"label {number}" for number in range(len(cell.runs[0].labels))} | {NEUTRAL: "neutral"}
        parts.append(
            scores.filter(pl.col("class").is_in(list(named))).select(
                pl.lit(cell.data).alias("data"),
                pl.lit(cell.model).alias("model"),
                pl.col("class").replace_strict(named, return_dtype=pl.String),
                pl.col(measure).alias("value"),
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame()


def trajectories(cell: Cell, measures: Mapping[str, str]) -> pl.DataFrame:
    """Curves to draw: data (what the measure is called), series (the kind of token), x (epoch), y (mean over them)."""
    frame = pl.concat(by_token(table) for table in cell.tokens)
    kind = pl.col("token").str.split("_").list.first().alias("series")
    means = frame.group_by("epoch", kind, maintain_order=True).agg(pl.col(*measures).mean())
    curves = means.rename({**measures, "epoch": "x"})
    return curves.unpivot(list(measures.values()), index=["x", "series"], variable_name="data", value_name="y")


def model_curves(cells: Mapping[str, Cell], measures: Mapping[str, str]) -> pl.DataFrame:
    """As `trajectories`, of measures of the whole model: series is the cell's name, y the mean over seeds."""
    parts = []
    for name, cell in cells.items():
        tables = pl.concat(cell.tokens).filter(pl.col("measure").is_in(list(measures)))
        means = tables.group_by("epoch", "measure", maintain_order=True).agg(pl.col("value").mean().alias("y"))
        parts.append(
            means.select(
                pl.col("measure").replace_strict(dict(measures), return_dtype=pl.String).alias("data"),
                pl.lit(name).alias("series"),
                pl.col("epoch").alias("x"),
                "y",
            )
        )
    return pl.concat(parts)


def _attention(table: pl.DataFrame) -> tuple[Tensor, Tensor]:
    """Attention score and class of every token at the last epoch; of a contextual model the score in the texts."""
    scores = last_scores(table)
    measure = "attention_local" if "attention_local" in scores.columns else "attention"
    return torch.tensor(scores[measure].to_numpy()), torch.tensor(scores["class"].to_numpy())
