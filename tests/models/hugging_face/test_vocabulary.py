from heedful.models.hugging_face import read_texts
from heedful.models.hugging_face.tokenized_texts import UNKNOWN, WordVocabulary
from heedful.types import Example
from support.tiny_transformers import TEXTS, tiny_model


def test_items_of_a_batch_have_the_numbers_of_their_words():
    read = read_texts(tiny_model("bert").classifier, TEXTS, [0, 1, 1])
    (batch,) = read.batches()
    words = WordVocabulary.of(read.examples[:2])
    numbers = words.of_items(batch, read.examples)
    spoken = [[words.words[number] for number in row if number != UNKNOWN] for row in numbers.tolist()]
    assert spoken == [list(read.examples[number].tokens) for number in batch.index.tolist()]
    assert numbers.shape == (3, 7) and numbers[0, 2:].eq(UNKNOWN).all()


def test_words_that_nobody_knows_are_unknown_and_not_counted():
    words = WordVocabulary(("good",))
    assert words.counts([Example(("good", "Good", "bad"), 1)], 3).tolist() == [[0, 2, 0]]
