"""Rows of the models that the audited one is compared with: other seeds, uniform attention, adversarial models."""

from collections.abc import Iterator, Sequence

import polars as pl
import torch

from heedful.auditing.rows import ORDER, batch_rows, item_rows, shown_texts
from heedful.auditing.shards import Shard, join_facts, sorted_examples, sorted_outcomes
from heedful.battery import PAIRS
from heedful.battery.adversarial_models import REACHABLE, TRAINED, distance_from_constant, reachable, reached
from heedful.errors import lookup
from heedful.schema.table_columns import ROWS
from heedful.settings import AuditSettings, ComparisonModels
from heedful.subjects.subject import SubjectTexts, float64_eval_copy
from heedful.types import Findings, Model, Trace


def companion_rows(
    subject: SubjectTexts, comparison_models: ComparisonModels[SubjectTexts], settings: AuditSettings
) -> list[pl.DataFrame]:
    """The rows of every test that compares the audited model with others of its kind on the same texts."""
    retrained, seeds = comparison_models.retrained, comparison_models.seeds
    asked = {"uniform_retrained": () if retrained is None else (retrained,), "seeds": seeds}
    return [pair_rows(test, subject, others, settings) for test, others in asked.items() if others]


def pair_rows(
    test: str, subject: SubjectTexts, others: Sequence[SubjectTexts], settings: AuditSettings
) -> pl.DataFrame:
    """The rows of a test that compares a model with others on the same texts."""
    compare = lookup("test of several models", test, PAIRS).function
    shown = shown_texts(subject, settings)
    parts = []
    for seen, *traces in _traces((subject, *others)):
        findings = compare(seen, traces)
        parts += [
            batch_rows(subject, seen.batch, {test: findings}),
            item_rows(subject, seen, findings.items, shown, findings.solver),
        ]
    return pl.concat(parts).sort(ORDER, nulls_last=False)


def adversary_rows(subject: SubjectTexts, adversaries: Sequence[SubjectTexts]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What an adversary could reach, and what each trained one did, numbered from 1; and what all of them predict.

    As `attefa_family.base_rows` and `adversary_rows` name them, from which `attefa_family.family` is made again. What
    depends on the predictions for all texts is added by `with_constants`.
    """
    model = float64_eval_copy(subject.model)
    parts: list[pl.DataFrame] = []
    predictions: list[pl.DataFrame] = []
    for base, *others in _traces((subject, *adversaries)):
        values = {
            f"{name}_{n}": value
            for n, other in enumerate(others, start=1)
            for name, value in reached(base, other).items()
        }
        findings = {REACHABLE: Findings(reachable(model, base), "exact"), TRAINED: Findings(values, "search")}
        parts.append(batch_rows(subject, base.batch, findings))
        columns = {  # a column `MODEL.CLASS` for each probability; model 0 is the audited one
            f"{number}.{name}": values.numpy()
            for number, seen in enumerate((base, *others))
            for name, values in enumerate(seen.logits.softmax(-1).cpu().unbind(1))
        }
        predictions.append(pl.DataFrame({"example": base.batch.index.cpu().numpy(), **columns}))
    return pl.concat(parts).sort(ORDER, nulls_last=False), pl.concat(predictions)


def join_shards(shards: Sequence[Shard]) -> Shard:
    """All shards as one, one after the other."""
    distances = constant_distances([shard.predictions for shard in shards])
    rows = []
    for shard, own in zip(shards, distances, strict=True):
        rows += [shard.rows] if own.is_empty() else [shard.rows, with_constants(shard.adversaries, own)]
    examples = sorted_examples(shard.examples for shard in shards)
    outcomes = sorted_outcomes(shard.outcomes for shard in shards)
    return Shard(pl.concat(rows), examples, outcomes, join_facts(shard.facts for shard in shards))


def with_constants(rows: pl.DataFrame, distances: pl.DataFrame) -> pl.DataFrame:
    """The rows of adversaries in some texts, the distance from the best constant prediction being that for all texts.

    Args:
        distances: distances on the same texts: `example`, and a column for each model by its index.
    """
    measures = {name: f"apart_{name}" if int(name) else "constant_tvd" for name in distances.columns[1:]}
    new = distances.rename(measures).unpivot(index="example", variable_name="measure", value_name="distance")
    known = rows.join(new.cast({"example": ROWS["example"]}), on=["example", "measure"], how="left")
    return known.with_columns(value=pl.coalesce("distance", "value")).drop("distance").sort(ORDER, nulls_last=False)


def constant_distances(predictions: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """For each shard, how far the predictions of each model are from the best constant one, the same for all texts."""
    names = [name for name in predictions[0].columns if name != "example"]
    columns = {}
    for model in dict.fromkeys(name.partition(".")[0] for name in names):
        own = [name for name in names if name.partition(".")[0] == model]
        columns[model] = distance_from_constant([torch.tensor(each.select(own).to_numpy()) for each in predictions])
    return [
        each.select(pl.col("^example$"), *(pl.Series(model, parts[place].numpy()) for model, parts in columns.items()))
        for place, each in enumerate(predictions)
    ]


def _traces(subjects: Sequence[SubjectTexts]) -> Iterator[list[Trace]]:
    """Batch by batch, what each model makes of the same texts."""
    models: list[Model] = [float64_eval_copy(subject.model) for subject in subjects]
    for batches in zip(*(subject.batches() for subject in subjects), strict=True):
        with torch.no_grad():
            readings = zip(subjects, models, batches, strict=True)
            yield [subject.trace(model, batch) for subject, model, batch in readings]
