"""The columns of an audit's tables: rows and examples."""

import polars as pl

ROWS = pl.Schema(
    {
        "run": pl.String(),
        "split": pl.String(),
        "example": pl.Int32(),
        "item": pl.Int32(),
        "test": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),
        "solver": pl.String(),
        "site": pl.String(),
        "scope": pl.String(),
    }
)
"""rows.parquet: one number each. `item` is null in rows that speak of a whole text.

Of a transformer `site` is which attention is shown, `scope` where other attention is imposed; else they are null.
"""

EXAMPLES = pl.Schema(
    {
        "run": pl.String(),
        "split": pl.String(),
        "example": pl.Int32(),
        "text": pl.String(),
        "query": pl.String(),
        "items": pl.List(pl.String()),
        "label": pl.String(),
        "predicted": pl.String(),
        "probability": pl.Float64(),
        "adversarial_probability": pl.Float64(),
        "replaced": pl.List(pl.String()),
        "row": pl.Int64(),
        "id": pl.String(),
    }
)
"""examples.parquet: the texts that are shown word by word; `row` and `id` are where each one is in its data file."""

OUTCOMES = pl.Schema(
    {
        "run": pl.String(),
        "split": pl.String(),
        "example": pl.Int32(),
        "removal": pl.String(),
        "ranking": pl.String(),
        "predicted": pl.String(),
        "is_correct": pl.Boolean(),
        "words": pl.Int32(),
        "probability": pl.Float64(),
        "outcome": pl.String(),
        "reason": pl.String(),
        "effect": pl.Float64(),
        "chance": pl.Float64(),
        "best": pl.Float64(),
        "luck": pl.Float64(),
        "is_exact": pl.Boolean(),
        "top_words": pl.List(pl.Int32()),
        "top_alone": pl.Float64(),
        "top_without": pl.Float64(),
        "is_moved": pl.Boolean(),
        "key_words": pl.List(pl.Int32()),
        "key_alone": pl.Float64(),
        "key_without": pl.Float64(),
        "alone_predicted": pl.String(),
        "alone_probability": pl.Float64(),
        "without_predicted": pl.String(),
        "without_probability": pl.Float64(),
    }
)
"""outcomes.parquet: the outcome of one text, for one ranking and one way of removing words.

A text without an outcome has one row, of attention, whose `reason` says why. `probability`, `top_*` and `key_*` are of
the predicted class; `alone_*` and `without_*` are what the model predicts from the key words alone and without them.
`is_moved` says, of attention that misses, whether the states of its top words carry other words' information.
"""

UNCOUNTED = ("one word", "undefined")
"""Why a text has no outcome: it has a single word, or the model has no prediction for what is left of it."""

OPTIONAL = ("query", "replaced", "row", "id", "site", "scope")
"""Columns that files from elsewhere, or older ones, may lack: read as null."""
NULLABLE = ("item", "value", "probability", "adversarial_probability", *OPTIONAL, *OUTCOMES.names()[6:])
"""Columns that may have empty cells."""
