"""Texts of each outcome, with attention as a heat map and the key words marked."""

from dataclasses import replace

import polars as pl
import pytest

from heedful.report.examples import PER_OUTCOME, chosen_examples
from heedful.report.heatmap import example_data

NAMES = ["average", "bilstm"]


def chosen_from(*audits):
    return chosen_examples(audits, example_data(audits, NAMES[: len(audits)]))


def with_outcomes(audit, outcomes):
    """The audit with these outcomes of attention, by text."""
    changed = [pl.when(pl.col("example") == number).then(pl.lit(outcome)) for number, outcome in outcomes.items()]
    table = audit.outcomes.filter(pl.col("outcome").is_not_null()).with_columns(
        outcome=pl.coalesce(*changed, "outcome")
    )
    return replace(audit, outcomes=table.filter(pl.col("example").is_in(list(outcomes))))


def test_each_outcome_has_a_few_texts_and_its_count(audits):
    outcomes = dict(zip(range(11), ["points"] * 5 + ["misses"] * 4 + ["no_small_set"], strict=False))
    groups = chosen_from(with_outcomes(audits[1], outcomes))
    assert [group.title for group in groups] == [
        "Points: 5 of 10 texts",
        "Misses: 4 of 10 texts",
        "No small set: 1 of 10 texts",
    ]
    assert [len(group.examples) for group in groups] == [PER_OUTCOME, PER_OUTCOME, 1]
    for group in groups:
        for example in group.examples:
            assert group.title.lower().startswith(example.readings[0].badge)


def test_the_example_of_the_answer_comes_first(audits):
    answer = audits[1].verdict.answer
    shown = answer.model_copy(update={"example": None})
    numbers = [example.title for group in chosen_from(audits[1]) for example in group.examples]
    other = next(f"Text {number}" for number in audits[1].examples["example"] if f"Text {number}" not in numbers)
    outcome = {"predicted": "negative", "outcome": "points"}
    example = {"example": int(other.split()[1]), "items": ["a"], "outcome": outcome}
    verdict = audits[1].verdict.model_dump() | {"answer": shown.model_dump() | {"example": example}}
    groups = chosen_from(replace(audits[1], verdict=type(audits[1].verdict).model_validate(verdict)))
    assert other in [group.examples[0].title for group in groups]


def test_each_model_reads_the_text_with_its_own_outcome(audits):
    for group in chosen_from(*audits):
        for example in group.examples:
            assert [reading.name for reading in example.readings] == NAMES
    assert chosen_from(*audits)[0].title.startswith("Points (average): ")


def test_key_words_and_top_words_are_marked(audits):
    data = (
        audits[1].outcomes.filter(ranking="attention", removal="delete").rows_by_key("example", named=True, unique=True)
    )
    for group in chosen_from(audits[1]):
        for example in group.examples:
            (reading,) = example.readings
            own = data[int(example.title.split()[1])]
            assert [i for i, token in enumerate(reading.tokens) if token.is_key] == sorted(own["key_words"])
            assert [i for i, token in enumerate(reading.tokens) if token.is_top] == sorted(own["top_words"])
            assert reading.is_decided == (own["outcome"] != "no_small_set")


def test_colors_say_the_share_of_the_largest_weight_and_words_its_value(audits):
    tokens = chosen_from(audits[0])[0].examples[0].readings[0].tokens
    assert max(token.weight for token in tokens) <= 1 and min(token.weight for token in tokens) >= 0
    heaviest = max(tokens, key=lambda token: token.weight)
    assert float(heaviest.value) == max(float(token.value) for token in tokens)
    assert sum(float(token.value) for token in tokens) == pytest.approx(1, abs=0.15)


def test_the_note_says_the_prediction_and_the_label_if_there_is_one(audits):
    note = chosen_from(audits[0])[0].examples[0].readings[0].note
    assert note.startswith("predicted ") and "; label " in note
    unlabeled = replace(audits[0], examples=audits[0].examples.with_columns(label=pl.lit("")))
    assert "label" not in chosen_from(unlabeled)[0].examples[0].readings[0].note


def test_without_outcomes_there_are_no_examples(audits):
    assert chosen_from(replace(audits[0], outcomes=audits[0].outcomes.clear())) == []
