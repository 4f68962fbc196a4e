"""Scores between floor and best, on rows whose answer is known."""

import math

import polars as pl
import pytest
import torch

from heedful.battery.questions import QUESTIONS
from heedful.verdict.scoring import advise, columns_of, verdict_lines

TEXTS = 40


def column(*values: float) -> torch.Tensor:
    """One seed, the values repeated over the texts."""
    return torch.tensor(values, dtype=torch.float64).repeat(TEXTS // len(values))[None]


def lines(columns, seed=0):
    found = verdict_lines(columns, torch.Generator().manual_seed(seed))
    return {line.name: line for line in found}


PREDICTION = {
    "prediction.correct": column(1.0, 1.0, 1.0, 0.0),
    "prediction.label": column(1.0, 0.0, 1.0, 1.0),
    "prediction.probability": column(0.6, 0.8, 0.99, 0.99),
}
EVERYTHING = {
    **PREDICTION,
    "gradient_agreement.tau": column(0.2, 0.4),
    "leave_one_out_agreement.tau": column(0.3, 0.1),
    "leave_one_out_agreement.tau_gradient": column(0.6, 0.4),
    "permutation.median_tvd": column(0.1, 0.3),
    "permutation.worst_tvd": column(0.5, 0.7),
    "permutation.some_flips": column(1.0, 0.0),
    "adversary.js": column(0.3, 0.2),
    "adversary.cap": column(0.6, 0.4),
    "adversary.without_top_1": column(1.0, 1.0, 1.0, 0.0),
    "adversary.without_top_3": column(1.0, 0.0),
    "erase_one.flips_attention": column(1.0, 0.0),
    "erase_one.other_flips_attention": column(0.1, 0.1),
    "erase_one.some_item_flips": column(1.0, 1.0),
    "erase_until_flip.fraction_attention": column(0.4, 0.2),
    "erase_until_flip.fraction_random": column(0.7, 0.5),
    "erase_until_flip.fraction_minimal": column(0.2, 0.0),
    "embedding_noise.js": column(0.01, 0.03),
    "embedding_noise.shuffled_js": column(0.3, 0.1),
    "embedding_noise.tvd": column(0.0, 0.1),
    "embedding_noise.flips": column(0.0, 0.0, 0.0, 1.0),
    "embedding_attack.js_attention": column(0.1, 0.1),
    "embedding_attack.shuffled_js": column(0.3, 0.1),
    "embedding_attack.tvd_answer": column(0.0, 0.1),
    "embedding_attack.flips_answer": column(0.0, 1.0),
    "word_substitution.js": column(0.05, 0.05),
    "word_substitution.shuffled_js": column(0.3, 0.1),
    "word_substitution.tvd": column(0.0, 0.1),
    "word_substitution.flips": column(0.0, 0.0, 1.0, 1.0),
    "seeds.mean_js": column(0.1, 0.2),
    "seeds.shuffled_js": column(0.3, 0.1),
    "seeds.mean_tvd": column(0.0, 0.1),
    "seeds.flips": column(0.0, 0.1),
    "rationale.comprehensiveness_attention": column(0.4, 0.2),
    "rationale.comprehensiveness_random": column(0.1, 0.1),
    "rationale.comprehensiveness_leave_one_out": column(0.6, 0.4),
    "rationale.sufficiency_attention": column(0.2, 0.1),
    "rationale.sufficiency_random": column(0.3, 0.3),
    "rationale.sufficiency_leave_one_out": column(-0.1, 0.1),
    "token_scores.polar_above_neutral": column(0.6, 0.8),
    "token_scores.weight_polar": column(1.4, 1.2),
    "token_scores.weight_neutral": column(0.5, 0.9),
    "uniform.correct_uniform": column(1.0, 0.0, 1.0, 0.0),
    "uniform_retrained.correct": column(1.0, 1.0, 1.0, 1.0),
    "attefa.cap": column(0.6, 0.4),
    "attefa.constant_tvd": column(0.4, 0.6),
    "attefa.rescaled_tvd": column(0.1, 0.1),
    "attefa.frozen_tvd": column(0.1, 0.0),
    "attefa.frozen_js": column(0.5, 0.3),
    "adversaries.tvd_1": column(0.4, 0.6),
    "adversaries.js_1": column(0.5, 0.3),
    "adversaries.apart_1": column(0.0, 0.0),
    "adversaries.tvd_2": column(0.1, 0.1),
    "adversaries.js_2": column(0.5, 0.3),
    "adversaries.apart_2": column(0.4, 0.6),
}


def test_every_question_is_answered_in_the_order_of_the_table():
    assert list(lines(EVERYTHING)) == [question.name for question in QUESTIONS]


@pytest.mark.parametrize(
    ("name", "value", "floor", "best", "score"),
    [
        ("gradient_agreement", 0.3, 0.0, 0.5, 0.6),
        ("leave_one_out_agreement", 0.2, 0.0, 0.5, 0.4),
        ("permutation", 0.2, 0.0, 0.6, 1 / 3),
        ("without_top", 0.25, 0.0, 1.0, 0.25),
        ("adversary", 0.5, 0.0, 1.0, 0.5),
        ("erase_one", 0.5, 0.1, 1.0, 4 / 9),
        ("erase_until_flip", 0.3, 0.6, 0.1, 0.6),
        ("token_scores", 0.7, 0.5, 1.0, 0.4),
        ("embedding_noise", 0.02, 0.2, 0.0, 0.9),
        ("embedding_attack", 0.1, 0.2, 0.0, 0.5),
        ("word_substitution", 0.05, 0.2, 0.0, 0.75),
        ("seeds", 0.15, 0.2, 0.0, 0.25),
        ("comprehensiveness", 0.3, 0.1, 0.5, 0.5),
        ("sufficiency", 0.15, 0.3, 0.0, 0.5),
    ],
)
def test_a_score_is_a_ratio_of_means(name, value, floor, best, score):
    line = lines(EVERYTHING)[name]
    assert line.value.value == pytest.approx(value)
    assert (line.floor, line.best) == (pytest.approx(floor), pytest.approx(best))
    assert line.score.value == pytest.approx(score)
    assert line.score.low <= score + 1e-9 and line.score.high >= score - 1e-9


def test_accuracy_lost_by_uniform_attention_is_measured_against_a_constant_answer():
    line = lines(EVERYTHING)["uniform"]
    assert line.value.value == pytest.approx(0.25)  # 3 of 4 right, 2 of 4 with uniform attention
    assert line.best == pytest.approx(0.0)  # always the commonest label is right for 3 of 4 too
    assert math.isnan(line.score.value) and "nothing to measure" in line.sentence


def test_a_retrained_model_may_be_better():
    assert lines(EVERYTHING)["uniform_retrained"].value.value == pytest.approx(-0.25)


def test_undefined_texts_are_counted_and_count_in_no_mean():
    gaps = {**EVERYTHING, "gradient_agreement.tau": column(0.2, math.nan)}
    line = lines(gaps)["gradient_agreement"]
    assert line.undefined == TEXTS // 2 and line.value.n == TEXTS // 2
    assert line.value.value == pytest.approx(0.2)
    assert line.best == pytest.approx(0.6)  # over the same texts, not 0.5


def test_questions_whose_tests_were_not_run_are_left_out():
    assert list(lines({**PREDICTION, "uniform.correct_uniform": column(1.0, 0.0)})) == ["uniform"]


def test_what_was_not_answered_exactly_is_said_and_measured_against_a_yardstick():
    found = verdict_lines(EVERYTHING, torch.Generator().manual_seed(0), inexact={"permutation", "erase_one"})
    by_name = {line.name: line for line in found}
    assert by_name["permutation"].best_kind == "yardstick" and "may exist" in by_name["permutation"].sentence
    assert by_name["erase_until_flip"].best_kind == by_name["erase_one"].best_kind == "ceiling"
    assert lines(EVERYTHING)["permutation"].best_kind == "ceiling"


def test_sentences_speak_of_what_is_weighed():
    found = verdict_lines(EVERYTHING, torch.Generator().manual_seed(0), item="sentence")
    assert "which sentences get the weight" in found[2].question and "to other sentences" in found[2].sentence


def test_words_stay_words_where_a_line_is_about_them():
    found = verdict_lines(EVERYTHING, torch.Generator().manual_seed(0), item="sentence")
    by_name = {line.name: line for line in found}
    assert "(other words of the same meaning)" in by_name["word_substitution"].question
    assert "top sentences necessary" in by_name["comprehensiveness"].question


def test_telling_words_are_told_beside_an_even_share():
    said = lines(EVERYTHING)["token_scores"].sentence
    assert "in 70 of 100 such pairs the telling word has the more attention" in said
    assert "gets 1.3 times an even share of the weight, a neutral one 0.7 times" in said


def test_stability_is_told_beside_shuffled_attention():
    by_name = lines(EVERYTHING)
    assert "moves attention 10 % as far as dealing it out" in by_name["embedding_noise"].sentence
    assert "changes 25 of 100 answers" in by_name["embedding_noise"].sentence
    assert "moves attention 75 % as far" in by_name["seeds"].sentence
    assert "is 30 points less sure of its answer" in by_name["comprehensiveness"].sentence
    assert by_name["embedding_noise"].beside == {"answer moves by": pytest.approx(0.05), "answers change": 0.25}


def test_a_question_without_an_answer_says_so_and_nothing_else():
    nothing = {name: value * math.nan for name, value in EVERYTHING.items() if name.startswith("word_substitution")}
    line = lines({**EVERYTHING, **nothing})["word_substitution"]
    assert line.sentence.endswith("for no text does the question have an answer.") and "nan" not in line.sentence
    assert line.undefined == TEXTS


def test_losing_less_than_nothing_is_gaining():
    assert "gains 25.0 points" in lines(EVERYTHING)["uniform_retrained"].sentence
    assert "loses 25.0 points" in lines(EVERYTHING)["uniform"].sentence


def test_confidence_is_shown_beside_the_adversary():
    beside = lines(EVERYTHING)["adversary"].beside
    assert beside["confidence below .75"] == pytest.approx(0.5)


def seeds(count: int) -> dict[str, torch.Tensor]:
    """The same texts, each seed a little higher."""
    return {name: torch.cat([value + 0.01 * seed for seed in range(count)]) for name, value in EVERYTHING.items()}


def test_a_few_seeds_show_their_range():
    value = lines(seeds(3))["gradient_agreement"].value
    assert (value.low, value.value, value.high) == pytest.approx((0.3, 0.31, 0.32))


def test_many_seeds_are_resampled():
    value = lines(seeds(5))["gradient_agreement"].value
    assert value.value == pytest.approx(0.32)
    assert value.low < 0.3 and value.high > 0.34  # wider than the range of the seeds: texts vary as well


def rows(values: dict[tuple[int, str], float], test: str = "uniform") -> pl.DataFrame:
    return pl.DataFrame(
        [{"example": e, "item": None, "test": test, "measure": m, "value": v} for (e, m), v in values.items()],
        schema={"example": pl.Int32, "item": pl.Int32, "test": pl.String, "measure": pl.String, "value": pl.Float64},
    )


def test_columns_are_in_the_order_of_the_texts():
    shuffled = rows({(7, "a"): 0.7, (2, "a"): 0.2, (2, "b"): 1.2, (7, "b"): 1.7})
    columns = columns_of([shuffled])
    assert columns["uniform.a"].tolist() == [[0.2, 0.7]] and columns["uniform.b"].tolist() == [[1.2, 1.7]]


def test_only_what_every_seed_has_is_compared():
    both = columns_of([rows({(1, "a"): 0.1, (1, "b"): 0.2}), rows({(1, "a"): 0.3})])
    assert list(both) == ["uniform.a"] and both["uniform.a"].tolist() == [[0.1], [0.3]]


def fractions(attention: float, product: float, other: float = 0.9) -> dict[str, torch.Tensor]:
    said = {"attention": attention, "product": product, "input_gradient": other, "leave_one_out": other}
    return {f"erase_until_flip.fraction_{name}": column(value) for name, value in said.items()}


def test_the_ranking_to_show_is_chosen_on_dev_and_reported_on_test():
    advice = advise(fractions(0.5, 0.2), fractions(0.6, 0.3), torch.Generator().manual_seed(0))
    assert advice.ranking == "product"
    assert advice.fractions["product"] == pytest.approx(0.3) and "30%" in advice.sentence and "60%" in advice.sentence


def test_attention_stays_where_nothing_is_better_beyond_doubt():
    noise = 0.2 * torch.randn(TEXTS, generator=torch.Generator().manual_seed(0)).double()[None]
    dev = fractions(0.5, 0.499)
    dev["erase_until_flip.fraction_product"] = dev["erase_until_flip.fraction_product"] + noise - noise.mean()
    assert advise(dev, fractions(0.6, 0.6), torch.Generator().manual_seed(0)).ranking == "attention"


def test_without_any_flip_there_is_no_advice():
    never = fractions(math.nan, math.nan, math.nan)
    assert advise(never, never, torch.Generator().manual_seed(0)) is None
