"""The outcome of a text on the live page: in the words of every view."""

from math import isnan

import pytest

from heedful.report.explanation import explain
from heedful.schema import TextOutcome
from heedful.server.outcomes import outcomes_of, shown_outcome, weights_by_word
from heedful.settings import AuditSettings
from heedful.verdict.outcome_text import outcome_sentences
from support.explanations import OUTCOMES

SETTINGS = AuditSettings()


def test_it_is_that_of_the_explanation(each):
    texts = (each.text, each.query) if each.query else each.text
    (made,) = explain(each.trained, texts)
    with each.served.reading(each.text, each.query) as read:
        assert outcomes_of(read, each.served.settings)["attention"] == made.outcome
        shown = shown_outcome(read, each.served.settings)
    assert shown.sentences == list(outcome_sentences(made.outcome, made.items, made.item))
    assert (shown.outcome, shown.key_words) == (made.outcome.outcome, list(made.outcome.key_words))


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_told_in_the_words_of_every_view(name, model):
    case = model("average")
    with case.served.reading("The film was") as read:
        read.outcomes.update({"attention": OUTCOMES[name]})
        shown = shown_outcome(read, SETTINGS)
        read.outcomes.clear()
    assert shown.sentences == list(outcome_sentences(OUTCOMES[name], ("The", "film", "was")))
    assert shown.key_words == list(OUTCOMES[name].key_words)


def test_it_is_judged_once(model, monkeypatch):
    case, calls = model("bilstm"), []
    found = TextOutcome(predicted="good", outcome="misses")
    monkeypatch.setattr(
        "heedful.server.outcomes.judged_outcomes", lambda *own: calls.append(own) or [{"attention": found}]
    )
    with case.served.reading("so good so bad film") as read:
        assert outcomes_of(read, SETTINGS) == outcomes_of(read, SETTINGS) == {"attention": found}
        read.outcomes.clear()
    assert len(calls) == 1


def test_scores_of_single_words_are_those_of_the_explanation(each):
    with each.served.reading(each.text, each.query) as read:
        weights = weights_by_word(read, SETTINGS)
        assert set(weights) == {"leave_one_out", "alone", "effect"}
        assert all(len(own) == read.count and not any(map(isnan, own)) for own in weights.values())
    with each.served.reading("good", each.query) as read:
        assert weights_by_word(read, SETTINGS) == {}
