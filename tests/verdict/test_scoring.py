"""Scores between floor and best, on columns whose answer is known."""

import math

import polars as pl
import pytest
import torch

from heedful.battery import QUESTIONS
from heedful.schema.rankings import FRACTION
from heedful.verdict.scoring import columns_of, compare_rankings, inexact_tests, is_asked, lines_across, verdict_lines
from support.columns import EVERYTHING, PREDICTION, TEXTS, column


def lines(columns, **options):
    return {line.name: line for line in verdict_lines(columns, **options)}


def test_every_question_is_answered_in_the_order_of_the_table():
    measured = {name.split(".")[0] for name in EVERYTHING}
    asked = [question.name for question in QUESTIONS if measured & {need.split(".")[0] for need in question.needs}]
    assert list(lines(EVERYTHING)) == asked


def test_a_score_is_a_ratio_of_means():
    for name, value, floor, best, score in [
        ("gradient_agreement", 0.3, 0.1, 0.5, 0.5),
        ("leave_one_out_agreement", 0.2, 0.0, 0.5, 0.4),
        ("permutation", 0.2, 0.0, 0.6, 1 / 3),
        ("without_top", 0.25, 0.0, 1.0, 0.25),
        ("adversarial_attention", 0.5, 0.0, 1.0, 0.5),
        ("erase_one", 0.5, 0.1, 1.0, 4 / 9),
        ("erase_until_flip", 0.7, 0.4, 0.9, 0.6),
        ("token_scores", 0.7, 0.5, 1.0, 0.4),
        ("sign", 0.75, 0.5, 1.0, 0.5),
        ("embedding_noise", 0.18, 0.0, 0.2, 0.9),
        ("embedding_attack", 0.1, 0.0, 0.2, 0.5),
        ("word_substitution", 0.15, 0.0, 0.2, 0.75),
        ("seeds", 0.05, 0.0, 0.2, 0.25),
        ("comprehensiveness", 0.3, 0.1, 0.5, 0.5),
        ("sufficiency", 0.85, 0.7, 1.0, 0.5),
    ]:
        line = lines(EVERYTHING)[name]
        assert line.value == pytest.approx(value)
        assert (line.floor, line.best) == (pytest.approx(floor), pytest.approx(best))
        assert line.score == pytest.approx(score)
        assert line.score_low <= score + 1e-9 and line.score_high >= score - 1e-9


def test_accuracy_lost_by_uniform_attention_is_measured_against_a_constant_answer():
    line = lines(EVERYTHING)["uniform"]
    assert line.value == pytest.approx(0.25)  # 3 of 4 right, 2 of 4 with uniform attention
    assert line.best == pytest.approx(0.0)  # always the commonest label is right for 3 of 4 too
    assert line.score is None and "nothing to measure" in line.sentence


def test_undefined_texts_are_counted_and_count_in_no_mean():
    gaps = {**EVERYTHING, "gradient_agreement.tau": column(0.2, math.nan)}
    line = lines(gaps)["gradient_agreement"]
    assert line.undefined == TEXTS // 2 and line.texts == TEXTS // 2
    assert line.value == pytest.approx(0.2)
    assert line.best == pytest.approx(0.6)  # over the same texts, not 0.5


def test_questions_whose_tests_were_not_run_are_left_out():
    assert list(lines({**PREDICTION, "uniform.correct_uniform": column(1.0, 0.0)})) == ["uniform"]


def test_what_was_not_answered_exactly_is_said_and_measured_against_a_yardstick():
    inexact = {"permutation", "erase_one"}
    by_name = lines(EVERYTHING, inexact=inexact)
    assert by_name["permutation"].best_kind == "yardstick" and "may exist" in by_name["permutation"].sentence
    assert by_name["erase_until_flip"].best_kind == by_name["erase_one"].best_kind == "ceiling"
    assert lines(EVERYTHING)["permutation"].best_kind == "ceiling"


def test_label_indicative_words_are_compared_with_the_uniform_weight():
    sentence = lines(EVERYTHING)["token_scores"].sentence
    assert "in 70 of 100 such pairs the label-indicative word has more attention" in sentence
    assert "get 1.3 times the uniform weight, neutral words 0.7 times" in sentence


def test_stability_is_compared_with_permuted_attention():
    by_name = lines(EVERYTHING)
    assert "moves attention 10% as far as permuting the weights at random would" in by_name["embedding_noise"].sentence
    assert "changes 25 of 100 answers" in by_name["embedding_noise"].sentence
    assert "moves attention 75% as far" in by_name["seeds"].sentence
    assert "deleting the most attended words lowers it by 30" in by_name["comprehensiveness"].sentence
    assert by_name["embedding_noise"].details == {"answer moves by": pytest.approx(0.05), "answers change": 0.25}


def test_a_question_without_an_answer_says_so_and_nothing_else():
    nothing = {name: value * math.nan for name, value in EVERYTHING.items() if name.startswith("word_substitution")}
    line = lines({**EVERYTHING, **nothing})["word_substitution"]
    assert line.sentence.endswith("for no text does the question have an answer.") and "nan" not in line.sentence
    assert line.undefined == TEXTS


def seeds(count: int) -> dict[str, torch.Tensor]:
    """The same texts, each seed a little higher."""
    return {name: torch.cat([value + 0.01 * seed for seed in range(count)]) for name, value in EVERYTHING.items()}


def test_a_few_seeds_widen_the_interval_beyond_their_range():
    line = lines(seeds(3))["gradient_agreement"]
    assert line.value == pytest.approx(0.31)
    # The range of the seeds is 0.30 to 0.32; texts vary as well.
    assert line.low < 0.29 and line.high > 0.33


@pytest.mark.parametrize("failed", [0, 1])
def test_a_seed_without_a_value_is_left_out(failed):
    both = {name: torch.cat([value, value * math.nan]) for name, value in EVERYTHING.items()}
    columns = {name: value.roll(failed, 0) for name, value in both.items()}
    assert lines(columns)["permutation"] == lines(EVERYTHING)["permutation"]


def rows(values: dict[tuple[int, str], float], test: str = "uniform", solver: str = "exact") -> pl.DataFrame:
    cells = [{"example": e, "measure": m, "value": v} for (e, m), v in values.items()]
    kinds = {"example": pl.Int32, "measure": pl.String, "value": pl.Float64}
    return pl.DataFrame(cells, schema=kinds).with_columns(
        test=pl.lit(test), solver=pl.lit(solver), item=pl.lit(None, pl.Int32)
    )


def test_rows_of_single_items_are_no_columns():
    items = rows({(1, "b"): 0.5}).with_columns(item=pl.lit(0, pl.Int32))
    assert list(columns_of([pl.concat([rows({(1, "a"): 0.1}), items])])) == ["uniform.a"]


def test_only_what_every_seed_has_is_compared():
    both = columns_of([rows({(1, "a"): 0.1, (1, "b"): 0.2}), rows({(1, "a"): 0.3})])
    assert list(both) == ["uniform.a"] and both["uniform.a"].tolist() == [[0.1], [0.3]]


def test_a_test_is_inexact_if_any_seed_was_not_solved_exactly():
    exact, searched = rows({(1, "a"): 0.1}, "permutation"), rows({(1, "a"): 0.1}, "permutation", "search")
    bounded = rows({(1, "a"): 0.1}, "adversarial_attention", "bound")
    assert inexact_tests([exact]) == set()
    assert inexact_tests([exact, pl.concat([searched, bounded])]) == {"permutation", "adversarial_attention"}


@pytest.mark.parametrize(
    ("name", "measured", "asked"),
    [
        ("uniform", {"uniform.correct_uniform"}, True),
        ("gradient_agreement", {"gradient_agreement.tau"}, False),  # its yardstick is another test's
        ("attefa", {"attefa.cap", "adversarial_models.tvd_1"}, True),
        ("attefa_frozen", {"attefa.cap", "adversarial_models.tvd_1"}, False),
        ("attefa_frozen", {"attefa.frozen_tvd", "adversarial_models.tvd_1"}, True),
    ],
)
def test_a_question_is_asked_where_all_that_it_needs_was_measured(name, measured, asked):
    question = next(question for question in QUESTIONS if question.name == name)
    assert is_asked(question, dict.fromkeys(measured, column(0.0))) is asked


def test_lines_across_seeds_are_those_of_their_columns():
    table = {(text, measure): 0.1 * text for text in range(4) for measure in ("median_tvd", "worst_tvd", "some_flips")}
    first = rows(table, "permutation")
    audits = [first, first.with_columns(pl.col("value") + 0.5, solver=pl.lit("search"))]
    (line,) = lines_across(audits, item="sentence")
    assert line.value == pytest.approx(0.4) and line.low < 0.15 and line.high > 0.65
    assert line.best_kind == "yardstick" and "sentences" in line.question


# Rankings side by side.


def columns(**changes):
    fractions = {
        "attention": 0.5,
        "attention_x_gradient": 0.3,
        "gradient_x_input": 0.6,
        "leave_one_out": 0.6,
        "mine": 0.2,
    }
    fractions |= {"random": 0.9, "minimal": 0.1, **changes}
    made = {f"{FRACTION}{name}": column(value) for name, value in fractions.items()}
    made |= {f"plausibility.average_precision_{name}": column(0.4) for name in ("first", "longest", "rarest", "random")}
    made |= {f"plausibility.average_precision_{name}": column(0.7, 0.5) for name in ("attention", "mine")}
    made["plausibility.average_precision_longest"] = column(0.5)
    made["ranking_agreement.tau_attention_mine"] = column(0.25)
    return made


def test_scores_lie_between_floor_and_best_by_hand():
    by_name = {ranking.name: ranking for ranking in compare_rankings(columns())}
    assert list(by_name) == ["attention", "gradient_x_input", "attention_x_gradient", "leave_one_out", "mine"]
    mine = by_name["mine"]
    assert mine.faithful == pytest.approx((0.8 - 0.1) / (0.9 - 0.1)) and mine.erased == pytest.approx(0.2)
    assert mine.plausible == pytest.approx((0.6 - 0.5) / (1 - 0.5)) and mine.average_precision == pytest.approx(0.6)
    assert mine.plausible_low < mine.plausible < mine.plausible_high
    assert mine.agreement == {"attention": 0.25} and by_name["attention"].agreement == {"mine": 0.25}
    assert by_name["attention_x_gradient"].plausible is None and mine.texts == TEXTS
