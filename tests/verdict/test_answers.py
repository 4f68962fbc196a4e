"""Answers, row by row of their table."""

import pytest
import torch

from heedful.settings import AnswerSettings
from heedful.verdict.answers import REASONS, Outcomes, answer_all, answer_class, headline_of

SETTINGS = AnswerSettings()


def outcomes(points, *, luck=0.1, predicted=0, reason="default"):
    """Outcomes of a list of texts per seed: 1 points, 0 misses, None: no small set."""
    values = torch.tensor([[torch.nan if each is None else each for each in seed] for seed in points]).double()
    decided = (~values.isnan()).double()
    return Outcomes(
        predicted=torch.full(values.shape, predicted),
        points=values,
        decided=decided,
        luck=torch.full(values.shape, luck).double(),
        reason=torch.where(decided == 1, -1, REASONS.index(reason)),
        runs=tuple(f"seed {number}" for number in range(len(points))),
    )


def texts(points, misses, undecided=0):
    return [1] * points + [0] * misses + [None] * undecided


def answer(points, **more):
    return answer_class(outcomes(points, **more), SETTINGS).answer


@pytest.mark.parametrize(
    ("points", "luck", "expected"),
    [
        (texts(29, 0), 0.1, "Too few texts"),
        (texts(30, 0), 0.1, "Yes"),
        (texts(19, 0, 11), 0.1, "Too few texts"),
        (texts(19, 0, 81), 0.1, "No small set decides"),
        (texts(45, 5, 60), 0.1, "Yes"),  # the interval of .545 contains .5
        (texts(90, 10), 0.1, "Yes"),
        (texts(90, 10), 0.8, "For some texts"),
        (texts(80, 20), 0.1, "For some texts"),
        (texts(41, 59), 0.1, "For some texts"),
        (texts(40, 60), 0.1, "No"),
        (texts(60, 40), 0.1, "For some texts"),
        (texts(60, 40), 0.6, "No"),
    ],
)
def test_each_row_of_the_table(points, luck, expected):
    assert answer([points], luck=luck) == expected


def test_a_model_that_learned_nothing_has_nothing_to_explain_unless_texts_are_few():
    assert answer_class(outcomes([texts(90, 10)]), SETTINGS, is_learned=False).answer == "Nothing to explain"
    assert answer_class(outcomes([texts(19, 0, 11)]), SETTINGS, is_learned=False).answer == "Nothing to explain"
    assert answer_class(outcomes([texts(20, 0)]), SETTINGS, is_learned=False).answer == "Too few texts"


def test_texts_of_fewer_than_half_of_the_seeds_are_too_few():
    """Such a class has no answer even if the model has learned nothing, and the sentence says why."""
    mixed = outcomes([texts(90, 10)] * 3)
    mixed.predicted[1:] = 1
    of_class = mixed.of_class(0)
    made = answer_class(of_class, SETTINGS)
    assert (made.answer, made.sentence) == (
        "Too few texts",
        "The texts come from 1 of 3 seeds; an answer needs half of them.",
    )
    assert answer_class(of_class, SETTINGS, is_learned=False).answer == "Too few texts"
    mixed.predicted[1] = 0
    assert answer_class(mixed.of_class(0), SETTINGS).answer == "Yes"


def test_a_yes_needs_that_replaced_words_do_not_say_no():
    kept, replaced = outcomes([texts(90, 10)]), outcomes([texts(10, 90)])
    made = answer_class(kept, SETTINGS, replaced=replaced)
    assert made.answer == "For some texts" and "only if words are deleted" in made.sentence
    assert answer_class(kept, SETTINGS, replaced=outcomes([texts(60, 40)])).answer == "Yes"
    assert answer_class(kept, SETTINGS, replaced=outcomes([texts(1, 9)])).answer == "Yes"


def test_an_answer_for_some_texts_says_what_would_decide():
    one = answer_class(outcomes([texts(80, 20)]), SETTINGS)
    assert "80 of 100 texts (71 to 87)" in one.sentence and "More texts would decide." in one.sentence
    three = answer_class(outcomes([texts(90, 10), texts(50, 50), texts(95, 5)]), SETTINGS)
    assert "The share differs by seed: 0.90, 0.50, 0.95." in three.sentence
    assert "More seeds would decide." in three.sentence


def test_the_most_frequent_reason_is_named():
    made = answer_class(outcomes([texts(0, 0, 100)], reason="many words"), SETTINGS)
    assert "mostly because many words contribute" in made.sentence


def headline(first, second):
    both = outcomes([[*first, *second]])
    both.predicted[:, len(first) :] = 1
    return headline_of(*answer_all(both, ("bad", "good"), SETTINGS))


def test_the_headline_tells_classes_apart_only_if_they_differ():
    assert headline(texts(90, 10), texts(5, 95)) == "It depends on the class: bad: Yes, good: No"
    assert headline(texts(90, 10), texts(95, 5)) == "Yes"
    assert headline(texts(90, 10), texts(0, 10)) == "Yes"
    assert headline(texts(20, 0), texts(25, 0)) == "Yes"
