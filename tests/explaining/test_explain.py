"""Texts explained as a run reads them, and batches of any other model; what is wrong is said at the door."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from heedful.data.batching import collate, encode_split
from heedful.errors import DataError, HeedfulError, SettingError
from heedful.report.explanations import explain as explain_texts
from heedful.report.loading import audit
from heedful.schema import Recommendation, TextOutcome, Training, updated
from heedful.settings import AuditSettings, key_of
from heedful.subjects.opening import open_subject
from heedful.training.loop import train
from heedful.types import Example
from support.audits import QUICK
from support.classifiers import make_dataset, two_classes
from support.four_verbs import Relu
from support.models import make, make_batch
from support.runs import changed, toy


@pytest.fixture(scope="module")
def classifier():
    return two_classes()


TEXTS = ["The film was GOOD!", "bad", "so bad , the film"]


@pytest.fixture(scope="module")
def query_run():
    return train(changed(training__epochs=1, data__task="nli"), toy("nli"))


@pytest.fixture(scope="module")
def sentence_run():
    return train(changed(network__encoder="hierarchical", training__epochs=1), toy(sentences=True))


@pytest.fixture(scope="module")
def own():
    """A model of the user's own, its batch and its audit."""
    model, batch = make("average"), make_batch()
    return model, batch, audit(model, [batch], QUICK, labels=("no", "yes"))


@pytest.fixture(scope="module")
def judged(trained):
    """An audit of the run whose texts are enough for an answer."""
    return audit(trained, replace(toy(), test=toy().train), AuditSettings(tests=("outcome",), shown=0, seed=5))


def test_a_run_explains_texts_as_it_reads_them(trained):
    for text, made in zip(TEXTS, explain_texts(trained, TEXTS), strict=True):
        tokens = trained.words.split(text)[0]
        batch = collate(encode_split([Example(tokens, 0)], trained.words), [0])
        with torch.no_grad():
            encoded = trained.model.encode(trained.model.embed(batch), batch)
            attention = trained.model.attend(encoded, batch)[1]
            wanted = trained.model.decode(encoded, attention).softmax(-1)[0].tolist()
        assert list(made.probabilities) == ["bad", "good"]
        assert list(made.probabilities.values()) == pytest.approx(wanted, abs=1e-6)
        assert made.attention == pytest.approx(attention[0].tolist(), abs=1e-6)
        assert made.text == text and made.item == "word"


def test_items_are_the_words_as_they_are_written(trained):
    assert explain_texts(trained, TEXTS)[0].items == ("The", "film", "was", "GOOD", "!")
    assert explain_texts(trained, TEXTS[0])[0].items == ("The", "film", "was", "GOOD", "!")


def test_neighbours_change_nothing(trained):
    together = explain_texts(trained, TEXTS)
    for text, made in zip(TEXTS, together, strict=True):
        (alone,) = explain_texts(trained, text)
        assert alone.attention == pytest.approx(made.attention)
        assert (alone.smallest_set is None) == (made.smallest_set is None)
        if alone.smallest_set is not None and made.smallest_set is not None:
            assert alone.smallest_set.positions == made.smallest_set.positions
        assert list(alone.probabilities.values()) == pytest.approx(list(made.probabilities.values()))


def test_more_texts_than_a_batch_come_in_order(trained):
    texts = ["film " * (1 + number % 7) for number in range(70)]
    assert [len(made.items) for made in explain_texts(trained, texts)] == [1 + number % 7 for number in range(70)]


def test_the_audit_decides_what_is_shown(trained, finished, judged):
    guidance = explain_texts(trained, TEXTS)[0].guidance
    assert (
        guidance.show == "not audited" and f"`heedful audit --model {key_of(trained.run)}`" in guidance.recommendation
    )
    for given in (finished, finished.verdict):
        guidance = explain_texts(trained, TEXTS, audit=given)[0].guidance
        assert guidance.show == "nothing" and guidance.headline == "Too few texts"
    made = explain_texts(trained, TEXTS, audit=judged)[0]
    assert judged.answer is not None and made.guidance.headline == judged.answer.headline
    assert made.guidance.overall == judged.answer.overall


def test_outcomes_are_those_of_the_audit(trained, judged):
    """For every text and ranking, whatever texts are in its batch."""
    texts = toy().train
    own = judged.outcomes.filter(removal="delete", split="test")
    for ranking in ("attention", "effect"):
        advice = Recommendation(show="ranking", ranking=ranking, sentence="")
        answer = updated(judged.answer, recommendation=advice)
        verdict = updated(judged.verdict, answer=answer)
        made = explain_texts(trained, [each.text or " ".join(each.tokens) for each in texts], audit=verdict)
        for number, each in enumerate(made):
            row = own.filter(example=number, ranking=ranking if each.outcome.outcome else "attention")
            assert each.shown_outcome == TextOutcome.model_validate(row.row(0, named=True))
    assert {"points", "misses", "no_small_set"} & set(own["outcome"])


def test_a_method_that_the_audit_advised_is_judged_too(trained, judged):
    answer = updated(judged.answer, recommendation=Recommendation(show="ranking", ranking="smoothgrad", sentence=""))
    made = explain_texts(trained, TEXTS[0], audit=updated(judged.verdict, answer=answer))[0]
    assert made.shown_outcome.ranking == "smoothgrad" and made.outcome == explain_texts(trained, TEXTS[0])[0].outcome


def test_the_audit_must_be_one_of_the_model(trained, finished, own):
    other = updated(finished.verdict, run="0123", trainings=(Training(run="0123"),))
    with pytest.raises(
        SettingError, match=f"audit must belong to this model, {key_of(trained.run)}; it belongs to 0123"
    ):
        explain_texts(trained, TEXTS, audit=other)
    pooled = updated(other, trainings=(Training(run="0123"), Training(run=key_of(trained.run))))
    assert explain_texts(trained, TEXTS, audit=pooled)
    with pytest.raises(SettingError, match="audit must belong to this model, LinearAttentionModel; it belongs to 0123"):
        explain_texts(own[0], own[1], audit=other)


def test_a_query_is_read_with_each_text(query_run):
    (made,) = explain_texts(query_run, ("the film was so good", "why"))
    assert made.query == "why" and len(made.items) == 5
    assert len(explain_texts(query_run, [("so good", "why"), ("bad", "why")])) == 2
    assert made.other_attention is None or made.other_attention.eps == 0.01


def test_the_task_decides_what_is_the_same_answer():
    for changes, eps in [({"data__task": "qa"}, 0.05), ({"data__query": "question"}, 0.05), ({}, 0.01)]:
        run = train(changed(training__epochs=1, **changes), toy("qa"))
        made = explain_texts(run, ("the film was so good", "why"))[0]
        assert made.other_attention is not None and made.other_attention.eps == eps


def test_sentences_are_items_of_a_model_of_sentences(sentence_run):
    (made,) = explain_texts(sentence_run, "The film was bad. So good! Mr. Film was so.")
    assert made.items == ("The film was bad.", "So good!", "Mr. Film was so.") and made.item == "sentence"
    (single,) = explain_texts(sentence_run, "So good!")
    assert single.outcome.reason == "one word"


def test_start_and_end_symbols_are_no_items():
    run = train(changed(training__epochs=1, text__start_end=True), toy())
    (made,) = explain_texts(run, "the film was good")
    assert made.items == ("the", "film", "was", "good") and sum(made.attention) == pytest.approx(1)


def test_a_long_text_is_cut_as_in_training():
    run = train(changed(training__epochs=1, text__max_tokens=3), toy())
    cut, short = explain_texts(run, ["the film was good", "film was good"])
    assert cut.items == ("the", "film", "was") and cut.text == "the film was good"
    assert cut.notes == ("The model reads the first 3 of 4 words; the rest had no influence.",)
    assert short.notes == ()


def test_frozen_attention_is_that_of_its_reference(trained):
    frozen = train(changed(network__attention="frozen", reference="base"), toy(), reference=trained)
    own, imposed = explain_texts(trained, TEXTS), explain_texts(frozen, TEXTS, reference=trained)
    for made, other in zip(own, imposed, strict=True):
        assert other.attention == pytest.approx(made.attention, abs=1e-6)
    with pytest.raises(SettingError, match="needs the attention to impose"):
        explain_texts(frozen, TEXTS)


def test_words_that_the_model_does_not_know_are_noted(trained):
    for text, note in [
        ("the film was good", None),
        ("the movie was good", "The model does not know “movie”, which it reads as an unknown word."),
        (
            "my movie, my film",
            "The model does not know “my”, “movie”, “,”, which it reads as one and the same unknown word.",
        ),
        (
            "film a b c d e f g",
            "The model does not know “a”, “b”, “c”, “d”, “e” and 2 more, which it reads as one and ",
        ),
        ("qu ux", "The model knows none of these words and reads them all as the same unknown word: do not rely on "),
    ]:
        (made,) = explain_texts(trained, text)
        assert made.notes == () if note is None else made.notes[0].startswith(note)


def test_a_long_word_that_the_model_does_not_know_is_cut(trained):
    (note,) = explain_texts(trained, f"film {'x' * 400}")[0].notes
    assert note == f"The model does not know “{'x' * 39}…”, which it reads as an unknown word."


def test_a_text_that_looks_like_our_symbols_is_unknown_words(trained):
    assert "knows none of these words" in explain_texts(trained, "<pad> <unk>")[0].notes[0]


def test_texts_that_a_run_cannot_read_are_named(trained):
    for texts, error, message in [
        ("", DataError, "text 1 must have a word at least; it has none: ''"),
        (["good", " \n"], DataError, r"text 2 must have a word at least; it has none: ' \\n'"),
        (["good", "\ud800"], DataError, "the text of text 2 must be valid UTF-8, and is not"),
        ([], SettingError, r"texts must be a list, and each text a string; it is \[\]"),
        ([("good", "why")], SettingError, r"each text must be a string; one is \('good', 'why'\)"),
        (make_batch(), SettingError, r"texts must be a list, and each text a string; it is Batch\("),
        ([make_batch()], SettingError, r"each text must be a string; one is Batch\("),
    ]:
        with pytest.raises(error, match=message):
            explain_texts(trained, texts)


def test_queries_that_a_run_cannot_read_are_named(query_run):
    for texts, error, message in [
        (
            "good",
            SettingError,
            r"each text must be a pair \(text, query\), since this run reads a query with each text",
        ),
        (("good", ""), DataError, "the query of text 1 must have a word at least; it has none: ''"),
        (("", "why"), DataError, "text 1 must have a word at least"),
        ([("good", "\udfff")], DataError, "the query of text 1 must be valid UTF-8"),
    ]:
        with pytest.raises(error, match=message):
            explain_texts(query_run, texts)


def test_a_run_knows_its_words_and_labels(trained):
    with pytest.raises(SettingError, match="words, name and labels are only for your own model"):
        explain_texts(trained, TEXTS, words=[["a"]])
    with pytest.raises(SettingError, match="words, name and labels are only for your own model"):
        explain_texts(trained, TEXTS, labels=("no", "yes"))


def test_any_model_is_explained_on_its_batches(own):
    model, batch, finished = own
    made = explain_texts(model, batch)
    assert [len(each.items) for each in made] == [7, 4, 1] and made[0].items[0] == "item 1"
    assert set(made[0].probabilities) == {"0", "1"} and made[0].item == "item" and made[0].text == ""
    assert "`heedful.audit(model, batches)` and pass the result as `audit`" in made[0].guidance.recommendation
    audited = explain_texts(model, [batch], audit=finished)
    assert set(audited[0].probabilities) == {"no", "yes"} and audited[0].guidance.headline == "Too few texts"
    named = explain_texts(model, batch, audit=finished, labels=("bad", "good"))
    assert set(named[0].probabilities) == {"bad", "good"}


def test_the_words_of_any_model_are_shown(own):
    words = [list("abcdefg"), list("hijk"), ["l"]]
    made = explain_texts(own[0], own[1], words=words)
    assert [each.items for each in made] == [tuple(own) for own in words]
    assert made[1].text == "h i j k" and made[1].item == "word"


def test_words_that_do_not_fit_are_named(own):
    for words, message in [
        ([["a"]], "words must be a list of strings for each of the 3 texts; it has 1 parts"),
        ("abc", "words must be a list of strings for each of the 3 texts; it has 3 parts: 'abc'"),
        (
            ["abcdefg", "hijk", "l"],
            "words must be a list of strings for each of the 3 texts; that of a text is 'abcdefg'",
        ),
        ([["a"], ["b"], ["c"]], "text 0 has 7 items, and `words` has 1 for it. Leave out padding"),
    ]:
        with pytest.raises(SettingError, match=message):
            explain_texts(own[0], own[1], words=words)


def test_only_the_user_can_number_tokens(own):
    for texts in ["a text", ["a text"], []]:
        with pytest.raises(SettingError, match="texts must be a `Batch` or a list of them for your own model"):
            explain_texts(own[0], texts)


def test_item_logits_that_do_not_fit_are_an_error():
    with pytest.raises(HeedfulError, match="`item_logits` does not fit `decode`"):
        explain_texts(Relu(make("bilstm")), make_batch())


WRONG = """
import heedful
from heedful.types import Batch, Encoded
class Own:
    def embed(self, batch): ...
    def encode(self, embedded, batch): ...
    def attend(self, encoded, batch): ...
    def decode(self, encoded, attention): ...
for model, texts, audit in (
    (object(), "a", None), ("runs/0123", "a", None), (Own(), 5, None), (Own(), None, None), (Own(), "a", "verdict.json")
):
    try:
        heedful.explain(model, texts, audit=audit)
    except heedful.HeedfulError as error:
        print(error)
"""


def test_things_of_the_wrong_kind_are_named():
    """In a process of its own: here the types of arguments are checked before anything is said."""
    result = subprocess.run([sys.executable, "-c", WRONG], check=True, capture_output=True, text=True)
    lines = result.stdout.splitlines()
    assert len(lines) == 5
    for line in lines[:2]:
        assert line.startswith(("model must be a finished run, or an object with the methods", "there is no model "))
    assert lines[2].endswith("It is 5.") and lines[3].endswith("It is None.")
    assert lines[4] == "audit must be what `heedful.audit` returns, or its verdict; it is 'verdict.json'."


def test_the_model_is_described(trained, own):
    described = open_subject(trained).facts
    assert described["Model"] == "average, additive attention" and described["Data"] == "mock-1"
    assert described["Run"] == f"{key_of(trained.run)} (seed 0)"
    assert open_subject(own[0]).facts == {"Model": "LinearAttentionModel"}


# As a Hugging Face classifier reads them.


def test_texts_are_explained_word_by_word(classifier):
    first, second = explain_texts(classifier, ["the unlikely film is goodish", "a bad plot"])
    assert first.items == ("the", "unlikely", "film", "is", "goodish") and len(second.items) == 3
    assert sum(first.attention) == pytest.approx(1) and first.predicted in ("bad", "good")
    assert first.other_attention is None or first.other_attention.solver == "bound"


def test_a_pair_of_texts_is_read_as_one(classifier):
    (explanation,) = explain_texts(classifier, ("the film is good", "bad film"))
    assert explanation.items == ("the", "film", "is", "good", "bad", "film")
    assert explanation.query == "bad film"


def test_the_audit_of_a_classifier_judges_texts_alike(classifier):
    finished = audit(classifier, make_dataset(), AuditSettings(tests=("outcome",), shown=0))
    texts = [example.text or " ".join(example.tokens) for example in make_dataset().test[:4]]
    own = finished.outcomes.filter(removal="delete", split="test", ranking="attention").sort("example")
    for made, row in zip(explain_texts(classifier, texts, audit=finished), own.iter_rows(named=True), strict=False):
        audited = TextOutcome.model_validate(row)
        for part in ("outcome", "reason", "top_words", "key_words", "is_moved", "alone_predicted"):
            assert getattr(made.outcome, part) == getattr(audited, part)
        assert made.outcome.effect == pytest.approx(audited.effect, abs=1e-5)
        assert made.guidance.overall is not None
    with pytest.raises(SettingError, match="audit must belong to this model"):
        explain_texts(classifier.at("rollout"), "a good film", audit=finished)


def test_what_cannot_be_explained_is_named(classifier):
    for texts, error, message in [
        ([], SettingError, "texts must be a list, and each text a string, or a pair"),
        ([("a", "b", "c")], SettingError, "each text must be a string, or a pair"),
        (["film", ""], DataError, "text 2 must have a word"),
    ]:
        with pytest.raises(error, match=message):
            explain_texts(classifier, texts)


def test_long_texts_are_cut_and_it_is_said():
    (explanation,) = explain_texts(two_classes(longest=12), "film " * 30)
    assert "the first 12 tokens; the rest had no influence" in explanation.notes[0] and len(explanation.items) == 10
