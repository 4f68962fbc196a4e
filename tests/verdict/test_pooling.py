"""One verdict on several trainings."""

import polars as pl
import pytest
import torch

from heedful.schema import Training, Verdict
from heedful.schema.rankings import FRACTION, SHOWN
from heedful.schema.table_columns import ROWS
from heedful.settings import AuditSettings
from heedful.verdict.pooling import pooled_verdict
from support.columns import EVERYTHING, TEXTS
from support.outcome_tables import outcome_table, texts

NO_SITE = {"site": None, "scope": None}


def rows_of(run: str, shift: float = 0.0) -> pl.DataFrame:
    """Rows of every test, as `EVERYTHING` has them; attention's ranking is worse by the shift."""
    columns = {**EVERYTHING, "prediction.correct": torch.ones(1, TEXTS, dtype=torch.float64)}
    columns["prediction.label"] = torch.arange(TEXTS, dtype=torch.float64)[None] % 2
    name = "erase_until_flip.fraction_attention"
    columns[name] = columns[name] + shift
    columns |= {f"{FRACTION}{ranking}": columns[name] + 0.1 for ranking in SHOWN if ranking != "attention"}
    frames = []
    for column, values in columns.items():
        test, measure = column.split(".")
        frame = pl.DataFrame({"example": range(TEXTS), "value": values[0].tolist()})
        names = {
            "run": run,
            "split": "test",
            "item": None,
            "test": test,
            "measure": measure,
            "solver": "exact",
            **NO_SITE,
        }
        frames.append(frame.with_columns(**{name: pl.lit(value) for name, value in names.items()}))
    return pl.concat(frames).select(pl.col(name).cast(kind) for name, kind in ROWS.items())


def described(run: str, seed: int, accuracy: float = 0.9) -> Verdict:
    training = Training(run=run, seed=seed, scores={"accuracy": accuracy})
    about = {"run": run, "data": "d", "texts": TEXTS, "labels": ("a", "b"), "lines": (), "seconds": 2.0}
    about["settings"] = {"audit": AuditSettings().model_dump(mode="json")}
    return Verdict(**about, scores=training.scores, trainings=(training,))


def judged(run: str) -> pl.DataFrame:
    return outcome_table({"attention": texts(TEXTS - 2, 2)}, run=run)


def test_values_of_trainings_are_pooled_and_kept_apart():
    verdicts = [described("k", 0, 0.8), described("l", 1, 0.9)]
    pooled = pooled_verdict(verdicts, [rows_of("k"), rows_of("l", 0.2)], [judged("k"), judged("l")])
    assert [training.seed for training in pooled.trainings] == [0, 1] and pooled.run == "k"
    assert pooled.scores["accuracy"] == pytest.approx(0.85) and pooled.seconds == 4.0
    line = next(line for line in pooled.lines if line.name == "erase_until_flip")
    assert [(own.run, own.seed) for own in line.by_seed] == [("k", 0), ("l", 1)]
    assert line.by_seed[0].value - line.by_seed[1].value == pytest.approx(0.2)
    assert line.value == pytest.approx(sum(own.value for own in line.by_seed) / 2)
    assert [seed.run for seed in pooled.answer.overall.shares.seeds] == ["k", "l"]


def test_trainings_that_differ_make_the_answer_less_sure():
    same = pooled_verdict(
        [described("k", 0), described("l", 1)], [rows_of("k"), rows_of("l")], [judged("k"), judged("l")]
    )
    apart = pooled_verdict(
        [described("k", 0), described("l", 1)], [rows_of("k"), rows_of("l", 0.1)], [judged("k"), judged("l")]
    )
    narrow, wide = (
        next(line for line in verdict.lines if line.name == "erase_until_flip") for verdict in (same, apart)
    )
    assert wide.score_high - wide.score_low > 3 * (narrow.score_high - narrow.score_low)
