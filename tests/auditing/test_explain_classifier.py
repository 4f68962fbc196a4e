import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.explain_classifier import explain_with_classifier
from heedful.errors import DataError, SettingError
from heedful.schema import TextOutcome
from heedful.settings import AuditSettings
from support.classifiers import make_dataset, two_classes


@pytest.fixture(scope="module")
def model():
    return two_classes()


def test_texts_are_explained_word_by_word(model):
    first, second = heedful.explain(model, ["the unlikely film is goodish", "a bad plot"])
    assert first.items == ("the", "unlikely", "film", "is", "goodish") and len(second.items) == 3
    assert sum(first.attention) == pytest.approx(1) and first.predicted in ("bad", "good")
    assert first.other_attention is None or first.other_attention.solver == "bound"


def test_a_pair_of_texts_is_read_as_one(model):
    (explanation,) = heedful.explain(model, ("the film is good", "bad film"))
    assert explanation.items == ("the", "film", "is", "good", "bad", "film")
    assert explanation.query == "bad film"


def test_its_audit_judges_texts_alike(model):
    finished = audit(model, make_dataset(), AuditSettings(tests=("outcome",), shown=0))
    texts = [example.text or " ".join(example.tokens) for example in make_dataset().test[:4]]
    own = finished.outcomes.filter(removal="delete", split="test", ranking="attention").sort("example")
    for made, row in zip(heedful.explain(model, texts, audit=finished), own.iter_rows(named=True), strict=False):
        audited = TextOutcome.model_validate(row)
        for part in ("outcome", "reason", "top_words", "key_words", "is_moved", "alone_predicted"):
            assert getattr(made.outcome, part) == getattr(audited, part)
        assert made.outcome.effect == pytest.approx(audited.effect, abs=1e-5)
        assert made.guidance.overall is not None
    with pytest.raises(SettingError, match="audit must be one of this model"):
        heedful.explain(model.at("rollout"), "a good film", audit=finished)


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ([], SettingError, "texts must be a text, or a list"),
        ([("a", "b", "c")], SettingError, "each text must be a string, or a pair"),
        (["film", ""], DataError, "text 2 must have a word"),
    ],
)
def test_what_cannot_be_explained_is_named(model, texts, error, message):
    with pytest.raises(error, match=message):
        explain_with_classifier(model, texts, None)


def test_long_texts_are_cut_and_it_is_said():
    (explanation,) = heedful.explain(two_classes(longest=12), "film " * 30)
    assert "the first 12 tokens; the rest had no influence" in explanation.notes[0] and len(explanation.items) == 10
