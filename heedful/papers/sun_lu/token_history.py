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

PLANTED = {"negative": 0, "positive": 1, "first": 0, "second": 1, "third": 2, "neutral": NEUTRAL}
"""The kind of each word of the planted sets, which its name begins with."""

OF_ATTENTION = ("attention", "flow_D", "flow_E", "flow_F")
"""The attention score and its terms, which are one number per token for any number of labels."""

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


def mean_weights(words: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """token, class and value: the mean attention weight of each token of the vocabulary that the audited texts hold."""
    token = pl.col("word").str.to_lowercase().alias("token")  # texts are shown as they were written
    means = words.filter(measure="attention").group_by(token).agg(pl.col("value").mean())
    return last_scores(table).select("token", "class").join(means, on="token", maintain_order="left")


def own_values(cell: Cell, measure: str) -> Values:
    """[seed token]: how far polarity or one of its terms ("flow_B") speaks for the label that each token indicates.

    For two labels the value, negated for label 0; for more, the own label's beyond the largest other one. What has no
    sign of a label, a term of attention ("flow_E"), is taken as it is. Tokens that indicate no label are left out.
    """
    rows = []
    for scores in map(last_scores, cell.tokens):
        values, label = _of_indicative(scores, measure)
        if values.shape[1] > 1:
            values = values.gather(1, label) - values.scatter(1, label, -torch.inf).amax(1, keepdim=True)
        elif measure not in OF_ATTENTION:
            values = values * (2 * label - 1)
        rows.append(values[:, 0])
    return torch.stack(rows)


def relative_size(cell: Cell, letter: str, letters: str) -> Values:
    """[seed token]: the size of a term of label-indicative tokens, as a share of the sizes of these terms together."""
    rows = []
    for scores in map(last_scores, cell.tokens):
        sizes = {each: _of_indicative(scores, f"flow_{each}")[0].abs().amax(1) for each in letters}
        rows.append(sizes[letter] / torch.stack([*sizes.values()]).sum(0))
    return torch.stack(rows)


def _of_indicative(scores: pl.DataFrame, measure: str) -> tuple[Tensor, Tensor]:
    """A measure of the tokens that indicate a label, [token 1] or [token label], and that label, [token 1]."""
    columns = [name for name in scores.columns if name.partition("[")[0] == measure]
    kept = scores.filter(pl.col("class") >= 0)
    return torch.tensor(kept.select(columns).to_numpy()), torch.tensor(kept["class"].to_numpy()).long()[:, None]


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


def _attention(table: pl.DataFrame) -> tuple[Tensor, Tensor]:
    """Attention score and class of every token at the last epoch; of a contextual model the score in the texts."""
    scores = last_scores(table)
    measure = "attention_local" if "attention_local" in scores.columns else "attention"
    return torch.tensor(scores[measure].to_numpy()), torch.tensor(scores["class"].to_numpy())
