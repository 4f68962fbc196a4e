"""A Hugging Face classifier as a subject: what it is called, and texts as it reads them."""

from dataclasses import replace

import pytest
import torch

import heedful
from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.tokenized_texts import text_of
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.subjects.hugging_face_subject import HuggingFaceSubject
from heedful.types import Example
from support.classifiers import make_dataset, two_classes

COLUMNS = {
    "mean_of_heads.special_weight": torch.tensor([[0.1, 0.3]]),
    "mean_of_heads.tvd": torch.tensor([[0.04, 0.04]]),
    "mean_of_heads.flips": torch.tensor([[0.0, 1.0]]),
}


@pytest.fixture(scope="module")
def model():
    return two_classes()


def test_site_scope_and_what_the_mean_leaves_out_are_said(model):
    site, scope, mean = HuggingFaceSubject(model).about(COLUMNS)
    assert "the last of 2 layers, the mean over its heads" in site
    assert "the row that the classifier reads" in scope and "earlier layers" in scope
    assert "20% of the weight" in mean and "by 0.04 and changes 50 of 100" in mean
    assert len(HuggingFaceSubject(model).about({})) == 2


def test_every_site_is_described(model):
    described = {
        "head:1.0": "head 0 of layer 1",
        "layer:0": "layer 0 (counted from 0, of 2)",
        "all": "all 2 layers",
        "rollout": "the rollout",
        "value-norm": "by the length of what each word adds",
    }
    for site, words in described.items():
        assert words in HuggingFaceSubject(model.at(site)).about({})[0]


def test_a_view_is_named_by_its_folder_and_what_is_unusual(model):
    assert HuggingFaceSubject(model).title == "tiny"
    assert HuggingFaceSubject(model.at("rollout", "all-rows")).title == "tiny, rollout, all-rows"


def test_the_settings_say_which_model_it_was(model):
    settings = HuggingFaceSubject(model).settings
    assert (settings["model"], settings["site"], settings["scope"]) == ("tiny", "last", "row")
    assert settings["classifier"]["architecture"] == "BertForSequenceClassification"
    assert settings["classifier"]["layers"] == 2 and len(settings["classifier"]["fingerprint"]) == 64


def test_a_subject_reads_the_texts_as_the_model_does(model):
    subject = HuggingFaceSubject(model).texts(make_dataset(), AuditSettings(examples=5))
    assert len(subject.numbers) == 5 and subject.labels == ("bad", "good")
    assert (subject.site, subject.scope, subject.name) == ("last", "row", model.key)
    batches = list(subject.batches())
    assert sorted(number for batch in batches for number in batch.index.tolist()) == list(subject.numbers)
    for batch in batches:
        with torch.no_grad():
            seen = trace(model, batch)
        words = [len(subject.examples[number].tokens) for number in batch.index.tolist()]
        assert seen.encoded.items.sum(1).tolist() == words


def test_items_know_their_words(model):
    subject = HuggingFaceSubject(model).texts(make_dataset(), AuditSettings())
    batch = next(subject.batches())
    words = subject.context.item_words
    for numbers, text in zip(words.numbers(batch).tolist(), batch.index.tolist(), strict=True):
        named = [subject.context.vocabulary[number] for number in numbers if number >= 0]
        assert named == list(subject.examples[text].tokens)
    counts = subject.context.token_counts()
    good = subject.context.vocabulary.index("good")
    assert counts[good].tolist() == [0, 20]


def test_other_words_are_read_anew(model):
    subject = HuggingFaceSubject(model).texts(make_dataset(), AuditSettings())
    batch = next(subject.batches())
    last = [len(subject.examples[number].tokens) - 1 for number in batch.index.tolist()]
    other, done = subject.context.item_words.rewritten(batch, [{place: "unlikely"} for place in last])
    assert done.all() and other.tokens.shape[1] >= batch.tokens.shape[1] + 2  # three pieces in the place of one
    with torch.no_grad():
        assert trace(model, other).encoded.items.sum(1).equal(trace(model, batch).encoded.items.sum(1))


def test_labels_are_matched_by_name_and_numbered_as_the_model_does(model):
    subject = HuggingFaceSubject(model)
    texts = subject.texts(make_dataset(("good", "bad")), AuditSettings())
    assert texts.labels == ("bad", "good")
    for example in texts.examples:
        assert texts.labels[example.label] == example.tokens[-1]
    numbered = subject._relabeled(make_dataset(("0", "1"), train=0, dev=0, test=0))
    assert numbered.notes == ("labels of the data are read as numbers of the model's classes: 0 as bad, 1 as good",)
    subject.labels = ("negative", "positive")
    with pytest.raises(DataError, match="the model has 'negative', 'positive'"):
        subject.texts(make_dataset(), AuditSettings())


def test_a_split_without_texts_is_refused(model):
    with pytest.raises(DataError, match="must have test texts"):
        HuggingFaceSubject(model).texts(make_dataset(test=0), AuditSettings())


def test_pairs_are_read_as_they_were_written():
    pair = Example(("a", "film"), 0, query=("it", "is"), text="A film", query_text="It is")
    assert text_of(pair) == ("A film", "It is")
    assert text_of(Example(("a", "film"), 0)) == "a film"


def test_models_that_cut_texts_otherwise_are_not_compared(model):
    class Longer(HuggingFaceSubject):
        def texts(self, data, settings):
            changed = tuple(Example((*e.tokens, "film"), e.label, text=f"{e.text} film") for e in data.test)
            return super().texts(replace(data, test=changed), settings)

    beside = heedful.ComparisonModels(seeds=(Longer(model),))
    with pytest.raises(SettingError, match="must cut texts into the same words"):
        heedful.audit(model, make_dataset(), AuditSettings(tests=("uniform",)), beside)


def test_other_sites_scopes_and_weights_are_other_audits(model):
    views = (model, model.at("rollout"), model.at("last", "all-rows"))
    assert len({HuggingFaceSubject(view).key for view in views}) == 3
    assert HuggingFaceSubject(model).key == HuggingFaceSubject(model.at("last")).key
