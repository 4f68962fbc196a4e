from dataclasses import replace

import pytest
import torch

from heedful.auditing.classifier import check_same_words, relabelled, subject_of_classifier
from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.tokenized_texts import text_of
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.types import Example
from support.classifiers import make_dataset, two_classes


@pytest.fixture(scope="module")
def model():
    return two_classes()


def test_a_subject_reads_the_texts_as_the_model_does(model):
    subject = subject_of_classifier(model, make_dataset(), AuditSettings(examples=5))
    assert len(subject.texts) == 5 and subject.labels == ("bad", "good")
    assert (subject.site, subject.scope, subject.name) == ("last", "row", model.key)
    batches = list(subject.batches())
    assert sorted(number for batch in batches for number in batch.index.tolist()) == list(subject.texts)
    for batch in batches:
        with torch.no_grad():
            seen = trace(model, batch)
        words = [len(subject.examples[number].tokens) for number in batch.index.tolist()]
        assert seen.encoded.items.sum(1).tolist() == words


def test_items_know_their_words(model):
    subject = subject_of_classifier(model, make_dataset(), AuditSettings())
    batch = next(subject.batches())
    words = subject.context.item_words
    for numbers, text in zip(words.numbers(batch).tolist(), batch.index.tolist(), strict=True):
        named = [subject.context.vocabulary[number] for number in numbers if number >= 0]
        assert named == list(subject.examples[text].tokens)
    counts = subject.context.token_counts()
    good = subject.context.vocabulary.index("good")
    assert counts[good].tolist() == [0, 20]


def test_other_words_are_read_anew(model):
    subject = subject_of_classifier(model, make_dataset(), AuditSettings())
    batch = next(subject.batches())
    last = [len(subject.examples[number].tokens) - 1 for number in batch.index.tolist()]
    other, done = subject.context.item_words.rewritten(batch, [{place: "unlikely"} for place in last])
    assert done.all() and other.tokens.shape[1] >= batch.tokens.shape[1] + 2  # three pieces in the place of one
    with torch.no_grad():
        assert trace(model, other).encoded.items.sum(1).equal(trace(model, batch).encoded.items.sum(1))


def test_labels_are_matched_by_name_and_numbered_as_the_model_does():
    dataset = relabelled(make_dataset(("good", "bad")), ("BAD", "Good"))
    assert dataset.labels == ("bad", "good")
    for example in dataset.test:
        assert dataset.labels[example.label] == example.tokens[-1]
    with pytest.raises(DataError, match="the model has 'negative', 'positive'"):
        relabelled(make_dataset(), ("negative", "positive"))


def test_numbers_for_labels_are_said():
    dataset = relabelled(make_dataset(("0", "1"), train=0, dev=0, test=0), ("bad", "good"))
    assert dataset.notes == ("labels of the data are read as numbers of the model's classes: 0 as bad, 1 as good",)


def test_a_split_without_texts_is_refused(model):
    with pytest.raises(DataError, match="must have test texts"):
        subject_of_classifier(model, make_dataset(test=0), AuditSettings())


def test_pairs_are_read_as_they_were_written():
    pair = Example(("a", "film"), 0, query=("it", "is"), text="A film", query_text="It is")
    assert text_of(pair) == ("A film", "It is")
    assert text_of(Example(("a", "film"), 0)) == "a film"


def test_models_that_cut_texts_otherwise_are_not_compared(model):
    subject = subject_of_classifier(model, make_dataset(), AuditSettings())
    assert check_same_words(subject, subject) is subject
    other = make_dataset()
    changed = tuple(Example((*e.tokens, "film"), e.label, text=f"{e.text} film") for e in other.test)
    longer = subject_of_classifier(model, replace(other, test=changed), AuditSettings())
    with pytest.raises(SettingError, match="must cut texts into the same words"):
        check_same_words(subject, longer)
