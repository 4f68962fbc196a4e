"""What the verdict asks, in the words of what attention weighs."""

from typing import get_args

import torch

from heedful.battery import BATTERY, PAIRS, QUESTIONS, adversarial_models
from heedful.battery.question import Group, Question, QuestionResult
from support.columns import EVERYTHING, column

ABOUT_WORDS = {"embedding_noise", "embedding_attack", "word_substitution", "token_scores"}
"""Questions about words, whatever attention weighs."""

GROUPS = {
    "relevance": "gradient_agreement leave_one_out_agreement erase_one erase_until_flip comprehensiveness sufficiency "
    "token_scores sign",
    "exclusivity": "permutation without_top adversarial_attention uniform uniform_retrained attefa_frozen attefa",
    "stability": "seeds embedding_noise embedding_attack word_substitution",
}
GROUPS = {name: group for group, names in GROUPS.items() for name in names.split()}


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


def test_a_question_needs_tests_that_there_are_and_has_a_group():
    known = {*BATTERY, *PAIRS, adversarial_models.REACHABLE, adversarial_models.TRAINED}
    for question in QUESTIONS:
        assert question.needs and {need.split(".")[0] for need in question.needs} <= known, question.name
        assert question.group in get_args(Group), question.name
        assert GROUPS.get(question.name, question.group) == question.group, question.name
    assert {*GROUPS} <= {question.name for question in QUESTIONS}


def test_a_question_and_its_answer_are_whole_sentences_on_what_attention_weighs():
    for question in QUESTIONS:
        said = {}
        for item in ("word", "sentence"):
            wording, answer = question.wording(item), sentence(question, item)
            assert wording[0].isupper() and "?" in wording, question.name
            assert answer[0].isupper() and answer.endswith("."), question.name
            assert "nan" not in answer and "{" not in answer + wording, question.name
            said[item] = f"{wording} {answer}"
        assert "sentence" not in said["word"]
        is_of_words = question.name in ABOUT_WORDS
        assert said["sentence"] == (said["word"] if is_of_words else said["word"].replace("word", "sentence"))
