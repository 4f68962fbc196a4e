import gzip
import json

import pytest

from heedful.data.wordnet import (
    Reading,
    are_forms_of_one_word,
    is_replaceable,
    read_wordnet,
    readings,
    synonym_candidates,
    wordnet_path,
)
from heedful.errors import DataError

WORDNET = {
    "film": {"n": ["movie", "picture"], "v": ["shoot"]},
    "movie": {"n": ["film", "picture"]},
    "picture": {"n": ["image", "movie", "film"]},
    "shoot": {"v": ["film"]},
    "image": {"n": ["picture"]},
    "stop": {"v": ["halt", "quit"]},
    "halt": {"v": ["stop"]},
    "quit": {"v": ["stop"]},
    "try": {"v": ["attempt"], "n": ["attempt"]},
    "attempt": {"v": ["try"], "n": ["try"]},
    "moved": {"a": ["touched"]},
    "touched": {"a": ["moved"]},
    "move": {"v": ["go"]},
    "go": {"v": ["move"]},
    "in": {"n": ["inch"]},
    "inch": {"n": ["in"]},
}


def candidates(*words):
    return {(each.word, each.synonym): each for each in synonym_candidates(words, WORDNET)}


def test_synonyms_share_part_of_speech_and_form():
    words = ("films", "movies", "movie", "shoot", "stopped", "halted", "halting", "tries", "attempts", "attempting")
    assert set(candidates(*words)) == {
        ("films", "movies"),
        ("movies", "films"),
        ("stopped", "halted"),
        ("halted", "stopped"),
        ("tries", "attempts"),
        ("attempts", "tries"),
    }


def test_inflected_words_are_read_as_forms_of_their_lemmas():
    for word, expected in [
        ("film", {("film", "n", ""), ("film", "v", "")}),
        ("films", {("film", "n", "s"), ("film", "v", "s")}),
        ("stopping", {("stop", "v", "ing")}),
        ("moving", {("move", "v", "ing")}),
        ("tried", {("try", "v", "ed")}),
        ("tries", {("try", "n", "s"), ("try", "v", "s")}),
        ("moved", {("moved", "a", ""), ("move", "v", "ed")}),
        ("inches", {("inch", "n", "s")}),
        ("filming", {("film", "v", "ing")}),
        ("plot", set()),
    ]:
        assert set(readings(word, WORDNET)) == {Reading(*each) for each in expected}


def test_overlap_is_the_share_of_common_synonyms():
    found = candidates("film", "movie", "picture", "image")
    # {film, movie, picture} of both; {picture, image, movie, film} and {film, movie, picture}.
    assert found["film", "movie"].overlap == 1.0
    assert found["movie", "picture"].overlap == 3 / 4
    assert found["picture", "image"].overlap == 2 / 4


def test_a_pair_is_first_where_each_leads_the_others_list():
    found = candidates("film", "movie", "picture", "image", "stop", "halt", "quit")
    assert {pair for pair, each in found.items() if each.is_first} == {
        ("film", "movie"),
        ("movie", "film"),
        ("picture", "image"),
        ("image", "picture"),
        ("stop", "halt"),
        ("halt", "stop"),
    }


def test_a_pair_must_be_first_in_every_part_of_speech_that_it_shares():
    wordnet = {
        "try": {"v": ["attempt"], "n": ["effort", "attempt"]},
        "attempt": {"v": ["try"], "n": ["try"]},
        "effort": {"n": ["try"]},
    }
    (pair,) = (each for each in synonym_candidates(["try", "attempt"], wordnet) if each.word == "try")
    assert pair.in_all_parts and not pair.is_first


def test_all_parts_of_speech_of_the_word_count_and_a_participle_is_an_adjective_where_it_is_one():
    found = candidates("film", "movie", "try", "attempt", "moved", "touched", "goed")
    assert not found["film", "movie"].in_all_parts and found["movie", "film"].in_all_parts
    assert found["try", "attempt"].in_all_parts
    assert found["moved", "touched"].in_all_parts


def test_words_of_grammar_have_no_synonyms_though_wordnet_has_them():
    assert candidates("in", "inch") == {}
    for word in (
        "in",
        "In",
        "the",
        "you",
        "and",
        "is",
        "not",
        "two",
        "best",
        "tv",
        "1984",
        "n't",
        "<unk>",
        "co-op",
        "",
    ):
        assert not is_replaceable(word), word
    for word in ("film", "good", "café", "inch"):
        assert is_replaceable(word), word


def test_words_that_begin_alike_are_forms_of_one():
    for word, other, expected in [
        ("slow", "slowly", True),
        ("create", "creating", True),
        ("fun", "funny", True),
        ("funny", "fun", True),
        ("bad", "banal", False),
        ("theater", "theatre", False),
        ("likable", "likeable", False),
    ]:
        assert are_forms_of_one_word(word, other) is expected


def test_forms_of_one_word_are_no_candidates():
    wordnet = {"fun": {"a": ["funny", "amusing"]}, "funny": {"a": ["fun", "amusing"]}, "amusing": {"a": ["fun"]}}
    assert {(each.word, each.synonym) for each in synonym_candidates(["fun", "funny", "amusing"], wordnet)} == {
        ("fun", "amusing"),
        ("funny", "amusing"),
        ("amusing", "fun"),
    }


def test_the_file_is_found_under_the_data_folder_and_read(tmp_path, monkeypatch):
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert wordnet_path() is None
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    assert wordnet_path() is None
    path = tmp_path / "synonyms" / "wordnet_synonyms.json.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(json.dumps(WORDNET).encode()))
    assert wordnet_path() == path
    assert read_wordnet(path) == WORDNET


def test_a_file_that_cannot_be_read_is_named_with_its_format(tmp_path):
    for content in [b"no gzip", gzip.compress(b"{"), gzip.compress(b"{}" * 99)[:-9], gzip.compress(b"[" * 99_999)]:
        path = tmp_path / "wordnet_synonyms.json.gz"
        path.write_bytes(content)
        with pytest.raises(
            DataError, match=r"wordnet_synonyms\.json\.gz must be gzipped JSON as \{word: .*cannot be read"
        ):
            read_wordnet(path)


def test_json_of_another_form_is_refused(tmp_path):
    for content in [[], {"film": ["movie"]}, {"film": {"n": "movie"}}, {"film": {"n": [1]}}]:
        path = tmp_path / "wordnet_synonyms.json.gz"
        path.write_bytes(gzip.compress(json.dumps(content).encode()))
        with pytest.raises(DataError, match=r"must be gzipped JSON as \{word: .*it is JSON of another form"):
            read_wordnet(path)
