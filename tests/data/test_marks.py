import torch

from heedful.data.batching import collate, encode_split
from heedful.data.marks import encode_marks, pad_marks
from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
from heedful.settings import TextSettings
from heedful.types import Example


def test_marks_stand_beside_the_tokens_and_nobody_marks_a_start_or_end_symbol():
    assert encode_marks([(1,), (0, 2)], 3).tolist() == [[0, 1, 0], [1, 0, 1]]
    assert encode_marks([(0, 2)], 3, framed=True).tolist() == [[0, 1, 0, 1, 0]]
    assert encode_marks([], 3).shape == (0, 3)


def test_texts_may_have_other_numbers_of_tokens_and_annotators():
    padded = pad_marks([encode_marks([(1,), ()], 2), encode_marks([(0,)], 3), None], 5)
    assert padded.shape == (3, 2, 5)
    assert padded[0].tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert padded[1, 0].tolist() == [1, 0, 0, 0, 0] and padded[1, 1].isnan().all()
    assert padded[2].isnan().all()


def test_a_batch_that_nobody_marked_has_a_row_of_its_own():
    assert pad_marks([None, None], 4).shape == (2, 1, 4)
    assert torch.isnan(pad_marks([None], 4)).all()


def test_a_batch_has_the_marks_of_its_texts_beside_their_tokens():
    """Start and end symbols are marked by nobody; a text that nobody marked has no annotators."""
    examples = [Example(("a", "b", "c"), 0, annotators=((0, 2), (1,))), Example(("b",), 1), Example(("a",), 0)]
    words = learn_vocabulary(WordTokenizer.from_settings(TextSettings(start_end=True)), examples, 1)
    split = encode_split(examples, words)
    marks = collate(split, [0, 1]).marks
    assert marks.shape == (2, 2, 5)
    assert marks[0].tolist() == [[0, 1, 0, 1, 0], [0, 0, 1, 0, 0]] and marks[1].isnan().all()
    assert collate(split, [1, 2]).marks.isnan().all()
    assert collate(encode_split(examples[1:], words), [0, 1]).marks is None
