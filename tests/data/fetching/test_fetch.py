import gzip
import json

import pytest

from heedful.data import load, named_sets
from heedful.data.fetching import RECIPES
from heedful.data.fetching.fetch import describe_layout, fetch_set, has_set
from heedful.data.fetching.recipe import Recipe
from heedful.errors import DataError
from heedful.settings import DataSettings, TextSettings
from support.file_server import FileServer, serve


def read(files):
    rows = [{"text": line, "label": n % 2} for n, line in enumerate(files["all"].read_text().splitlines())]
    return {"train": rows[:6], "dev": rows[6:8], "test": rows[8:]}


@pytest.fixture
def server():
    with serve(FileServer({"/letters.txt": "".join(f"text {n}\n" for n in range(10)).encode()})) as running:
        yield running


@pytest.fixture
def recipe(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "*")
    files = {"all": f"{server.address}/letters.txt"}
    return Recipe("Letters", "binary", files, read, labels=("zero", "one"), terms="free", remark="it is small")


def test_a_set_is_fetched_and_then_found_by_its_name(recipe, tmp_path):
    fetched = fetch_set("letters", recipe)
    assert (fetched.folder, fetched.was_there) == (tmp_path / "data" / "letters", False)
    assert named_sets() == {"letters": "Letters: binary"}
    loaded = load(DataSettings(source="letters"), TextSettings())
    assert (loaded.labels, len(loaded.train), len(loaded.dev), len(loaded.test)) == (("zero", "one"), 6, 2, 2)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["downloads", "letters"]


def test_where_it_comes_from_is_written_beside_it(recipe):
    folder = fetch_set("letters", recipe).folder
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    assert (meta["licence"], meta["splits"]["train"]) == ("free", {"rows": 6, "labels": {"0": 3, "1": 3}})
    assert meta["source"][0]["address"] == recipe.files["all"] and len(meta["source"][0]["sha256"]) == 64
    assert meta["note"] == "Not quite the set of the study pages: it is small."


def test_what_is_there_is_left_alone(recipe, server):
    fetch_set("letters", recipe)
    assert fetch_set("letters", recipe).was_there
    assert len(server.asked) == 1


def test_the_same_bytes_are_written_again(recipe, tmp_path):
    first = {path.name: path.read_bytes() for path in fetch_set("letters", recipe).folder.iterdir()}
    second = {path.name: path.read_bytes() for path in fetch_set("again", recipe).folder.iterdir()}
    assert first == second
    assert gzip.decompress(first["dev.jsonl.gz"]).decode().splitlines()[0] == '{"text": "text 6", "label": 0}'


def test_without_the_file_the_layout_is_described(recipe, server, tmp_path):
    server.files.clear()
    expected = (
        rf"letters cannot be fetched: .*letters\.txt answers 404 .*To put it there yourself: {tmp_path}/data/letters/"
        r"\{train,dev,test\}\.jsonl\.gz .*HEEDFUL_DATA.*\"text\", \"label\" in each row, .* zero, one"
    )
    with pytest.raises(DataError, match=expected):
        fetch_set("letters", recipe)
    assert not has_set(tmp_path / "data" / "letters")


def test_a_layout_has_the_columns_of_the_task():
    assert '"context", "question", "answer" in each row.' in describe_layout("babi_task1", RECIPES["babi_task1"])


@pytest.mark.parametrize("content", [b"", b"text\n" * 8, b"\xff"])
def test_a_download_of_another_form_is_refused_and_nothing_is_written(recipe, server, tmp_path, content):
    server.files["/letters.txt"] = content
    with pytest.raises(DataError, match=r"letters cannot be read from what was downloaded .*Delete .*letters\.txt and"):
        fetch_set("letters", recipe)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["downloads"]


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_refuses_files_of_another_form(name, server, recipe):
    """Whatever a captive portal or a moved page sends in place of the file."""
    server.files["/portal"] = b"<html>Please log in</html>\n"
    files = dict.fromkeys(RECIPES[name].files, f"{server.address}/portal")
    with pytest.raises(DataError, match=f"{name} cannot be read from what was downloaded"):
        fetch_set(name, Recipe("x", "y", files, RECIPES[name].read, RECIPES[name].columns, RECIPES[name].labels))


def test_a_place_that_cannot_be_written_is_named(recipe, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"file/letters cannot be written: .*Set HEEDFUL_DATA to a folder"):
        fetch_set("letters", recipe)


def test_a_folder_in_the_way_is_kept(recipe, tmp_path):
    (tmp_path / "data" / "letters").mkdir(parents=True)
    (tmp_path / "data" / "letters" / "mine.txt").write_text("kept")
    with pytest.raises(DataError, match="cannot be written: .*move away what stands in that place"):
        fetch_set("letters", recipe)
    assert [path.name for path in (tmp_path / "data" / "letters").iterdir()] == ["mine.txt"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["downloads", "letters"]
