import pytest
import torch

from heedful.models.hugging_face import read_texts
from heedful.models.hugging_face.tokenized_texts import rewritten, with_words
from heedful.models.trace import trace
from support.tiny_transformers import TEXTS, tiny_batch, tiny_model


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert")


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
    other, done = rewritten(model.classifier, TEXTS, batch, replaced)
    assert done.tolist() == [True, False, True] and torch.equal(other.index, batch.index)
    with torch.no_grad():
        seen, own = trace(model, other), trace(model, batch)
        expected = trace(model, tiny_batch(model, ("good unlikely",)))
    assert torch.equal(seen.encoded.items, own.encoded.items)
    torch.testing.assert_close(seen.logits[0], expected.logits[0])
    torch.testing.assert_close(seen.logits[1], own.logits[1])


def test_a_word_that_becomes_two_leaves_the_text_as_it_was(model):
    (batch,) = read_texts(model.classifier, ["the film"], [0]).batches()
    other, done = rewritten(model.classifier, ["the film"], batch, [{1: "good plot"}])
    assert done.tolist() == [False] and torch.equal(other.tokens, batch.tokens)
