"""One line per text and training seed: the rows of one audit or several, made wide for the figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from heedful.report.audits import AuditFiles, distinct_names, printable
from heedful.schema import Heads, Ranking

MOST_CLASSES = 5
"""Classes distinguished in a figure; the rarer ones are drawn together."""
OTHER = "other classes"
EVERY = "all texts"


@dataclass(frozen=True)
class Texts:
    """What the figures are drawn from.

    Args:
        frame: run, seed, example, class (as predicted), and a column `test.measure` for each measure; NaN if
            undefined. There is one line for each seed that the model of the run was trained with.
        runs: the audits' names, in the reader's order.
        classes: the predicted classes that are distinguished, in the order of the labels.
        heads: for transformers, what each head shows and does, by name.
        rankings: what was measured of every ranking, for each run.
    """

    frame: pl.DataFrame
    runs: tuple[str, ...]
    classes: tuple[str, ...]
    heads: Mapping[str, Heads] = field(default_factory=dict)
    rankings: tuple[tuple[Ranking, ...], ...] = ()

    @property
    def noun(self) -> str:
        """The plural of a line of the frame: a text, or a text with one of several seeds."""
        trainings = self.frame.select("run", "seed").unique().height
        return "texts" if trainings <= len(self.runs) else "text-seed pairs"

    def has(self, *columns: str) -> bool:
        """Whether each of these was measured for at least one text."""
        return all(
            column in self.frame.columns and self.frame[column].fill_null(float("nan")).is_finite().any()
            for column in columns
        )

    def values(self, column: str) -> pl.DataFrame:
        """run, seed, example, class and value, of the texts that have one."""
        return self.frame.select("run", "seed", "example", "class", pl.col(column).alias("value")).filter(
            pl.col("value").is_finite()
        )

    def left_out(self, column: str) -> str:
        """How many texts have no value, as a sentence for a caption; empty if none."""
        count = len(self.frame) - len(self.values(column))
        if not count:
            return ""
        counted = f"1 {self.noun.removesuffix('s')} has" if count == 1 else f"{count:,} {self.noun} have"
        return f" {counted} no value here."


def gather_texts(audits: Sequence[AuditFiles]) -> Texts:
    """The rows of all audits, wide, with a name for each run and for each predicted class."""
    names = distinct_names([audit.name for audit in audits], [audit.verdict.settings for audit in audits])
    wide = pl.concat(
        [_wide(audit).with_columns(run=pl.lit(name)) for audit, name in zip(audits, names, strict=True)],
        how="diagonal",
    )
    order = [printable(label) for audit in audits for label in audit.verdict.labels]
    counts = dict(wide["class"].value_counts().iter_rows())
    often = sorted(counts, key=lambda name: -counts[name])
    named = often if len(often) <= MOST_CLASSES + 1 else often[:MOST_CLASSES]
    rest = pl.when(pl.col("class").is_in(named)).then("class").otherwise(pl.lit(OTHER))
    classes = sorted(named, key=lambda name: order.index(name) if name in order else len(order))
    if len(named) < len(often):
        classes.append(OTHER)
    heads = {name: own for audit, name in zip(audits, names, strict=True) if (own := audit.verdict.heads) is not None}
    rankings = tuple(audit.verdict.rankings for audit in audits)
    return Texts(wide.with_columns(rest.alias("class")), names, tuple(classes), heads, rankings)


def _wide(audit: AuditFiles) -> pl.DataFrame:
    # The rows of an audit over several seeds name the trained model that each is of.
    whole = audit.rows.filter(pl.col("item").is_null()).with_columns(seed="run")
    wide = (
        whole.select("seed", "example", pl.format("{}.{}", "test", "measure").alias("what"), "value")
        .pivot("what", index=["seed", "example"], values="value")
        .sort("seed", "example")
    )
    if "prediction.predicted" not in wide.columns:
        return wide.with_columns(pl.lit(EVERY).alias("class"))
    names = {float(number): printable(label) for number, label in enumerate(audit.verdict.labels)}
    predicted = pl.col("prediction.predicted")
    named = predicted.replace_strict(list(names), list(names.values()), default=None, return_dtype=pl.String)
    return wide.with_columns(named.fill_null(pl.lit("unknown")).alias("class"))
