import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from heedful.data.tokenizer import WordTokenizer
from heedful.models.pretrained.pieces import PieceReader, whole_words
from heedful.settings import TextSettings
from support.tiny_transformers import VOCABULARY, tiny_tokenizer, transformers


def names(window):
    numbers = {number: piece for piece, number in VOCABULARY.items()}
    return [numbers[number] for number in window.pieces]


def test_the_pieces_of_a_word_belong_to_it():
    (window,) = PieceReader(tiny_tokenizer(), None).read(["the", "unlikely", "film", "."])
    assert names(window) == ["[CLS]", "the", "un", "##like", "##ly", "film", ".", "[SEP]"]
    assert window.owner == (-1, 0, 1, 1, 1, 2, 3, -1)


def test_a_word_without_pieces_is_unknown():
    (window,) = PieceReader(tiny_tokenizer(), None).read(["film", "\u0000", "is"])
    assert names(window) == ["[CLS]", "film", "[UNK]", "is", "[SEP]"]
    assert window.owner == (-1, 0, 1, 2, -1)


def test_longer_texts_are_read_in_windows_of_whole_words():
    windows = PieceReader(tiny_tokenizer(), 6).read(["film", "is", "unlikely", "good", "plot", "bad"])
    assert [names(window)[1:-1] for window in windows] == [
        ["film", "is"],
        ["un", "##like", "##ly", "good"],
        ["plot", "bad"],
    ]
    assert [window.owner[1:-1] for window in windows] == [(0, 1), (2, 2, 2, 3), (4, 5)]
    assert all(len(window.pieces) <= 6 for window in windows)


def test_a_text_that_just_fits_is_a_single_window():
    assert len(PieceReader(tiny_tokenizer(), 5).read(["film", "is", "good"])) == 1
    assert len(PieceReader(tiny_tokenizer(), 4).read(["film", "is", "good"])) == 2


def test_a_word_that_is_longer_than_a_window_is_cut():
    windows = PieceReader(tiny_tokenizer(), 4).read(["film", "unlikely"])
    assert [names(window)[1:-1] for window in windows] == [["film"], ["un", "##like"]]


@pytest.fixture
def byte_level():
    vocabulary = {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4, "<unk>": 5}
    merges = [("a", "b"), ("\u0120", "ab")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


def test_spaces_inside_pieces_are_no_part_of_the_word_before(byte_level):
    (window,) = PieceReader(byte_level, None).read(["ab", "ba", "ab"])
    pieces = byte_level.convert_ids_to_tokens(list(window.pieces))
    assert pieces == ["\u0120ab", "\u0120", "b", "a", "\u0120ab"]
    assert window.owner == (0, -1, 1, 1, 2)


def test_whole_words_are_pieces_that_stand_alone(byte_level):
    ours = WordTokenizer.from_settings(TextSettings())
    assert whole_words(byte_level, ours) == ["ab"]
    known = whole_words(tiny_tokenizer(), ours)
    assert {"film", "not", ","} <= set(known) and not {"##like", "like", "[UNK]", "unk"} & set(known)
