import re

from hypothesis import given
from hypothesis import strategies as st

from heedful.data.sentences import sentence_starts
from heedful.data.tokenizer import WordTokenizer
from heedful.settings import TextSettings

WAYS = {
    words: WordTokenizer.from_settings(TextSettings(words=words)) for words in ("punctuation", "alphanumeric", "spaces")
}


def sentences(text, words="punctuation"):
    """The text cut where sentences begin, spaces at the ends aside."""
    _, spans = WAYS[words].split(text)
    places = [spans[start][0] for start in sentence_starts(text, spans)]
    return [text[start:end].strip() for start, end in zip(places, [*places[1:], len(text)], strict=False)]


def test_sentences_end_where_a_reader_would_end_them():
    for parts in [
        ["It is good.", "It was bad!", "Was it?", "Yes"],
        ["plot : two teens go .", "they die ."],
        ["i love it.", "it's great.", "why not?", "because"],
        ["Mr. and Mrs. Fox met Dr. No in St. Ives.", "They left."],
        ["mr . fox met j . k . rowling .", "they left ."],
        ["J. R. R. Tolkien wrote it.", "So did I.", "Then he slept."],
        ["It costs 3.50 or .5 each.", "Cheap."],
        ["rated 7 . 5 of ten .", "fine ."],
        ["See fig. 3, vol. 2 and No. 5.", "I say no.", "Then go."],
        ["He bought eggs, ham, etc. and left.", "She bought ham, etc.", "Then she left."],
        ["The U.S. and e.g. the U.K. at 5 p.m. agree.", "Good."],
        ['"Go!" he said.', '"Really?"', "She left."],
        ['He said "go."', "Then he went."],
        ["He left (at last.)", "She [sic.]", "Yes."],
        ['he says " go away . "', '" never " was the word .', "fine ."],
        ["the end . ''", "`` new start . ''"],
        ["Wait... what?", "Wait...", "What?", "No… never.", "Well…", "Yes."],
        ["so . . . what .", "So . . .", "What ."],
        ["What?!", "No!!!", "Yes ! ! !", "ok"],
        ["A title without a stop\n\nThe text.", "More"],
        ["1. Open it.", "2. Close it.", "It has 2.", "Good."],
        ["你好。", "我是。", "谁？", "我！"],
        ["यह है।", "वह है।"],
        ["one two three"],
        ["...and so on"],
    ]:
        if "\n" in parts[0]:
            parts = [*parts[0].split("\n\n"), *parts[1:]]
            text = "\n\n".join(parts[:2]) + " " + " ".join(parts[2:])
        else:
            text = " ".join(parts)
        assert sentences(text) == parts


def test_how_texts_are_cut_does_not_matter():
    for words in WAYS:
        assert sentences("It is. It was! Mr. X is", words) == ["It is.", "It was!", "Mr. X is"]


def test_positions_are_of_tokens():
    text = "It is. It was!"
    assert sentence_starts(text, WAYS["punctuation"].split(text)[1]) == (0, 3)
    assert sentence_starts(text, WAYS["alphanumeric"].split(text)[1]) == (0, 2)


def test_a_cut_text_has_the_sentences_that_begin_in_it():
    text = "One two. Three four. Five."
    spans = WAYS["punctuation"].split(text)[1]
    assert sentence_starts(text, spans[:3]) == (0,)
    assert sentence_starts(text, spans[:4]) == (0, 3)


def test_no_tokens_have_no_sentences():
    for text in ["", " ", "\n\n"]:
        assert sentence_starts(text, WAYS["punctuation"].split(text)[1]) == ()


def test_marks_alone_are_one_sentence():
    for text in ["...", "! ! !", "? \n\n !", '. " . "']:
        assert sentence_starts(text, WAYS["punctuation"].split(text)[1]) == (0,)


def test_marks_at_the_end_belong_to_the_last_sentence():
    assert sentences('It ends. Here . " \n\n !') == ["It ends.", 'Here . " \n\n !']


PIECES = st.sampled_from(
    [*"aB1.!?…\"')]}([,\n 。", "Mr", "etc", "no", "i", "''", "``", "\n\n", "\x00", "\x1f", "💯", "é"]
)


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(sorted(WAYS)))
def test_starts_begin_with_0_and_grow_and_stay_inside(text, words):
    _, spans = WAYS[words].split(text)
    starts = sentence_starts(text, spans)
    assert starts[:1] == ((0,) if spans else ())
    assert list(starts) == sorted(set(starts))
    assert set(starts) <= set(range(len(spans)))


@given(st.lists(PIECES, max_size=25).map("".join))
def test_every_sentence_but_a_lone_one_has_a_letter_or_digit(text):
    parts = sentences(text)
    assert len(parts) < 2 or all(re.search(r"\w", part) for part in parts)


def test_long_texts_take_time_in_proportion():
    text = "so it goes ... " * 5_000
    assert sentence_starts(text, [word.span() for word in re.finditer(r"\S+", text)]) == (0,)
