"""The most and the least attended words of a subject, and how many of its words indicate a label."""

from dataclasses import asdict

import torch

from heedful.schema import Words
from heedful.settings import AuditSettings
from heedful.subjects.subject import SubjectTexts, float64_eval_copy
from heedful.token_scores import attended_words, token_classes
from heedful.types import LinearModel


def words_of(subject: SubjectTexts, settings: AuditSettings) -> Words | None:
    """The most and the least attended words, where their scores were asked for and words are what is attended to."""
    if not _asks_of_words(subject, settings) or not isinstance(subject.model, LinearModel):
        return None
    model = float64_eval_copy(subject.model)
    assert isinstance(model, LinearModel)
    counts, vocabulary = subject.context.token_counts(), subject.context.vocabulary
    words = attended_words(model, subject.batches(), counts, vocabulary, subject.labels)
    return Words.model_validate(asdict(words))


def indicative_words(subject: SubjectTexts, settings: AuditSettings) -> int | None:
    """How many label-indicative words the texts have; None where they were not asked for."""
    if not _asks_of_words(subject, settings):
        return None
    indicates = token_classes(subject.context.token_counts()) >= 0
    words, occurs = subject.context.item_words, torch.zeros(len(indicates), dtype=torch.bool)
    for batch in subject.batches():
        numbers = batch.tokens[batch.attendable_mask].cpu() if words is None else words.numbers(batch).flatten()
        occurs[numbers[numbers >= 0]] = True
    return int((indicates & occurs).sum())


def _asks_of_words(subject: SubjectTexts, settings: AuditSettings) -> bool:
    return subject.item == "word" and (not settings.tests or "token_scores" in settings.tests)
