import gzip
import json
from math import cos, inf, isnan, nextafter, radians, sin

import pytest
import torch

from heedful.data import synonyms
from heedful.data.synonyms import (
    FUNCTION_WORDS,
    MIN_COSINE,
    MIN_SIMILARITY,
    Reading,
    are_forms_of_one_word,
    find_synonyms,
    is_replaceable,
    missing_sources,
    read_wordnet,
    readings,
    synonym_candidates,
    wordnet_path,
)
from heedful.errors import DataError

WORDNET = {
    "film": {"n": ["movie", "picture"], "v": ["shoot"]},
    "movie": {"n": ["film"]},
    "picture": {"n": ["film"]},
    "shoot": {"v": ["film"]},
    "good": {"a": ["fine"]},
    "fine": {"a": ["good"]},
    "in": {"n": ["inch"]},
    "inch": {"n": ["in"]},
}
ANGLES = {
    "film": 0,
    "movie": 10,
    "picture": 50,
    "shoot": 20,
    "good": 100,
    "fine": 140,
    "bad": 101,
    "in": 60,
    "inch": 60,
}
"""The direction of each word's vector, in degrees."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data without WordNet or vectors."""
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def give_wordnet(folder, content=WORDNET):
    (folder / "synonyms").mkdir(exist_ok=True)
    packed = gzip.compress(json.dumps(content).encode())
    (folder / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(packed)


def give_vectors(folder, vectors=None):
    """The name of a file with these vectors, or with those of ANGLES."""
    vectors = vectors or {word: (cos(radians(angle)), sin(radians(angle))) for word, angle in ANGLES.items()}
    lines = [f"{word} {' '.join(f'{value:.9f}' for value in values)}\n" for word, values in vectors.items()]
    (folder / "toy.txt").write_text("".join(lines), encoding="utf-8")
    return "toy.txt"


def words_of(synonyms):
    return {word: synonym.word for word, synonym in synonyms.pairs.items()}


WORDNET_MISSING = (
    r"WordNet's synonyms \(put the file synonyms/wordnet_synonyms\.json\.gz into the folder that HEEDFUL_DATA names\)"
)
VECTORS_MISSING = (
    r"pretrained word vectors \(train with `--vectors NAME`, or give the audit "
    r"`--set audit\.word_substitution\.vectors=NAME`\)"
)


def test_what_is_missing_is_named_with_how_to_give_it(folder):
    for kind, vectors, missing in [
        ("both", "", f"{WORDNET_MISSING} and {VECTORS_MISSING}"),
        ("both", "toy.txt", WORDNET_MISSING),
        ("wordnet", "toy.txt", WORDNET_MISSING),
        ("vectors", "", VECTORS_MISSING),
    ]:
        with pytest.raises(DataError, match=rf"^To find synonyms, the audit needs {missing}\.$"):
            find_synonyms(["film"], kind, vectors)


def test_nothing_is_missing_where_all_is_there(folder):
    assert missing_sources("vectors", "toy.txt") == ""
    give_wordnet(folder)
    assert missing_sources("both", "toy.txt") == missing_sources("wordnet", "") == ""
    assert "WordNet" not in missing_sources("both", "") != ""


def test_an_unreadable_wordnet_is_an_error(folder):
    give_wordnet(folder)
    (folder / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="cannot be read"):
        find_synonyms(["film"], "wordnet")


def crowding(word, vectors):
    """One by one: the mean cosine with the ten nearest others."""
    cosines = [cosine(word, other, vectors) for other in vectors if other != word]
    return sum(sorted(cosines)[-10:]) / min(10, len(cosines))


def cosine(word, other, vectors):
    first, second = (torch.tensor(vectors[each], dtype=torch.float64) for each in (word, other))
    return float(first @ second / first.norm() / second.norm())


def test_confirmed_similarity_is_that_of_a_plain_loop(folder):
    draw = torch.Generator().manual_seed(0)
    names = [*WORDNET, *(f"other{'x' * n}" for n in range(12))]
    wordnet = WORDNET | {name: {"n": ["other"]} for name in names[len(WORDNET) :]}
    near = torch.tensor([1.0, 1.0, 0.0]) + 0.3 * torch.randn(len(names), 3, generator=draw)
    vectors = {name: row.tolist() for name, row in zip(names, near, strict=True)}
    give_wordnet(folder, wordnet)
    words = list(WORDNET)
    expected = {}
    for each in synonym_candidates(words, wordnet):
        similarity = 2 * cosine(each.word, each.synonym, vectors) - crowding(each.word, vectors)
        similarity += -crowding(each.synonym, vectors) + 0.3 * each.overlap - (0 if each.in_all_parts else 0.2)
        if cosine(each.word, each.synonym, vectors) >= MIN_COSINE:
            expected.setdefault(each.word, []).append((similarity, each.synonym))
    found = find_synonyms(words, "both", give_vectors(folder, vectors), -4.0).pairs
    assert {word: each.word for word, each in found.items()} == {word: max(each)[1] for word, each in expected.items()}
    assert len(found) >= 4
    for word, each in found.items():
        assert each.similarity == pytest.approx(max(expected[word])[0], abs=1e-5)
        assert each.cosine == pytest.approx(cosine(word, each.word, vectors), abs=1e-5)


def test_synonyms_of_both_are_wordnets_whose_vectors_are_near(folder):
    give_wordnet(folder)
    # cos 40 degrees = .77, cos 50 degrees = .64: picture is too far from film, bad no synonym of good.
    found = find_synonyms([*ANGLES], "both", give_vectors(folder), -4.0)
    assert words_of(found) == {"film": "movie", "movie": "film", "shoot": "film", "good": "fine", "fine": "good"}
    assert found.source == (
        "Synonyms are WordNet's synonyms that the word vectors 'toy.txt' confirm (cosine at least 0.7); similarity at "
        "least -4."
    )


def test_the_same_question_is_answered_once_until_a_file_changes(folder, monkeypatch):
    give_wordnet(folder)
    vectors, asked = give_vectors(folder), []
    candidates = synonyms.synonym_candidates
    monkeypatch.setattr(synonyms, "synonym_candidates", lambda *given: asked.append(given) or candidates(*given))
    first, again = (find_synonyms([*ANGLES], "both", vectors, -4.0) for _ in range(2))
    assert first is again and len(asked) == 1
    give_wordnet(folder, {word: WORDNET[word] for word in ("good", "fine")})
    assert words_of(find_synonyms([*ANGLES], "both", vectors, -4.0)) == {"good": "fine", "fine": "good"}
    give_vectors(folder, {"good": (1, 0)})
    assert not find_synonyms([*ANGLES], "both", vectors, -4.0).pairs


def test_the_least_similarity_is_still_enough(folder):
    give_wordnet(folder)
    vectors = give_vectors(folder)
    edge = find_synonyms([*ANGLES], "both", vectors, -4.0).pairs["movie"].similarity
    assert "movie" in find_synonyms([*ANGLES], "both", vectors, edge).pairs
    assert "movie" not in find_synonyms([*ANGLES], "both", vectors, nextafter(edge, inf)).pairs


def test_the_least_similarity_is_that_of_its_kind_unless_given(folder):
    give_wordnet(folder)
    for kind, least in MIN_SIMILARITY.items():
        assert find_synonyms(["film"], kind, give_vectors(folder)).source.endswith(f"similarity at least {least:g}.")


def test_synonyms_must_be_words_of_the_vocabulary(folder):
    give_wordnet(folder)
    assert words_of(find_synonyms(["film", "shoot", "good"], "both", give_vectors(folder), -4.0)) == {
        "film": "shoot",
        "shoot": "film",
    }


def test_words_without_vectors_are_left_out(folder):
    give_wordnet(folder)
    assert find_synonyms([*WORDNET], "both", give_vectors(folder, {"film": (1, 0), "other": (1, 0)}), -4.0).pairs == {}
    assert find_synonyms([*WORDNET], "both", give_vectors(folder, {"other": (1, 0)}), -4.0).pairs == {}
    assert find_synonyms([*WORDNET], "vectors", give_vectors(folder, {"other": (1, 0)}), -4.0).pairs == {}
    assert find_synonyms([*WORDNET], "vectors", give_vectors(folder, {"film": (1, 0)}), -4.0).pairs == {}


def test_wordnet_alone_takes_the_first_synonym_of_both_by_their_overlap(folder):
    give_wordnet(folder)
    found = find_synonyms([*WORDNET], "wordnet")
    # film is a verb, too, of which movie is no synonym; {film, movie} of {film, movie, picture} is 2/3.
    alike = {"shoot": "film", "good": "fine", "fine": "good"}
    assert words_of(found) == {"movie": "film", **alike}
    assert found.pairs["movie"].similarity == pytest.approx(2 / 3)
    assert isnan(found.pairs["movie"].cosine)
    assert words_of(find_synonyms([*WORDNET], "wordnet", "", 0.67)) == alike


def test_vectors_alone_take_the_nearest_word_of_the_same_part_and_form(folder):
    angles = {"film": 0, "movie": 3, "moved": 4, "halted": 8, "movies": 9.5, "zhao": 14, "the": 14.5}
    source = give_vectors(folder, {word: (cos(radians(angle)), sin(radians(angle))) for word, angle in angles.items()})
    assert words_of(find_synonyms([*angles, "absent"], "vectors", source, -4.0)) == {
        "film": "movie",
        "movie": "moved",
        "moved": "movie",
        "halted": "movies",
        "movies": "halted",
        "zhao": "movies",
    }
    give_wordnet(folder, WORDNET | {"move": {"v": ["go"]}, "halt": {"v": ["stop"]}})
    expected = {"film": "movie", "movie": "film", "moved": "halted", "halted": "moved"}
    # WordNet does not know zhao, which may stand for any word; nothing else may for movies, a plural.
    assert words_of(find_synonyms([*angles], "vectors", source, -4.0)) == expected | {
        "movies": "zhao",
        "zhao": "movies",
    }
    assert words_of(find_synonyms([*angles][:5], "vectors", source, -4.0)) == expected


def test_similarity_by_vectors_is_that_of_a_plain_loop(folder):
    draw = torch.Generator().manual_seed(1)
    names = [f"{first}{second}word" for first in "abcd" for second in "efg"]
    vectors = {name: torch.randn(3, generator=draw).tolist() for name in names}
    found = find_synonyms(names, "vectors", give_vectors(folder, vectors), -4.0).pairs
    assert len(found) == len(names)
    for word, each in found.items():
        nearest = max((cosine(word, other, vectors), other) for other in names if other != word)
        assert (each.cosine, each.word) == (pytest.approx(nearest[0], abs=1e-5), nearest[1])
        similarity = 2 * nearest[0] - crowding(word, vectors) - crowding(nearest[1], vectors)
        assert each.similarity == pytest.approx(similarity, abs=1e-5)


def test_a_fitting_word_is_found_behind_many_that_do_not_fit(folder):
    endings = [f"filmo{chr(97 + number)}" for number in range(20)]
    vectors = {name: (1.0, 0.01 * place) for place, name in enumerate(["film", *endings, "movie"])}
    assert words_of(find_synonyms([*vectors], "vectors", give_vectors(folder, vectors), -4.0))["film"] == "movie"


@pytest.mark.data("HEEDFUL_DATA/synonyms/wordnet_synonyms.json.gz", "HEEDFUL_DATA/embeddings/glove_6b_100d.npz")
def test_real_synonyms_are_synonyms_and_words_of_grammar_stay():
    known = ("film", "movie", "films", "movies", "almost", "nearly", "tried", "attempted", "writer", "author")
    known += ("quickly", "rapidly", "buy", "sell", "summer", "winter", "absurd", "ridiculous")
    words = [*known, *sorted(FUNCTION_WORDS), "ocasio2018", "rainbow", "sign", "account", "inch"]
    found = words_of(find_synonyms(words, "both", "glove_6b_100d"))
    pairs = {frozenset(known[place : place + 2]) for place in range(0, len(known), 2)}
    assert {frozenset(pair) for pair in found.items()} == pairs - {
        frozenset({"buy", "sell"}),
        frozenset({"summer", "winter"}),
    }
    nearest = words_of(find_synonyms(words, "vectors", "glove_6b_100d", -4.0))
    assert nearest["buy"] == "sell" and len(nearest) >= len(known)
    for pair in (*found.items(), *nearest.items()):
        assert not FUNCTION_WORDS & {*pair} and "ocasio2018" not in pair


# What WordNet has.

SENSES = {
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
    return {(each.word, each.synonym): each for each in synonym_candidates(words, SENSES)}


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
        assert set(readings(word, SENSES)) == {Reading(*each) for each in expected}


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
    path.write_bytes(gzip.compress(json.dumps(SENSES).encode()))
    assert wordnet_path() == path
    assert read_wordnet(path) == SENSES


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
