import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from heedful.data.tokenizer import WordTokenizer
from heedful.errors import SettingError
from heedful.models.hugging_face.subwords import PieceReader, TextReader, whole_words
from heedful.settings import TextSettings
from support.tiny_transformers import VOCABULARY, tiny_module, tiny_tokenizer, transformers


def names(window):
    numbers = {number: piece for piece, number in VOCABULARY.items()}
    return [numbers[number] for number in window.pieces]


def test_the_pieces_of_a_word_belong_to_it():
    (window,) = PieceReader(tiny_tokenizer(), None).read(["the", "unlikely", "film", "."])
    assert names(window) == ["[CLS]", "the", "un", "##like", "##ly", "film", ".", "[SEP]"]
    assert window.word_ids == (-1, 0, 1, 1, 1, 2, 3, -1)


def test_a_word_without_pieces_is_unknown():
    (window,) = PieceReader(tiny_tokenizer(), None).read(["film", "\u0000", "is"])
    assert names(window) == ["[CLS]", "film", "[UNK]", "is", "[SEP]"]
    assert window.word_ids == (-1, 0, 1, 2, -1)


def test_longer_texts_are_read_in_windows_of_whole_words():
    windows = PieceReader(tiny_tokenizer(), 6).read(["film", "is", "unlikely", "good", "plot", "bad"])
    assert [names(window)[1:-1] for window in windows] == [
        ["film", "is"],
        ["un", "##like", "##ly", "good"],
        ["plot", "bad"],
    ]
    assert [window.word_ids[1:-1] for window in windows] == [(0, 1), (2, 2, 2, 3), (4, 5)]
    assert all(len(window.pieces) <= 6 for window in windows)


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
    assert window.word_ids == (0, -1, 1, 1, 2)


def test_whole_words_are_pieces_that_stand_alone(byte_level):
    ours = WordTokenizer.from_settings(TextSettings())
    assert whole_words(byte_level, ours) == ["ab"]
    known = whole_words(tiny_tokenizer(), ours)
    assert {"film", "not", ","} <= set(known) and not {"##like", "like", "[UNK]", "unk"} & set(known)


SIZE = len(VOCABULARY)


@pytest.fixture(scope="module")
def reader():
    return TextReader.of(tiny_tokenizer(), tiny_module("bert"), vocabulary=SIZE)


def test_pieces_belong_to_words_and_special_tokens_to_none(reader):
    text = reader.read("Unlikely film, BADISH!")
    assert text.words == ("Unlikely", "film", ",", "BADISH", "!")
    assert text.word_ids == (-1, 0, 0, 0, 1, 2, 3, 3, 4, -1)
    assert text.spans == ((0, 8), (9, 13), (13, 14), (15, 21), (21, 22)) and not text.is_cut
    # An unknown word is a word.
    assert text.tokens[-2] == VOCABULARY["[UNK]"]


def test_the_second_text_of_a_pair_is_another_segment(reader):
    text = reader.read("the film", "film is good")
    assert text.words == ("the", "film", "film", "is", "good") and text.second == 2
    assert text.word_ids == (-1, 0, 1, -1, 2, 3, 4, -1)
    assert [number // SIZE for number in text.tokens] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [number % SIZE for number in text.tokens][:3] == [2, VOCABULARY["the"], VOCABULARY["film"]]


def test_symbols_of_the_model_are_no_words_even_where_the_text_has_them(reader):
    text = reader.read("the [SEP] film")
    assert text.words == ("the", "film") and text.word_ids == (-1, 0, -1, 1, -1)


def test_longer_texts_are_cut():
    reader = TextReader.of(tiny_tokenizer(), tiny_module("bert"), vocabulary=SIZE, longest=5)
    assert not reader.read("the film is").is_cut
    text = reader.read("the film is good")
    assert text.is_cut and len(text.tokens) == 5 and text.words == ("the", "film", "is")
    assert text.tokens[-1] == VOCABULARY["[SEP]"]


def test_a_tokenizer_that_takes_a_text_for_one_word_is_told_apart_by_spaces():
    tokenizer = Tokenizer(models.BPE({"▁": 0, "a": 1, "b": 2, "▁a": 3}, [("▁", "a")]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    text = TextReader.of(fast, tiny_module("llama"), vocabulary=SIZE).read("ab b aab")
    assert text.words == ("ab", "b", "aab")
    assert text.word_ids == (0, 0, 1, 1, 2, 2, 2)


def test_byte_level_words_are_named_without_their_space():
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "Ġ": 2}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    text = TextReader.of(fast, tiny_module("gpt2"), vocabulary=SIZE).read("ab ba")
    assert text.words == ("ab", "ba") and text.word_ids == (0, 0, 1, 1, 1)


def test_a_tokenizer_of_another_model_is_refused():
    reader = TextReader.of(tiny_tokenizer(), tiny_module("bert"), vocabulary=8)
    with pytest.raises(SettingError, match="the model has embeddings for 8"):
        reader.read("the plot")
