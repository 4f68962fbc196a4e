"""From tables of outcomes to an answer, a recommendation and what stands next to them."""

import polars as pl
import pytest
import torch

from heedful.settings import AuditSettings
from heedful.verdict.audit_answer import answer_audit, beats_constant_prediction
from support.outcome_tables import outcome_table, texts

LABELS = ("a", "b")
GOOD, BAD = texts(95, 5), texts(20, 80)
BY_CLASS = ["a"] * 50 + ["b"] * 50


def columns(seeds=1, count=100, correct=1.0, label=None):
    label = (torch.arange(count) % 2 if label is None else torch.full((count,), label)).double()
    right = torch.full((seeds, count), correct, dtype=torch.float64)
    return {"prediction.label": label.expand(seeds, -1), "prediction.correct": right}


def answered(*tables, of=None, **more):
    return answer_audit(of or columns(len(tables)), tables, "test", LABELS, AuditSettings(), **more)


def with_dev(rankings, dev=None, **more):
    on_dev = {name: outcomes[:100] for name, outcomes in (dev or rankings).items()}
    return pl.concat([outcome_table(rankings, **more), outcome_table(on_dev, split="dev")])


def test_attention_that_points_is_shown():
    answer = answered(with_dev({"attention": GOOD, "alone": GOOD}))
    assert answer.headline == "Yes" and answer.overall.shares.points.value == pytest.approx(0.95)
    assert (answer.recommendation.show, answer.recommendation.sentence) == ("attention", "Show attention.")
    assert answer.most_common == 0.5 and answer.is_checked


def test_the_cheapest_ranking_that_is_yes_is_recommended():
    rankings = {"attention": BAD, "effect": texts(100, 0), "alone": GOOD, "gradient_x_input": texts(60, 40)}
    answer = answered(with_dev(rankings), milliseconds={"alone": 1.25})
    shown = answer.recommendation
    assert answer.headline == "No" and (shown.show, shown.ranking, shown.chosen_on) == ("ranking", "alone", "dev texts")
    assert "95 of 100 texts (89 to 98)" in shown.sentence and "n passes per text, 1.2 ms here" in shown.sentence
    cheaper = answered(with_dev({**rankings, "attention_x_gradient": GOOD, "gradient_x_input": texts(98, 2)}))
    assert cheaper.recommendation.ranking == "gradient_x_input"


def test_a_ranking_that_fails_on_test_or_for_a_class_is_not_recommended():
    dev = {"attention": BAD, "alone": GOOD}
    fails = answered(with_dev({"attention": BAD, "alone": texts(60, 40)}, dev))
    assert (fails.recommendation.show, fails.recommendation.ranking) == ("key words", "alone")
    of_one = {"attention": BAD, "alone": texts(50, 0) + texts(20, 30)}
    by_class = pl.concat(
        [outcome_table(of_one, predicted=BY_CLASS), outcome_table(of_one, split="dev", predicted=BY_CLASS)]
    )
    assert answered(by_class).recommendation.show == "key words"


def test_a_ranking_that_points_only_if_words_are_deleted_is_not_recommended():
    rankings = {"attention": GOOD, "alone": GOOD}
    replaced = outcome_table({"attention": BAD, "alone": GOOD}, removal="replace")
    answer = answered(pl.concat([with_dev(rankings), replaced]))
    assert answer.headline == "For some texts" and answer.overall.replaced_answer == "No"
    assert "only if words are deleted" in answer.overall.sentence
    assert answer.recommendation.ranking == "alone"
    neither = outcome_table({"attention": BAD, "alone": BAD}, removal="replace")
    assert answered(pl.concat([with_dev(rankings), neither])).recommendation.show == "key words"


def test_with_few_dev_texts_halves_of_test_choose_and_report():
    few = {"attention": BAD, "alone": GOOD}
    dev = outcome_table({name: outcomes[:59] for name, outcomes in few.items()}, split="dev")
    answer = answered(pl.concat([outcome_table(few), dev]))
    assert answer.recommendation.chosen_on.startswith("half of the audited texts")
    assert answered(with_dev(few)).recommendation.chosen_on == "dev texts"


def test_classes_that_differ_are_named():
    answer = answered(outcome_table({"attention": texts(50, 0) + texts(5, 45)}, predicted=BY_CLASS))
    assert answer.headline == "It depends on the class: a: Yes, b: No" and answer.sentence == ""
    assert [each.shares.texts for each in answer.classes] == [50, 50]


def test_seeds_that_learned_nothing_count_nowhere_and_are_named():
    tables = [outcome_table({"attention": GOOD}, run=run) for run in "kl"] + [
        outcome_table({"attention": BAD}, run="m")
    ]
    of = columns(3)
    of["prediction.correct"] = torch.stack([*of["prediction.correct"][:2], of["prediction.label"][0]])
    answer = answered(*tables, of=of)
    assert answer.headline == "Yes" and answer.left_out == ("m",)
    assert [seed.run for seed in answer.overall.shares.seeds] == ["k", "l"]


def test_a_model_that_learned_nothing_has_nothing_to_explain():
    table = outcome_table({"attention": GOOD})
    constant = columns(correct=0.0) | {"prediction.correct": columns()["prediction.label"]}
    answer = answered(table, of=constant)
    assert answer.headline == "Nothing to explain" and answer.recommendation.show == "nothing"
    assert answered(table, of=columns(correct=0.5)).headline == "Nothing to explain"


def test_without_labels_a_model_that_predicts_one_class_has_nothing_to_explain():
    of = columns(label=-1, correct=torch.nan) | {"prediction.predicted": torch.ones(1, 100)}
    answer = answered(outcome_table({"attention": GOOD}), of=of)
    assert answer.headline == "Nothing to explain" and not answer.is_checked


def test_moved_information_is_a_share_of_the_texts_in_which_a_small_set_decides():
    answer = answered(outcome_table({"attention": ["misses"] * 40 + texts(40, 0, 20)}, moved=20))
    assert answer.moved.value == pytest.approx(0.25) and answer.moved.n == 80
    note = answered(outcome_table({"attention": GOOD}, moved=20), moved_note="not imposed")
    assert note.moved is None and note.moved_note == "not imposed"


def test_wrong_predictions_are_shown_apart():
    answer = answered(outcome_table({"attention": GOOD}, wrong=40))
    assert answer.wrong.texts == 40 and answer.wrong_sentence.startswith("Of 40 wrong predictions, attention points")
    assert answered(outcome_table({"attention": GOOD}, wrong=29)).wrong_sentence == ""
    assert answered(outcome_table({"attention": GOOD})).wrong is None


def test_texts_without_an_outcome_are_counted_once():
    tables = [outcome_table({"attention": ["one word", "one word", *GOOD[2:]]}, run=run) for run in "kl"]
    answer = answered(*tables)
    assert answer.uncounted == {"one word": 2} and answer.overall.shares.texts == 98


def test_every_ranking_has_its_share_price_and_answer():
    answer = answered(with_dev({"attention": BAD, "alone": GOOD, "mine": GOOD}), milliseconds={"alone": 2.0})
    by_name = {each.name: each for each in answer.rankings}
    assert (by_name["alone"].answer, by_name["alone"].price, by_name["alone"].milliseconds) == ("Yes", "n", 2.0)
    assert (by_name["attention"].answer, by_name["attention"].price) == ("No", "0")
    assert (by_name["mine"].price, by_name["mine"].title) == ("", "mine")


def test_a_ranking_without_scores_for_a_text_is_judged_on_the_others():
    table = pl.concat([outcome_table({"attention": GOOD}), outcome_table({"mine": GOOD[:50]})])
    by_name = {each.name: each for each in answered(table).rankings}
    assert by_name["mine"].points.n == 50 and by_name["attention"].points.n == 100


# Whether a model has learnt its task.


def predictions(label: torch.Tensor, *predicted: torch.Tensor) -> dict[str, torch.Tensor]:
    """The columns of one model for each seed's predictions."""
    return {
        "prediction.correct": torch.stack([(each == label).double() for each in predicted]),
        "prediction.label": label.double().expand(len(predicted), -1),
    }


def labels(*counts: int) -> torch.Tensor:
    return torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("counts", [(10, 10), (90, 10), (10, 10, 10)])
def test_a_perfect_model_has_learnt_and_a_constant_one_has_not(counts, seeds):
    label = labels(*counts)
    assert beats_constant_prediction(predictions(label, *[label] * seeds))
    assert not beats_constant_prediction(predictions(label, *[torch.zeros_like(label)] * seeds))


def test_balanced_accuracy_counts_where_accuracy_cannot():
    label = labels(95, 5)
    predicted = label.clone()
    predicted[:10] = 1
    assert (predicted == label).double().mean() < 0.95
    assert beats_constant_prediction(predictions(label, predicted))


def test_accuracy_must_be_surely_above_the_most_common_label():
    label = labels(60, 40)
    predicted = torch.zeros_like(label)
    # 57 of 60 and 7 of 40: 64 % is more than 60 %, but may be 54 %.
    predicted[57:67] = 1
    assert not beats_constant_prediction(predictions(label, predicted))
    predicted[67:90] = 1
    assert beats_constant_prediction(predictions(label, predicted))


def test_a_rare_label_that_is_correct_by_luck_is_no_learning():
    label = labels(99, 1)
    assert not beats_constant_prediction(predictions(label, label))


@pytest.mark.parametrize("count", [0, 1, 30])
def test_with_a_single_label_nothing_can_be_learnt(count):
    label = labels(count)
    assert not beats_constant_prediction(predictions(label, label))


@pytest.mark.parametrize("counts", [(50, 50), (90, 10), (40, 30, 30)])
def test_guessing_seldom_passes(counts):
    label, generator = labels(*counts), torch.Generator().manual_seed(0)
    chances = torch.tensor(counts, dtype=torch.float64)
    passed = 0
    for _ in range(300):
        passed += beats_constant_prediction(
            predictions(label, chances.multinomial(len(label), replacement=True, generator=generator))
        )
    # Two one-sided tests at 2.5 % make 5 % at most, here 15 of 300; 25 is 2.6 standard errors more.
    assert passed <= 25
