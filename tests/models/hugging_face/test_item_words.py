from heedful.models.hugging_face.tokenized_texts import TextWords, WordVocabulary, read_texts
from support.tiny_transformers import TEXTS, tiny_model


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
