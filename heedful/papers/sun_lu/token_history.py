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


def shares(cell: Cell, of: Chosen, others: Chosen, measure: str | None = None) -> Values:
    """For each token of one kind, the share of another kind's with a smaller attention score, at the last epoch.

    The mean is AUROC: .5 where the two kinds have similar scores.

    Args:
        measure: of a contextual model, "attention" for the score of the token alone; None: that in the texts.
    """
    rows = []
    for table in cell.tokens:
        attention, classes = _attention(table, measure)
        rows.append(auroc_per_item(attention, others(classes))[of(classes)])
    return torch.stack(rows)


def weight_shares(cell: Cell) -> Values:
    """For each label-indicative token, the share of neutral ones with a smaller mean weight in the audited texts."""
    rows = []
    for words, table in zip(cell.words, cell.tokens, strict=False):
        weights = mean_weights(words, table).filter(pl.col("value").is_not_null())
        classes = torch.tensor(weights["class"].to_numpy())
        rows.append(auroc_per_item(torch.tensor(weights["value"].to_numpy()), neutral(classes))[indicative(classes)])
    return torch.stack(rows)


def mean_weights(words: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """token, class and value: the mean attention weight of every token in the audited texts, null if it is in none."""
    # Texts are shown as they were written.
    token = pl.col("word").str.to_lowercase().alias("token")
    means = words.filter(measure="attention").group_by(token).agg(pl.col("value").mean())
    return last_scores(table).select("token", "class").join(means, on="token", how="left", maintain_order="left")


def right_signs(cell: Cell, measure: str) -> Values:
    """1 for each label-indicative token for which a polarity ("polarity", "flow_B") speaks for the token's own label.

    For more than two labels: if it is largest for that label. Else 0.
    """
    return torch.stack([(_own(table, measure)[0] > 0).double() for table in cell.tokens])


def positive(cell: Cell, measure: str) -> Values:
    """1 for each label-indicative token for which the measure is positive, else 0."""
    columns = [last_scores(table) for table in cell.tokens]
    return torch.stack(
        [torch.tensor((s.filter(pl.col("class") >= 0)[measure] > 0).to_numpy()) for s in columns]
    ).double()


def nearer_zero(cell: Cell, measure: str) -> Values:
    """For each neutral token, the share of label-indicative ones for which the measure is further from 0."""
    rows = []
    for table in cell.tokens:
        _, size, classes = _own(table, measure)
        rows.append(1 - auroc_per_item(size, indicative(classes))[neutral(classes)])
    return torch.stack(rows)


def grown(cell: Cell, other: Cell, measure: str, chosen: Chosen = indicative) -> Values:
    """1 for each of these tokens for which the measure is further from 0 in the first cell's model, else 0."""
    rows = []
    for table, before in zip(cell.tokens, other.tokens, strict=False):
        (_, size, classes), (_, smaller, _) = _own(table, measure), _own(before, measure)
        rows.append((size > smaller)[chosen(classes)].double())
    return torch.stack(rows)


def part_of_sum(cell: Cell, letter: str, letters: str) -> Values:
    """How large a term is for each label-indicative token, as a share of the sizes of these terms together."""
    rows = []
    for table in cell.tokens:
        sizes = {each: _own(table, f"flow_{each}")[1:] for each in letters}
        size, classes = sizes[letter]
        rows.append((size / torch.stack([own for own, _ in sizes.values()]).sum(0))[indicative(classes)])
    return torch.stack(rows)


def _own(table: pl.DataFrame, measure: str) -> tuple[Tensor, Tensor, Tensor]:
    """What a measure says of each token at the last epoch: for the label of the indicative ones; its size; classes.

    One number per token is for label 1; of one per label, the own label's is taken beyond the largest other one.
    """
    scores = last_scores(table)
    columns = [name for name in scores.columns if name == measure or name.startswith(f"{measure}[")]
    values, classes = torch.tensor(scores.select(columns).to_numpy()), torch.tensor(scores["class"].to_numpy())
    own, size = classes.clamp_min(0).long()[:, None], values.abs().amax(1)
    if len(columns) == 1:
        beyond = values * (2 * own - 1)
    else:
        beyond = values.gather(1, own) - values.scatter(1, own, -torch.inf).amax(1, keepdim=True)
    return beyond[indicative(classes), 0], size, classes


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


def score_frame(cells: Sequence[Cell], measures: Mapping[str, str]) -> pl.DataFrame:
    """Points to draw: data (the panel), series (the kind of token), x (index), y: last epoch, first seed.

    Args:
        measures: each score and what it is called beside the model; for several labels, `polarity` is one per label.
    """
    parts = []
    for cell in cells:
        scores = named_classes(last_scores(cell.tokens[0]).with_row_index("x"), cell)
        for column in scores.columns:
            name, bracket, label = column.partition("[")
            if name in measures:
                titles = (cell.data, cell.model, measures[name], bracket and f"for {label[:-1]}")
                panel = pl.lit(", ".join(filter(None, titles))).alias("data")
                parts.append(scores.select(panel, pl.col("class").alias("series"), "x", pl.col(column).alias("y")))
    return pl.concat(parts) if parts else pl.DataFrame()


def named_classes(scores: pl.DataFrame, cell: Cell) -> pl.DataFrame:
    """The label-indicative and neutral tokens, their class in words."""
    named = {number: f"label {number}" for number in range(cell.classes)} | {NEUTRAL: "neutral"}
    kept = scores.filter(pl.col("class").is_in(list(named)))
    return kept.with_columns(pl.col("class").replace_strict(named, return_dtype=pl.String))


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


def _attention(table: pl.DataFrame, measure: str | None = None) -> tuple[Tensor, Tensor]:
    """Attention score and class of every token at the last epoch; of a contextual model the score in the texts."""
    scores = last_scores(table)
    local = "attention_local" if "attention_local" in scores.columns else "attention"
    return torch.tensor(scores[measure or local].to_numpy()), torch.tensor(scores["class"].to_numpy())
