"""What the verdict asks, in the words of what attention weighs."""

from typing import get_args

import pytest
import torch

from heedful.battery import BATTERY, PAIRS, QUESTIONS, adversarial_models
from heedful.battery.question import Group, Question, QuestionResult, per_100
from support.columns import EVERYTHING, column

ABOUT_WORDS = {"embedding_noise", "embedding_attack", "word_substitution", "token_scores"}
"""Questions about words, whatever attention weighs."""

every_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)


class Columns(dict[str, torch.Tensor]):
    """The known columns, and some values for those of tests that are new."""

    def __missing__(self, name: str) -> torch.Tensor:
        return column(0.2, 0.4)


def sentence(question: Question, item: str) -> str:
    columns = Columns(EVERYTHING)
    value, floor, best = (part.nanmean().item() for part in question.measured(columns))
    answer = QuestionResult(value, floor, best, question.details(columns), item)
    return f"{question.sentence(answer)} {question.if_inexact}".strip()


def test_every_question_of_every_test_is_asked_once():
    names = [question.name for question in QUESTIONS]
    assert len(names) == len(set(names))
    asked = [question for test in (*BATTERY.values(), *PAIRS.values()) for question in test.questions]
    assert {id(question) for question in QUESTIONS} == {
        id(question) for question in (*asked, *adversarial_models.QUESTIONS)
    }


@every_question
def test_a_question_needs_tests_that_there_are(question):
    known = {*BATTERY, *PAIRS, adversarial_models.REACHABLE, adversarial_models.TRAINED}
    assert question.needs and {need.split(".")[0] for need in question.needs} <= known


@pytest.mark.parametrize("item", ["word", "sentence"])
@every_question
def test_a_question_and_its_answer_are_whole_sentences(question, item):
    wording, answer = question.wording(item), sentence(question, item)
    assert wording[0].isupper() and "?" in wording
    assert answer[0].isupper() and answer.endswith(".")
    assert "nan" not in answer and "{" not in answer + wording


@every_question
def test_a_question_speaks_of_what_attention_weighs(question):
    of_words, of_sentences = (f"{question.wording(item)} {sentence(question, item)}" for item in ("word", "sentence"))
    assert "sentence" not in of_words
    if question.name in ABOUT_WORDS:
        assert of_sentences == of_words
    else:
        assert of_sentences == of_words.replace("word", "sentence")


GROUPS = {
    "gradient_agreement": "relevance",
    "leave_one_out_agreement": "relevance",
    "erase_one": "relevance",
    "erase_until_flip": "relevance",
    "comprehensiveness": "relevance",
    "sufficiency": "relevance",
    "token_scores": "relevance",
    "sign": "relevance",
    "permutation": "exclusivity",
    "without_top": "exclusivity",
    "adversarial_attention": "exclusivity",
    "uniform": "exclusivity",
    "uniform_retrained": "exclusivity",
    "attefa_frozen": "exclusivity",
    "attefa": "exclusivity",
    "seeds": "stability",
    "embedding_noise": "stability",
    "embedding_attack": "stability",
    "word_substitution": "stability",
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_question_is_of_its_group(name):
    (question,) = (question for question in QUESTIONS if question.name == name)
    assert question.group == GROUPS[name]


@every_question
def test_every_question_has_a_group(question):
    assert question.group in get_args(Group)


def test_questions_name_the_items():
    wordings = {question.name: question.wording("sentence") for question in QUESTIONS}
    assert wordings["permutation"] == "Does it matter which sentences get the weight?"
    assert wordings["erase_one"] == "Does the top sentence carry the decision?"
    assert wordings["comprehensiveness"] == "Are the top sentences necessary?"
    assert "(other words of the same meaning)" in wordings["word_substitution"]


def test_a_share_that_nothing_has_is_none():
    assert per_100(float("nan")) == "none"
