"""From token scores that runs recorded to values that claims are tested on, and frames that figures draw."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl
import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.battery.question import Values
from heedful.measures import auroc_values
from heedful.papers.reproduction import Cell
from heedful.token_scores import NEUTRAL

PLANTED = {"negative": 0, "positive": 1, "neutral": NEUTRAL}
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


def token_values(cell: Cell, measure: str, chosen: Chosen) -> Values:
    """[seed token]: a measure of the chosen tokens at the last recorded epoch; NaN for the others."""
    rows = []
    for table in cell.tokens:
        scores = last_scores(table)
        if measure not in scores.columns:
            raise KeyError(measure)
        is_chosen = chosen(torch.tensor(scores["class"].to_numpy()))
        rows.append(torch.tensor(scores[measure].to_numpy()).double().masked_fill(~is_chosen, torch.nan))
    return _stacked(rows)


def _stacked(rows: Sequence[Tensor]) -> Values:
    """[seed token]; a KeyError, as of a missing column, if no scores were recorded."""
    if not rows:
        raise KeyError("token scores")
    return torch.stack(list(rows))


def shares(cell: Cell, of: Chosen, others: Chosen) -> Values:
    """AUROC of the attention scores of one kind of tokens against another's, as values of tokens: `auroc_values`."""
    rows = [(attention, of(classes), others(classes)) for attention, classes in map(_attention, cell.tokens)]
    return _stacked([auroc_values(*row) for row in rows])


def split_shares(cell: Cell) -> Values:
    """AUROC of the tokens of the label that V.W favors against those of the other, for two labels."""
    above = shares(cell, of_label(1), of_label(0))
    rows = zip(above, cell.tokens, strict=True)
    return torch.stack([row if last_alignment(table) > 0 else 1 - row for row, table in rows])


def sunken_shares(cell: Cell) -> Values:
    """AUROC of the neutral tokens against those of the label that V.W disfavors."""
    below = [1 - shares(cell, of_label(label), neutral) for label in (0, 1)]
    rows = zip(*below, cell.tokens, strict=True)
    return torch.stack([first if last_alignment(table) > 0 else second for first, second, table in rows])


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
    named = {number: label for label, number in PLANTED.items()}
    parts = [by_token(table) for table in cell.tokens]
    frame = pl.concat(parts).filter(pl.col("class").is_in(list(named)))
    means = frame.group_by("epoch", "class", maintain_order=True).agg(pl.col(*measures).mean())
    return (
        means.rename(dict(measures))
        .unpivot(list(measures.values()), index=["epoch", "class"], variable_name="data", value_name="y")
        .select(
            "data",
            pl.col("class").replace_strict(named, return_dtype=pl.String).alias("series"),
            pl.col("epoch").alias("x"),
            "y",
        )
    )


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
