"""What the verdict asks, in the words of what attention weighs."""

import pytest
import torch

from heedful.battery import BATTERY, PAIRS, QUESTIONS, adversarial_models
from heedful.battery.question import of_100
from heedful.verdict.scoring import verdict_lines
from support.columns import EVERYTHING

ABOUT_WORDS = {"embedding_noise", "embedding_attack", "word_substitution", "token_scores"}
"""Questions about words, whatever attention weighs."""


def lines(item):
    made = verdict_lines(EVERYTHING, torch.Generator().manual_seed(0), inexact=set(BATTERY), item=item)
    return {line.name: line for line in made}


@pytest.fixture(scope="module")
def by_item():
    return {item: lines(item) for item in ("word", "sentence")}


def test_every_question_of_every_test_is_asked_once():
    names = [question.name for question in QUESTIONS]
    assert len(names) == len(set(names))
    asked = [question for test in (*BATTERY.values(), *PAIRS.values()) for question in test.questions]
    assert {id(question) for question in QUESTIONS} == {
        id(question) for question in (*asked, *adversarial_models.QUESTIONS)
    }


@pytest.mark.parametrize("item", ["word", "sentence"])
@pytest.mark.parametrize("name", [question.name for question in QUESTIONS])
def test_a_question_and_its_answer_are_whole_sentences(by_item, name, item):
    line = by_item[item][name]
    assert line.question[0].isupper() and "?" in line.question
    assert line.sentence[0].isupper() and line.sentence.endswith(".")
    assert "nan" not in line.sentence and "{" not in line.sentence


@pytest.mark.parametrize("name", [question.name for question in QUESTIONS])
def test_a_question_speaks_of_what_attention_weighs(by_item, name):
    word, sentence = by_item["word"][name], by_item["sentence"][name]
    assert "sentence" not in word.question + word.sentence
    if name in ABOUT_WORDS:
        assert (sentence.question, sentence.sentence) == (word.question, word.sentence)
        return
    assert "word" not in (sentence.question + sentence.sentence).lower()
    assert sentence.question == word.question.replace("word", "sentence")
    assert sentence.sentence == word.sentence.replace("word", "sentence")


def test_some_questions_name_the_items_and_some_their_answers_only():
    wordings = {question.name: question.wording("sentence") for question in QUESTIONS}
    assert wordings["permutation"] == "Does it matter which sentences get the weight?"
    assert wordings["erase_one"] == "Does the top sentence carry the decision?"
    assert wordings["comprehensiveness"] == "Are the top sentences necessary?"
    assert "(other words of the same meaning)" in wordings["word_substitution"]


def test_a_share_that_nothing_has_is_none():
    assert of_100(float("nan")) == "none"
