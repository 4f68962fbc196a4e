import pytest
import torch

from heedful.errors import DataError, SettingError
from heedful.models.hugging_face import load_inspected, read_texts
from heedful.models.hugging_face.tokenized_texts import TOKENS, by_length
from heedful.types import Example
from support.tiny_transformers import TEXTS, tiny_model, tiny_module, tiny_tokenizer


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


def test_batches_can_be_read_again(classifier):
    texts = read_texts(classifier, TEXTS, [0, 0, 0])
    first, second = list(texts.batches()), list(texts.batches())
    assert torch.equal(first[0].tokens, second[0].tokens)


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


def test_pairs_have_the_words_of_both(classifier):
    (example,) = read_texts(classifier, [("the film", "good plot")], [0]).examples
    assert example.tokens == ("the", "film", "good", "plot")
    assert example.text == "the film" and example.query == ("good plot",)


def test_numbers_must_agree(classifier):
    with pytest.raises(SettingError, match="there are 2 texts, 1 classes and 0 examples"):
        read_texts(classifier, ["a", "b"], [0])


def test_what_is_no_character_is_refused(classifier):
    with pytest.raises(DataError, match="text 1 must be valid UTF-8"):
        read_texts(classifier, ["good", "bad \udc80"], [0, 0])


def test_batches_hold_so_many_tokens_at_most():
    lengths = {number: 1 + number % 600 for number in range(2000)}
    blocks = by_length(lengths)
    assert sorted(number for block in blocks for number in block) == list(range(2000))
    assert all(len(block) * max(lengths[number] for number in block) <= TOKENS for block in blocks)
    assert max(len(block) for block in blocks) == 32
