import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel

from heedful.data.tokenizer import END, PAD, SPECIAL, START, UNKNOWN, WordTokenizer, learn_vocabulary, spans_in
from heedful.errors import StoreError
from heedful.settings import TextSettings
from heedful.types import Example


def tokenizer(**settings):
    return WordTokenizer.from_settings(TextSettings(**settings))


def pieces(text, **settings):
    """The tokens, each with the characters that it stands for."""
    tokens, spans = tokenizer(**settings).split(text)
    return [(token, text[start:end]) for token, (start, end) in zip(tokens, spans, strict=True)]


def test_texts_are_cut_in_three_ways():
    for words, tokens in [
        ("punctuation", ["don", "'", "t", "re", "-", "do", "a_b", ",", "ok", "!", "!"]),
        ("alphanumeric", ["don", "t", "re", "do", "a_b", "ok"]),
        ("spaces", ["don't", "re-do", "a_b,", "ok!!"]),
    ]:
        assert [token for token, _ in pieces("Don't re-do  A_b,\tok!!\n", words=words)] == tokens


def test_case_is_kept_if_asked_for():
    assert pieces("Don X", lowercase=False) == [("Don", "Don"), ("X", "X")]


def test_spans_count_characters_of_what_was_written():
    for text, expected in [
        ("\u0130stanbul!", [("i\u0307stanbul", "\u0130stanbul"), ("!", "!")]),
        ("e\u0301te\u0301 na\u00efve", [("e\u0301te\u0301", "e\u0301te\u0301"), ("na\u00efve", "na\u00efve")]),
        ("STRASSE stra\u00dfe \u1e9e", [("strasse", "STRASSE"), ("stra\u00dfe", "stra\u00dfe"), ("\u00df", "\u1e9e")]),
        ("ok \U0001f4af! ok", [("ok", "ok"), ("\U0001f4af", "\U0001f4af"), ("!", "!"), ("ok", "ok")]),
        ("a\x00b \x07", [("a", "a"), ("\x00", "\x00"), ("b", "b"), ("\x07", "\x07")]),
        ("x\u00a0y\u3000z\u2028w", [("x", "x"), ("y", "y"), ("z", "z"), ("w", "w")]),
        ("\u65e5\u672c\u8a9e \ufb01ne", [("\u65e5\u672c\u8a9e",) * 2, ("\ufb01ne",) * 2]),
    ]:
        assert pieces(text) == expected


def test_a_mapped_number_stands_for_all_its_digits():
    for text, expected in [
        ("In 1984, 5.25 of ab34cd", ["In", "1984", ",", "5", ".", "25", "of", "ab34cd"]),
        ("7", ["7"]),
        ("12345 6", ["12345", "6"]),
        ("\u0663\u0664 x12", ["\u0663\u0664", "x12"]),
        ("\u012090 9\u0130", ["\u012090", "9\u0130"]),
        ("\u00b2x the 1st _2a", ["\u00b2x", "the", "1st", "_2a"]),
    ]:
        cut = pieces(text, digits="map")
        assert [written for _, written in cut] == expected
        assert all(token == "qqq" for token, written in cut if any(c.isdecimal() for c in written))
        assert not any(c.isdecimal() for token, _ in cut for c in token)


@given(
    st.text(max_size=40), st.sampled_from(["punctuation", "alphanumeric", "spaces"]), st.sampled_from(["keep", "map"])
)
def test_spans_are_in_order_apart_and_inside_for_any_text(text, words, digits):
    tokens, spans = tokenizer(words=words, digits=digits).split(text)
    assert len(tokens) == len(spans)
    assert all(tokens)
    ends = [0, *(end for _, end in spans)]
    assert all(before <= start < end <= len(text) for before, (start, end) in zip(ends, spans, strict=False))


@given(st.text(alphabet="aZ9 .'\n\u00e9", max_size=40))
def test_without_changes_tokens_are_the_characters_of_their_spans(text):
    assert all(token == written for token, written in pieces(text, lowercase=False))
    tokens, _ = tokenizer(lowercase=False).split(text)
    assert "".join(tokens) == "".join(text.split())


def test_words_are_numbered_by_count_then_alphabet():
    words = tokenizer().learn([("b", "a", "c"), ("c", "c", "d"), ("a", "b")])
    assert words.words == [*SPECIAL, "c", "a", "b", "d"]
    assert words.ids(("d", "c", "new")) == [7, 4, UNKNOWN]
    assert words.size == 8


def test_rare_words_are_left_out():
    words = tokenizer().learn([("b", "a", "c"), ("c", "c"), ("a",)], min_count=2)
    assert words.words[4:] == ["c", "a"]
    assert words.ids(("b",)) == [UNKNOWN]


def test_learning_makes_a_new_tokenizer():
    words = tokenizer()
    words.learn([("a",)])
    assert words.size == len(SPECIAL)


def test_texts_and_queries_are_learnt():
    examples = [Example(("a", "b"), 0, query=("q", "a")), Example(("b",), 1)]
    assert learn_vocabulary(tokenizer(), examples, 1).words[4:] == ["a", "b", "q"]


def test_a_text_that_contains_our_symbols_never_gets_their_numbers():
    for start_end in [False, True]:
        for words in ["punctuation", "spaces"]:
            text = "<pad> <unk> <start> <end> pad"
            cutter = tokenizer(words=words, start_end=start_end)
            tokens, _ = cutter.split(text)
            beats_constant = cutter.learn([tokens, tokens])
            numbers = beats_constant.ids(tokens)
            assert not {PAD, START, END} & set(numbers)
            assert beats_constant.words[:4] == list(SPECIAL)
            assert len(set(beats_constant.words)) == len(beats_constant.words)
            if words == "spaces":
                assert numbers == [UNKNOWN] * 4 + [4]


def test_what_is_saved_as_json_cuts_and_numbers_alike():
    for settings in [
        {},
        {"words": "alphanumeric", "digits": "map"},
        {"words": "spaces", "lowercase": False, "start_end": True},
    ]:
        text = "In 1984 DON'T \u0130 <pad> ok"
        first = tokenizer(**settings)
        first = first.learn([first.split(text)[0]])
        again = WordTokenizer.from_json(first.to_json())
        assert again.split(text) == first.split(text)
        assert again.ids(again.split(text)[0]) == first.ids(first.split(text)[0])
        assert (again.words, again.size, again.adds_start_end) == (first.words, first.size, first.adds_start_end)
        assert again.to_json() == first.to_json()


def test_start_and_end_are_added_only_if_asked_for():
    assert [tokenizer(start_end=wanted).adds_start_end for wanted in (False, True)] == [False, True]


def test_what_is_no_tokenizer_is_refused():
    with pytest.raises(StoreError, match=r"tokenizer\.json cannot be read"):
        WordTokenizer.from_json("{}")


def test_a_foreign_tokenizer_is_refused():
    for model in [
        BPE({"a": 0, "b": 1}, []),
        WordLevel({"a": 0, "b": 1}, unk_token="a"),
        WordLevel({"<pad>": 0, "<unk>": 1}, unk_token="<unk>"),
    ]:
        with pytest.raises(StoreError, match=r"tokenizer\.json is not one of Heedful's"):
            WordTokenizer.from_json(Tokenizer(model).to_str())


@given(
    st.text(alphabet="aZ9 .'\n\u00e9\u0130\u0301q\u00b2", max_size=40),
    st.fixed_dictionaries(
        {
            "words": st.sampled_from(["punctuation", "alphanumeric", "spaces"]),
            "lowercase": st.booleans(),
            "digits": st.sampled_from(["keep", "map"]),
        }
    ),
    st.integers(1, 10),
)
def test_tokens_are_found_again_however_they_were_cut_and_truncated(text, settings, kept):
    tokens, spans = tokenizer(**settings).split(text)
    assert spans_in(text, tokens[:kept]) == spans[:kept]


def test_tokens_that_were_not_cut_from_the_text_are_not_found():
    for text, tokens in [
        ("", ("good",)),
        ("So good", ("good",)),
        ("So good", ("so", "bad")),
        ("So", ("so", "good")),
        ("don't", ("do", "n't")),
    ]:
        assert spans_in(text, tokens) is None


def edited(**changes):
    """The JSON of a small tokenizer with some of its parts changed."""
    content = json.loads(tokenizer().learn([("a", "b", "c")]).to_json())
    for path, value in changes.items():
        part, _, name = path.rpartition("__")
        (content[part] if part else content)[name] = value
    return json.dumps(content)


VOCABULARY = {**{word: number for number, word in enumerate(SPECIAL)}, "a": 4, "b": 5}


def test_an_untouched_tokenizer_is_read():
    assert WordTokenizer.from_json(edited()).words == [*SPECIAL, "a", "b", "c"]
    assert WordTokenizer.from_json(edited(model__vocab=VOCABULARY)).words == [*SPECIAL, "a", "b"]


def test_an_id_of_two_words_or_of_none_is_refused():
    for extra, last in (({"c": 5}, 6), ({"c": 9}, 6), ({"a": 6}, 5)):
        with pytest.raises(StoreError, match=f"must number its words 0 to {last}, each once. .*train again"):
            WordTokenizer.from_json(edited(model__vocab={**VOCABULARY, **extra}))


SLOW = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed", "invert": True}
ADDED = {"id": 7, "content": "x", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def test_a_tokenizer_that_splits_as_none_of_ours_is_refused():
    for changes in [
        {"pre_tokenizer": None},
        {"pre_tokenizer": SLOW},
        {"normalizer": None},
        {"post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
        {"added_tokens": [{**ADDED, "special": False}]},
        {"truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}},
    ]:
        with pytest.raises(
            StoreError, match=r"tokenizer\.json is not one of Heedful's: it splits texts in no way of ours"
        ):
            WordTokenizer.from_json(edited(**changes))


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_does_no_harm(place, bit):
    content = bytearray(tokenizer(start_end=True, digits="map").learn([("a", "b", "c")]).to_json().encode())
    content[place % len(content)] ^= 1 << bit
    try:
        read = WordTokenizer.from_json(content.decode(errors="replace"))
    except StoreError:
        return
    assert len(set(read.words)) == read.size == len(SPECIAL) + 3
    assert read.split("It isn't 33")[0] in [("it", "isn", "'", "t", "qqq"), ("It", "isn", "'", "t", "33")]
