import gzip
import random
import struct
import sys

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.tokenizer import SPECIAL
from heedful.data.word_vectors import (
    CHUNK,
    Vectors,
    embedding_matrix,
    load_vectors,
    nearest_neighbours,
    vectors_fingerprint,
)
from heedful.errors import DataError, SettingError

WORDS = ("the", "café", ". . .", "at name@domain.com")
ROWS = [[0.5, -1.0, 2e-3], [1.0, 2.0, 3.0], [0.0, 0.0, 0.25], [4.0, 5.0, 6.0]]


def written(folder, content, name="vectors.txt"):
    path = folder / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def lines(separator=" ", end="\n"):
    return "".join(separator.join([word, *map(str, row)]) + end for word, row in zip(WORDS, ROWS, strict=True))


def test_text_files_are_read_with_and_without_a_header(tmp_path):
    kinds = {"a.txt": lines(), "a.vec": lines(), "a.txt.gz": lines(), "b.txt": lines(end=" \r\n"), "a.tsv": lines("\t")}
    for name, content in kinds.items():
        for header in ("", "4 3\n", "\ufeff4 3\n", "\ufeff"):
            loaded = load_vectors(written(tmp_path, header + content + "\n", name))
            assert loaded.words == WORDS
            assert loaded.matrix.dtype == torch.float32
            torch.testing.assert_close(loaded.matrix, torch.tensor(ROWS))


def test_only_the_wanted_words_are_kept(tmp_path):
    path = written(tmp_path, "5 3\n" + lines() + ". 7 8 9\n")
    loaded = load_vectors(path, only={"café", ".", "absent"})
    assert loaded.words == ("café", ".")
    assert loaded.matrix.tolist() == [[1, 2, 3], [7, 8, 9]]


def test_of_a_word_that_stands_twice_the_first_is_kept(tmp_path):
    loaded = load_vectors(written(tmp_path, b"a 1 2\n\xff\xfe 9 9\nb 3 4\na 5 6\n"), only={"a", "b"})
    assert (loaded.words, loaded.matrix.tolist()) == (("a", "b"), [[1, 2], [3, 4]])
    twice = {**NPZ, "words": numpy.array(["a", "a", "b"])}
    assert load_vectors(npz(tmp_path, **twice)).words == ("a", "b")


def test_other_line_separators_are_part_of_words(tmp_path):
    assert load_vectors(written(tmp_path, "a\u2028b 1 2\n\u00a0 3 4\n")).words == ("a\u2028b", "\u00a0")


def test_a_bad_line_of_a_wanted_word_is_refused_and_others_are_not_read(tmp_path):
    for content, message in [
        ("a 1 2\n\nb 3\n", "line 3: must have a word and 2 numbers; it is b'b 3"),
        ("a 1 2\nb\n", "line 2: must have a word and 2 numbers"),
        ("a 1 2\nb 3 4 5\n", "line 2: must have a word and 2 numbers"),
        ("2 3\na 1 2 3\nb 3 4\n", "line 3: must have a word and 3 numbers"),
        ("2 300\nb 1 2 3\na 3 4 5\n", "line 2: must have a word and 300 numbers"),
        ("2 2\nb 1 2 3\na 3 4 5\n", "line 2: must have a word and 2 numbers"),
        ("a 1 2\nb 1 x1\n", "line 2: must have a word and 2 numbers; it is b'b 1 x1"),
        ("a 1 2\nb nan 4\n", "the vector of 'b' must be finite numbers"),
        ("a 1 2\nb 1 -Infinity\n", "the vector of 'b' must be finite numbers"),
        ("a\t1\t2\nb\t1e300\t2\n", "the vector of 'b' must be finite numbers"),
        ("9 2\na 1 2\nb 3 4\n", "should have 9 words by its first line, but has 2: it was truncated"),
        ("", "line 1: must be a word and its numbers, or a count and a size"),
        ("word\n", "line 1: must be a word and its numbers, or a count and a size"),
        ("a 1 2\n".encode("utf-16"), "line 1: must be a word .* as UTF-8 text"),
        ("a 1 2\n".encode("utf-16-le"), "line 1: must be a word .* as UTF-8 text"),
    ]:
        for only in (None, {"b"}):
            with pytest.raises(DataError, match=message):
                load_vectors(written(tmp_path, content), only=only)
        if content and " 1 2\n" in str(content[:9]):
            assert load_vectors(written(tmp_path, content), only={"a"}).words == ("a",)


def test_odd_words_and_spaces_are_no_fault(tmp_path):
    for line in ("n n 1 2", "nan 1 2", ". . . 1 2", "b\t1\t2", "b 1 2 ", "b  1 2", "in n 1 2"):
        path = written(tmp_path, f"a 1 2\n{line}\nc 3 4\n")
        assert load_vectors(path, only={"c"}).matrix.tolist() == [[3, 4]]
        assert len(load_vectors(path).words) == 3
    assert load_vectors(written(tmp_path, "a 1 2\n 5 6\nc 3 4\n")).words == ("a", "c")  # a line without a word


def test_a_file_cut_short_is_noticed(tmp_path):
    with pytest.raises(DataError, match="should have 3 words by its first line, but has 2: it was truncated"):
        load_vectors(written(tmp_path, "3 2\na 1 2\nb 3 4\n"))
    packed = gzip.compress(b"a 1 2\n" * 100)[:-9]
    path = tmp_path / "a.vec.gz"
    path.write_bytes(packed)
    with pytest.raises(DataError, match=r"a\.vec\.gz cannot be read as word vectors"):
        load_vectors(str(path))


def npz(folder, **arrays):
    path = folder / "vectors.npz"
    numpy.savez(path, **arrays)
    return str(path)


NPZ = {
    "words": numpy.array(["b", "a", "c"]),
    "row": numpy.array([1, 0, 1], dtype=numpy.int32),
    "vectors": numpy.array([[1.0, 2.0], [3.0, 4.0]], dtype=numpy.float16),
}


def test_our_own_format_shares_rows(tmp_path):
    loaded = load_vectors(npz(tmp_path, **NPZ))
    assert (loaded.words, loaded.matrix.tolist()) == (("b", "a", "c"), [[3, 4], [1, 2], [3, 4]])
    assert loaded.matrix.dtype == torch.float32
    assert load_vectors(npz(tmp_path, **NPZ), only={"a"}).matrix.tolist() == [[1, 2]]
    assert load_vectors(npz(tmp_path, **NPZ), only=set()).matrix.shape == (0, 2)


def test_without_row_there_is_one_vector_a_word(tmp_path):
    loaded = load_vectors(npz(tmp_path, words=numpy.array(["b", "a"]), vectors=NPZ["vectors"]))
    assert loaded.matrix.tolist() == [[1, 2], [3, 4]]


def test_shapes_and_ranges_of_our_format_are_checked(tmp_path):
    for change in [
        {"words": numpy.array([["a", "b", "c"]])},
        {"words": numpy.array([1, 2, 3])},
        {"vectors": numpy.zeros(3)},
        {"vectors": numpy.zeros((2, 0))},
        {"vectors": numpy.zeros((2, 3), int)},
        {"row": numpy.array([0, 1])},
        {"row": numpy.array([0.0, 1.0, 1.0])},
        {"row": numpy.array([0, 1, 2])},
        {"row": numpy.array([0, 1, -1])},
    ]:
        with pytest.raises(DataError, match="must hold the arrays words .*, vectors .* and row .* do not fit together"):
            load_vectors(npz(tmp_path, **{**NPZ, **change}))


def test_files_that_are_not_of_our_format_are_refused(tmp_path):
    with pytest.raises(DataError, match="the vector of 'b' must be finite"):
        load_vectors(npz(tmp_path, **{**NPZ, "vectors": numpy.array([[1.0, 2.0], [3.0, numpy.nan]])}))
    with pytest.raises(DataError, match=r"must hold the arrays .* it holds words, or"):
        load_vectors(npz(tmp_path, words=NPZ["words"]))
    with pytest.raises(DataError, match="cannot be read as word vectors: .*pickle"):
        load_vectors(npz(tmp_path, **{**NPZ, "words": numpy.array(["a", "b", None], dtype=object)}))
    for content in (b"PK\x03\x04 nothing", b""):
        with pytest.raises(DataError, match="cannot be read as word vectors"):
            load_vectors(written(tmp_path, content, "a.npz"))
    numpy.save(tmp_path / "b.npy", numpy.zeros(3))
    with pytest.raises(DataError, match="must hold the arrays"):
        load_vectors(str((tmp_path / "b.npy").rename(tmp_path / "b.npz")))


def test_a_damaged_archive_is_refused_or_read(tmp_path):
    numpy.savez_compressed(tmp_path / "v.npz", words=numpy.array(["a", "b"]), vectors=numpy.ones((2, 3)))
    sound = (tmp_path / "v.npz").read_bytes()
    refused = 0
    for seed in range(300):
        draw = random.Random(seed)
        content = bytearray(sound)
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        try:
            load_vectors(written(tmp_path, bytes(content), "flipped.npz"))
        except DataError:
            refused += 1
    assert refused > 100


def test_pickles_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"is a pickle, which may run any program when opened.*save_word2vec_format"):
        load_vectors(written(tmp_path, b"", "a.kv"))


def binary(folder, cut=None):
    content = b"2 3\n" + b"".join(
        word.encode() + b" " + struct.pack("<3f", *row) + b"\n" for word, row in zip(WORDS[:2], ROWS, strict=False)
    )
    return written(folder, content[:cut], "vectors.bin")


def test_word2vecs_binary_format_is_read(tmp_path):
    pytest.importorskip("gensim", reason="needs the vectors extra")
    loaded = load_vectors(binary(tmp_path))
    assert loaded.words == WORDS[:2]
    torch.testing.assert_close(loaded.matrix, torch.tensor(ROWS[:2]))
    assert load_vectors(binary(tmp_path), only={"café"}).matrix.tolist() == [[1, 2, 3]]
    assert load_vectors(binary(tmp_path), only={"absent"}).matrix.shape == (0, 3)
    with pytest.raises(DataError, match=r"vectors\.bin cannot be read as word vectors"):
        load_vectors(binary(tmp_path, cut=-9))


def test_gensim_is_asked_for_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(SettingError, match=r"\.bin files need gensim. Install it: pip install 'heedful\[vectors\]'"):
        load_vectors(binary(tmp_path))


def test_damaged_and_lying_binary_files_are_refused(tmp_path):
    pytest.importorskip("gensim", reason="needs the vectors extra")
    with pytest.raises(DataError, match="the vector of 'a' must be finite"):
        load_vectors(written(tmp_path, b"1 3\na " + struct.pack("<3f", 1, float("nan"), 3) + b"\n", "v.bin"))
    model = struct.pack("<ii", 793712314, 12)
    body = b"".join(b"%c %b\n" % (letter, struct.pack("<3f", 1, 2, 3)) for letter in b"ab")
    for header in (b"999999999999 300\n", b"3 3\n", b"", b"two 3\n", b"2\n", b"9" * 5000 + b" 3\n", b"-2 3\n", model):
        with pytest.raises(DataError, match=r"v\.bin cannot be read as word vectors: .+ fastText, use the \.vec file"):
            load_vectors(written(tmp_path, header + body, "v.bin"))


def test_vectors_are_found_by_name_under_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "embeddings").mkdir()
    written(tmp_path / "embeddings", lines(), "own.3d.txt")
    written(tmp_path / "embeddings", "{}", "meta.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    assert load_vectors("own.3d").words == load_vectors("own.3d.txt").words == WORDS
    with pytest.raises(
        SettingError, match=r"unknown vectors 'own\.3'. Did you mean 'own\.3d'\? Known: own\.3d, glove-50, .*\."
    ):
        load_vectors("own.3")


def test_vectors_that_are_nowhere_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"vectors 'glove' \(there is no such file here\) needs .* HEEDFUL_DATA"):
        load_vectors("glove")
    with pytest.raises(DataError, match=r"there is no vector file .*none\.txt"):
        load_vectors(str(tmp_path / "none.txt"))


VECTORS = Vectors(("good", "bad", "<pad>", "<unk>"), torch.tensor([[3.0, 4.0], [0.0, -2.0], [9.0, 9.0], [1.0, 0.0]]))
VOCABULARY = [*SPECIAL, "bad", "film", "good"]


def generator():
    return torch.Generator().manual_seed(7)


def test_known_words_get_their_vectors_and_padding_is_zero():
    for missing in ["normal", "zero"]:
        matrix, coverage = embedding_matrix(VOCABULARY, VECTORS, missing=missing, unit=False, generator=generator())
        assert matrix.shape == (7, 2)
        assert matrix[[0, 1, 4, 6]].tolist() == [[0, 0], [1, 0], [0, -2], [3, 4]]
        assert coverage == pytest.approx(2 / 3)


def test_missing_words_are_zero_or_drawn():
    zero, _ = embedding_matrix(VOCABULARY, VECTORS, missing="zero", unit=False, generator=generator())
    assert zero[[2, 3, 5]].tolist() == [[0, 0]] * 3
    words = [*SPECIAL, *(f"new{number}" for number in range(2000)), "good"]
    first, coverage = embedding_matrix(words, VECTORS, missing="normal", unit=False, generator=generator())
    again, _ = embedding_matrix(words, VECTORS, missing="normal", unit=False, generator=generator())
    assert torch.equal(first, again)
    assert coverage == pytest.approx(1 / 2001)
    # 4,000 draws of N(0, 1): standard error of the mean .016, of the standard deviation .011; four of those.
    assert abs(first[4:-1].mean()) < 0.064
    assert abs(first[4:-1].std() - 1) < 0.045


def test_unit_rows_have_length_1_and_zero_rows_stay_zero():
    matrix, _ = embedding_matrix(VOCABULARY, VECTORS, missing="zero", unit=True, generator=generator())
    torch.testing.assert_close(matrix.norm(dim=1), torch.tensor([0.0, 1, 0, 0, 1, 0, 1]))
    torch.testing.assert_close(matrix[6], torch.tensor([0.6, 0.8]))


def test_vectors_of_no_known_word_are_refused():
    for vectors in [Vectors((), torch.zeros(0, 5)), Vectors(("gut", "<unk>"), torch.ones(2, 5))]:
        with pytest.raises(
            DataError, match=r"have none of the 3 words of the vocabulary \(bad, film, good .*--vectors"
        ):
            embedding_matrix(VOCABULARY, vectors, missing="zero", unit=True, generator=generator())


def test_the_fingerprint_follows_the_content(tmp_path):
    path = written(tmp_path, "a 1 2\nb 3 4\n")
    before = vectors_fingerprint(path)
    assert vectors_fingerprint(path) == before
    assert vectors_fingerprint(written(tmp_path, "a 1 2\nb 3 4\n", "other.txt")) == before
    assert vectors_fingerprint(written(tmp_path, "a 1 2\nb 3 5\n")) != before


@given(st.integers(2, 11), st.integers(1, 12), st.integers(0, 100))
def test_neighbours_are_those_of_a_plain_loop(count, n, seed):
    matrix = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))
    vectors = Vectors(tuple(f"w{number}" for number in range(count)), matrix)
    loaded = nearest_neighbours(vectors, vectors.words, n)
    for number, word in enumerate(vectors.words):
        others = [other for other in range(count) if other != number]
        cosines = {
            vectors.words[other]: float(torch.cosine_similarity(matrix[number], matrix[other], dim=0))
            for other in others
        }
        expected = sorted(others, key=lambda other: -cosines[vectors.words[other]])[:n]
        assert [cosine for _, cosine in loaded[word]] == pytest.approx(
            [cosines[vectors.words[other]] for other in expected], abs=1e-5
        )
        assert all(cosine == pytest.approx(cosines[other], abs=1e-5) for other, cosine in loaded[word])
        assert word not in dict(loaded[word])


def test_chunks_do_not_show():
    count = CHUNK + 5
    matrix = torch.randn(count, 3, generator=generator(), dtype=torch.float32)
    vectors = Vectors(tuple(f"w{number}" for number in range(count)), matrix)
    whole = nearest_neighbours(vectors, vectors.words, 2)
    assert len(whole) == count
    for word in vectors.words[CHUNK - 2 : CHUNK + 2]:
        alone = nearest_neighbours(vectors, [word], 2)[word]
        assert [name for name, _ in alone] == [name for name, _ in whole[word]]


def test_a_word_of_the_same_vector_is_a_neighbour_and_unknown_words_are_left_out():
    vectors = Vectors(("a", "b", "c"), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    assert nearest_neighbours(vectors, ["a", "x", "a"], 1) == {"a": (("b", 1.0),)}
    assert nearest_neighbours(vectors, ["c"], 1)["c"][0][1] == 0.0
    assert nearest_neighbours(Vectors(("a",), torch.ones(1, 2)), ["a"], 3) == {"a": ()}


def test_at_least_one_neighbour_must_be_asked_for():
    with pytest.raises(SettingError, match="n must be at least 1; it is 0"):
        nearest_neighbours(VECTORS, ["good"], 0)


@pytest.mark.data("HEEDFUL_DATA/embeddings/glove_6b_50d.npz")
def test_real_vectors_put_like_words_together():
    vectors = load_vectors("glove_6b_50d")
    assert vectors.matrix.shape == (83657, 50)
    neighbours = dict(nearest_neighbours(vectors, ["terrible"], 5)["terrible"])
    assert {"horrible", "awful"} <= set(neighbours)
