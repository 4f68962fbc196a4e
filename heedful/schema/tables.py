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

OPTIONAL = ("query", "replaced", "row", "id", "site", "scope")
"""Columns that files from elsewhere, or older ones, may lack: read as null."""
NULLABLE = ("item", "value", "probability", "adversarial_probability", *OPTIONAL)
"""Columns that may have empty cells."""
