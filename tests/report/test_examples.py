"""A typical, a good and a bad text, with what the verdict speaks of."""

from dataclasses import replace

import polars as pl
import pytest

from heedful.report.cases import chosen_cases
from heedful.report.heatmap import example_data

NAMES = ["average", "bilstm"]


def with_fractions(audit, fractions):
    """The audit with what erasing by attention and the smallest set take of each text."""
    own = pl.col("test") == "erase_until_flip"
    kept = audit.rows.filter(~(own & pl.col("measure").is_in(["fraction_attention", "fraction_minimal"])))
    base = audit.rows.filter(pl.col("item").is_null()).head(1)
    added = [
        base.with_columns(
            pl.lit(number, pl.Int32).alias("example"),
            pl.lit("erase_until_flip").alias("test"),
            pl.lit(f"fraction_{name}").alias("measure"),
            pl.lit(value, pl.Float64).alias("value"),
        )
        for number, pair in fractions.items()
        for name, value in zip(("attention", "minimal"), pair, strict=True)
    ]
    return replace(audit, rows=pl.concat([kept, *added]))


def cases_of(audit):
    return chosen_cases([audit], example_data([audit], NAMES[:1]))


def test_texts_are_chosen_by_what_attention_erases_beyond_the_smallest_set(audits):
    fractions = {0: (0.5, 0.4), 1: (0.3, 0.3), 2: (0.9, 0.1), 3: (float("nan"), float("nan"))}
    titles = [case.title for case in cases_of(with_fractions(audits[0], fractions))]
    assert titles == [
        "A typical text (text 0)",
        "A text on which attention does well (text 1)",
        "A text on which attention misleads (text 2)",
    ]


def test_without_three_texts_to_compare_the_first_are_shown(audits):
    titles = [case.title for case in cases_of(with_fractions(audits[0], {0: (0.5, 0.4)}))]
    assert [title.split(" (")[0] for title in titles] == ["An example", "Another", "A third"]


def test_each_model_shows_attention_what_to_show_and_the_most_different_attention(audits):
    cases = chosen_cases(audits, example_data(audits, NAMES))
    for case in cases:
        assert [reading.name for reading in case.readings] == NAMES
        names = [drawn.name for drawn in case.readings[0].maps]
        assert names == ["Attention", "Attention x gradient", "Same answer, other attention"]


def test_colours_say_the_share_of_the_largest_weight_and_words_its_value(audits):
    reading = cases_of(audits[0])[0].readings[0]
    tokens = reading.maps[0].tokens
    assert max(token.weight for token in tokens) <= 1 and min(token.weight for token in tokens) >= 0
    heaviest = max(tokens, key=lambda token: token.weight)
    assert float(heaviest.value) == max(float(token.value) for token in tokens)
    assert sum(float(token.value) for token in tokens) == pytest.approx(1, abs=0.15)


def test_the_caption_says_the_answer_and_the_smallest_set(audits):
    for case in cases_of(audits[0]):
        (reading,) = case.readings
        assert "labelled" in reading.note and ("so right" in reading.note or "so wrong" in reading.note)
        flips = sum(token.flips for token in reading.maps[0].tokens)
        assert (f"Erasing {flips} of" in reading.note) == bool(flips)
