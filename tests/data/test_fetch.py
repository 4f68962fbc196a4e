import gzip
import hashlib
import json
import random
from dataclasses import replace

import pytest

from heedful.data import load, named_sets
from heedful.data.fetch import VECTORS, describe_layout, fetch_set, fetch_vectors
from heedful.data.public_sets import PUBLIC_SETS, PublicFile, PublicSet
from heedful.data.sources.files import has_set
from heedful.data.word_vectors import load_vectors
from heedful.errors import DataError
from heedful.settings import DataSettings, TextSettings
from support.file_server import FileServer, serve

LETTERS = "".join(f"text {n}\n" for n in range(10)).encode()
HASH = hashlib.sha256(LETTERS).hexdigest()


def read(files):
    rows = [{"text": line, "label": n % 2} for n, line in enumerate(files["all"].read_text().splitlines())]
    return {"train": rows[:6], "dev": rows[6:8], "test": rows[8:]}


@pytest.fixture
def server():
    with serve(FileServer({"/a/letters.txt": LETTERS})) as running:
        yield running


@pytest.fixture
def letters(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "*")
    files = {"all": PublicFile(f"{server.address}/a/letters.txt", HASH)}
    return PublicSet("Letters", "binary", files, read, labels=("zero", "one"), terms="free", remark="it is small")


def left_behind(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_set_is_fetched_and_then_found_by_its_name(letters, tmp_path):
    fetched = fetch_set("letters", letters)
    assert (fetched.folder, fetched.was_there) == (tmp_path / "data" / "letters", False)
    assert named_sets() == {"letters": "Letters: binary"}
    loaded = load(DataSettings(source="letters"), TextSettings())
    assert (loaded.labels, len(loaded.train), len(loaded.dev), len(loaded.test)) == (("zero", "one"), 6, 2, 2)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["downloads", "letters"]
    meta = json.loads((fetched.folder / "meta.json").read_text(encoding="utf-8"))
    assert (meta["licence"], meta["splits"]["train"]) == ("free", {"rows": 6, "labels": {"0": 3, "1": 3}})
    assert meta["source"] == [{"address": letters.files["all"].address, "hash": HASH}]
    assert meta["note"] == "Not quite the set of the study pages: it is small."


def test_what_is_there_is_not_asked_for_again_and_the_same_bytes_are_written(letters, server):
    first = fetch_set("letters", letters).folder
    assert fetch_set("letters", letters).was_there
    second = fetch_set("again", letters).folder
    assert server.asked == ["/a/letters.txt"]
    assert {p.name: p.read_bytes() for p in first.iterdir()} == {p.name: p.read_bytes() for p in second.iterdir()}
    assert gzip.decompress((first / "dev.jsonl.gz").read_bytes()).splitlines()[0] == b'{"text": "text 6", "label": 0}'


def test_progress_is_reported(letters):
    seen = []
    fetch_set("letters", letters, lambda *progress: seen.append(progress))
    assert seen[-1] == ("letters.txt", len(LETTERS), len(LETTERS))


def test_without_the_file_the_layout_is_described_and_nothing_is_left(letters, server, tmp_path):
    server.files.clear()
    expected = (
        rf"letters cannot be fetched: .*letters\.txt did not come, or not whole \(404 .*To put it there yourself: "
        rf"{tmp_path}/data/letters/\{{train,dev,test\}}\.jsonl\.gz .*HEEDFUL_DATA.*\"text\", \"label\" in each row, "
        r".* zero, one"
    )
    with pytest.raises(DataError, match=expected):
        fetch_set("letters", letters)
    assert left_behind(tmp_path) == []


def test_a_download_that_breaks_off_leaves_nothing_and_can_be_tried_again(letters, server, tmp_path):
    server.cut_after = 30
    with pytest.raises(DataError, match=r"letters\.txt did not come, or not whole \(.*Is there a network\?"):
        fetch_set("letters", letters)
    assert left_behind(tmp_path) == []
    server.cut_after = None
    assert has_set(fetch_set("letters", letters).folder)


def test_without_a_server_the_network_is_asked_for(letters, tmp_path):
    nowhere = replace(letters, files={"all": PublicFile("http://127.0.0.1:9/letters.txt", HASH)})
    with pytest.raises(DataError, match=r"letters\.txt did not come.*Is there a network\?"):
        fetch_set("letters", nowhere)
    assert left_behind(tmp_path) == []


def test_another_file_than_the_known_one_is_refused_and_deleted(letters, server, tmp_path):
    server.files["/a/letters.txt"] = b"<html>Please log in</html>\n"
    with pytest.raises(DataError, match=rf"letters\.txt was changed, or came damaged, and was deleted .*{HASH}"):
        fetch_set("letters", letters)
    assert left_behind(tmp_path) == []


def test_a_file_that_was_damaged_here_is_fetched_again(letters, server, tmp_path):
    fetch_set("letters", letters)
    (kept,) = (tmp_path / "data" / "downloads").rglob("letters.txt")
    kept.write_bytes(b"edited")
    assert has_set(fetch_set("again", letters).folder)
    assert kept.read_bytes() == LETTERS and len(server.asked) == 2


def test_a_place_that_cannot_be_written_is_named(letters, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"file/letters cannot be written: .*Set HEEDFUL_DATA to a folder"):
        fetch_set("letters", letters)


def test_a_folder_in_the_way_is_kept(letters, tmp_path):
    mine = tmp_path / "data" / "letters" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("kept")
    with pytest.raises(DataError, match="cannot be written: .*move away what stands in that place"):
        fetch_set("letters", letters)
    assert [path.name for path in mine.parent.iterdir()] == ["mine.txt"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["downloads", "letters"]


def test_a_layout_has_the_columns_of_the_task():
    layout = describe_layout("babi_task1", PUBLIC_SETS["babi_task1"])
    assert '"context", "question", "answer" in each row.' in layout


DRAWN = random.Random(0)
WORDS = [f"word{n} {DRAWN.random()} -{n}.25" for n in range(10_000)]
GLOVE = gzip.compress("\n".join([f"{len(WORDS)} 2", *WORDS, ""]).encode(), mtime=0)
BLOCK = 1 << 16


@pytest.fixture
def vectors(letters, server, monkeypatch):
    """The address of word vectors on the server, under the name glove-100."""
    server.files["/glove.gz"] = GLOVE
    file = PublicFile(f"{server.address}/glove.gz", f"md5:{hashlib.md5(GLOVE).hexdigest()}")
    monkeypatch.setitem(VECTORS, "glove-100", file)
    return server


def test_public_vectors_are_fetched_once_and_read_by_their_name(vectors, tmp_path):
    loaded = load_vectors("glove-100")
    assert loaded.words[:2] == ("word0", "word1") and loaded.matrix[2, 1] == -2.25
    assert load_vectors("glove-100").words == loaded.words
    assert vectors.asked == ["/glove.gz"]
    assert left_behind(tmp_path) == ["data/embeddings/glove-100.gz"]


@pytest.mark.parametrize("resumes", [True, False])
def test_an_interrupted_download_of_vectors_resumes(vectors, tmp_path, resumes):
    vectors.resumes, vectors.cut_after = resumes, BLOCK + 100
    with pytest.raises(
        DataError, match=r"glove-100 cannot be fetched: .*Is there a network\? .*the same command resumes"
    ):
        load_vectors("glove-100")
    assert left_behind(tmp_path) == ["data/downloads/glove-100.gz.part"]
    vectors.cut_after = None
    seen = []
    assert fetch_vectors("glove-100", lambda *progress: seen.append(progress)).read_bytes() == GLOVE
    assert vectors.starts == [0, BLOCK] and seen[-1] == ("glove.gz", len(GLOVE), len(GLOVE))
    assert left_behind(tmp_path) == ["data/embeddings/glove-100.gz"]


def test_vectors_with_another_hash_are_deleted(vectors, tmp_path):
    vectors.files["/glove.gz"] = b"<html>Please log in</html>"
    with pytest.raises(DataError, match="was changed, or came damaged, and was deleted"):
        load_vectors("glove-100")
    assert left_behind(tmp_path) == []


def test_a_part_longer_than_the_file_is_dropped(vectors, tmp_path):
    part = tmp_path / "data/downloads/glove-100.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1_000_000)
    with pytest.raises(DataError, match="416"):
        load_vectors("glove-100")
    assert load_vectors("glove-100").words
