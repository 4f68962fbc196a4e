import pytest
import torch

from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.classifier import load_inspected
from heedful.models.hugging_face.tokenized_texts import (
    TextWords,
    WordVocabulary,
    match_labels,
    read_texts,
    with_words,
)
from heedful.models.trace import trace
from heedful.types import Example
from support.tiny_transformers import TEXTS, tiny_batch, tiny_model, tiny_module, tiny_tokenizer


@pytest.fixture(scope="module")
def classifier():
    return tiny_model("bert").classifier


def test_texts_come_shortest_first_with_their_numbers_and_classes(classifier):
    (batch,) = read_texts(classifier, TEXTS, [2, 1, 0]).batches()
    assert batch.index.tolist() == [2, 0, 1] and batch.labels.tolist() == [0, 2, 1]
    assert batch.mask.sum(1).tolist() == [4, 11, 11]
    assert torch.equal(batch.attendable_mask, batch.sentence >= 0)
    assert batch.sentence[0].tolist()[:5] == [-1, 0, 1, -1, -1]


def test_only_the_chosen_are_read(classifier):
    texts = read_texts(classifier, TEXTS, [0, 0, 0], chosen=[2, 0])
    (batch,) = texts.batches()
    assert texts.chosen == (2, 0) and sorted(batch.index.tolist()) == [0, 2] and len(texts.examples) == 3


def test_what_was_done_to_the_texts_is_counted_and_said():
    short = load_inspected("short", tiny_module("bert"), tiny_tokenizer(), longest=6)
    texts = read_texts(short, [*TEXTS, "", "  "], [0] * 5)
    assert (texts.cut, texts.empty, texts.chosen) == (2, 2, (0, 1, 2))
    assert texts.notes == (
        "2 texts cut to the 6 tokens that the model reads",
        "2 texts without any word left out",
    )
    assert texts.examples[3].tokens == () and not read_texts(short, ["film"], [0]).notes


def test_no_text_with_a_word_is_an_error(classifier):
    with pytest.raises(DataError, match="none of 2 has. Is it the right column?"):
        read_texts(classifier, ["", " "], [0, 0])


def test_words_take_the_place_of_the_datas_tokens_and_marks_go_with_them(classifier):
    tokens = ("The", "film", "isn't", "goodish")
    given = Example(tokens, 0, rationale=(2,), text="The film isn't goodish", row=7, id="x", sentences=(0,))
    (example,) = read_texts(classifier, [given.text], [1], examples=[given]).examples
    assert example.tokens == ("The", "film", "isn", "'", "t", "goodish")
    assert example.rationale == (2, 3, 4) and (example.label, example.row, example.id) == (1, 7, "x")
    assert example.sentences == ()


def test_marks_of_annotators_stand_at_the_tokens_of_their_words(classifier):
    tokens = ("The", "film", "isn't", "goodish")
    marked = Example(tokens, 0, rationale=(1, 2), annotators=((1, 2), (2,)), text="The film isn't goodish")
    other = Example(("good",), 1, text="good")
    read = read_texts(classifier, [marked.text, other.text], [0, 1], examples=[marked, other])
    assert read.examples[0].annotators == ((1, 2, 3, 4), (2, 3, 4)) and read.examples[1].annotators == ()
    (batch,) = read.batches()
    row, without = batch.index.tolist().index(0), batch.index.tolist().index(1)
    words = [{int(word) for word in batch.sentence[row][batch.marks[row, own] == 1]} for own in (0, 1)]
    assert words == [{1, 2, 3, 4}, {2, 3, 4}] and batch.marks[without].isnan().all()
    (plain,) = read_texts(classifier, [other.text], [1], examples=[other]).batches()
    assert plain.marks is None


def test_marks_that_cannot_be_placed_are_left_out(classifier):
    given = Example(("some", "other", "words"), 0, rationale=(1,), text="the film")
    (example,) = read_texts(classifier, [given.text], [1], examples=[given]).examples
    assert example.rationale is None


def test_numbers_must_agree(classifier):
    with pytest.raises(SettingError, match="there are 2 texts, 1 classes and 0 examples"):
        read_texts(classifier, ["a", "b"], [0])


def test_what_is_no_character_is_refused(classifier):
    with pytest.raises(DataError, match="text 1 must be valid UTF-8"):
        read_texts(classifier, ["good", "bad \udc80"], [0, 0])


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert")


def text_words(model, texts):
    return TextWords(model.classifier, texts, (), WordVocabulary(()))


def test_words_give_way_to_others_where_they_stand(model):
    reader = model.classifier.reader
    assert with_words("The film, not BAD!", reader.read("The film, not BAD!"), {1: "plot", 4: "good"}) == (
        "The plot, not good!"
    )
    pair = ("the film", "is bad")
    assert with_words(pair, reader.read(*pair), {3: "good", 0: "a"}) == ("a film", "is good")
    assert with_words("the film", reader.read("the film"), {}) == "the film"


def test_rewritten_texts_are_what_they_would_be_if_they_were_read(model):
    batch = tiny_batch(model)
    replaced = [{1: "unlikely"}, {}, {0: "good"}]
    other, done = text_words(model, TEXTS).rewritten(batch, replaced)
    assert done.tolist() == [True, False, True] and torch.equal(other.index, batch.index)
    with torch.no_grad():
        seen, own = trace(model, other), trace(model, batch)
        expected = trace(model, tiny_batch(model, ("good unlikely",)))
    assert torch.equal(seen.encoded.items, own.encoded.items)
    torch.testing.assert_close(seen.logits[0], expected.logits[0])
    torch.testing.assert_close(seen.logits[1], own.logits[1])


def test_a_word_that_becomes_two_leaves_the_text_as_it_was(model):
    (batch,) = read_texts(model.classifier, ["the film"], [0]).batches()
    other, done = text_words(model, ["the film"]).rewritten(batch, [{1: "good plot"}])
    assert done.tolist() == [False] and torch.equal(other.tokens, batch.tokens)


def test_numbers_and_new_words_are_those_of_the_texts():
    classifier = tiny_model("bert").classifier
    read = read_texts(classifier, TEXTS, [0, 0, 0])
    vocabulary = WordVocabulary.of(read.examples)
    words = TextWords(classifier, TEXTS, read.examples, vocabulary)
    (batch,) = read.batches()
    shortest = batch.index.tolist().index(2)
    assert [vocabulary.words[n] for n in words.numbers(batch)[shortest].tolist() if n >= 0] == ["good", "film"]
    other, done = words.rewritten(batch, [{0: "bad"} if row == shortest else {} for row in range(3)])
    assert done.tolist() == [row == shortest for row in range(3)]
    assert other.tokens[shortest].ne(batch.tokens[shortest]).sum() == 1


def test_names_are_the_same_but_for_case_spaces_and_hyphens():
    matched = match_labels(["ENTAILMENT", "Not-Entailment"], ["not_entailment", "entailment "])
    assert matched.classes == (1, 0) and matched.names == ("entailment ", "not_entailment") and not matched.note


def test_numbers_are_those_of_classes_and_that_is_said():
    matched = match_labels(["NEGATIVE", "POSITIVE"], ["0", "1"])
    assert matched.classes == (0, 1) and matched.names == ("NEGATIVE", "POSITIVE")
    assert "0 as NEGATIVE, 1 as POSITIVE" in matched.note
    assert match_labels(["LABEL_0", "LABEL_1"], ["0", "1"]).names == ("0", "1")


@pytest.mark.parametrize("labels", [["negative", "positive"], ["1", "2"], ["0", "1", "2"]])
def test_an_error_shows_both_where_they_do_not_match(labels):
    with pytest.raises(DataError) as error:
        match_labels(["LABEL_0", "LABEL_1"], labels)
    for name in (*labels, "LABEL_0", "LABEL_1", "id2label"):
        assert name in str(error.value)


def test_classes_are_renamed():
    matched = match_labels(["LABEL_0", "LABEL_1"], ["bad", "good"], {"LABEL_0": "good", "LABEL_1": "bad"})
    assert matched.classes == (1, 0)
    with pytest.raises(SettingError, match="'LABEL_0', 'LABEL_1'; it names 'LABEL_2'"):
        match_labels(["LABEL_0", "LABEL_1"], ["bad", "good"], {"LABEL_2": "good"})


def test_two_labels_for_one_class_are_refused():
    with pytest.raises(DataError, match="must be different classes"):
        match_labels(["bad", "good"], ["good", "Good"])


def test_a_name_that_two_classes_have_decides_nothing():
    with pytest.raises(DataError, match="Not among them: 'good'"):
        match_labels(["good", "Good", "bad"], ["good", "bad"])
