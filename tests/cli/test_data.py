"""`heedful data`: what its commands print, for people and for scripts."""

import hashlib
import json
import sys

import pytest
from typer.testing import CliRunner

from heedful.cli import app, run_command
from heedful.data.public_sets import PUBLIC_SETS, PublicFile, PublicSet
from support.file_server import FileServer, serve

runner = CliRunner()


def heedful(*arguments):
    result = runner.invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def refused(monkeypatch, capsys, *arguments):
    """What is said of an input that cannot be used."""
    monkeypatch.setattr(sys, "argv", ["heedful", *arguments])
    with pytest.raises(SystemExit) as left:
        run_command()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.fixture
def reviews(tmp_path):
    """An export as people have it: semicolons, odd columns, some rows without a label or a text, some twice."""
    rows = [f"{n};{'fine' if n % 2 else 'poor'} film number {n};{'good' if n % 2 else 'bad'}" for n in range(60)]
    rows += ["60;lost;", "61;;good", *rows[:30]]
    path = tmp_path / "reviews.csv"
    path.write_text("sep=;\nNo.;Post body;klass\n" + "\n".join(rows) + "\n", encoding="utf-16")
    return str(path)


NAMED = ["--text", "Post body", "--label", "klass"]


def test_describe_shows_balance_lengths_duplicates_and_what_is_dropped(reviews):
    lines = [" ".join(line.split()) for line in heedful("data", "describe", reviews, *NAMED).stdout.splitlines()]
    assert "reviews (classification): texts of each label" in " ".join(lines)
    assert any(line.startswith("bad 3") and line.endswith("%)") for line in lines)
    assert any(line.startswith("train 6") for line in lines)
    assert "dropped from reviews.csv: 1 rows without a label" in lines
    assert any("dropped from" in line and line.endswith("1 empty texts") for line in lines)
    assert any(
        line.startswith("note:") and "are also in train: scores on test may be too good" in line for line in lines
    )
    assert any(line.startswith("note:") and line.endswith("separated by a semicolon") for line in lines)
    assert any(line.startswith("good: fine film number") for line in lines)


def test_describe_gives_scripts_one_document(reviews):
    document = json.loads(heedful("data", "describe", reviews, *NAMED, "--json").stdout)
    assert set(document["splits"]) == {"train", "dev", "test"}
    assert sum(split["texts"] for split in document["splits"].values()) == 90
    assert document["splits"]["train"]["words"]["longest"] == 4
    assert {"count": 1, "what": "rows without a label", "from": "reviews.csv"} in document["dropped"]
    assert heedful("data", "describe", reviews, *NAMED, "--quiet").stdout.endswith("; 2 labels\n")


def test_describe_fits_80_columns_whatever_the_labels_are_called(tmp_path):
    labels = [f"{'a very long label ' * 6}{n}" for n in range(40)]
    rows = "".join(f"text {n},{labels[n % 40]}\n" for n in range(400))
    (tmp_path / "wide.csv").write_text("text,label\n" + rows, encoding="utf-8")
    lines = heedful("data", "describe", str(tmp_path / "wide.csv"), "--show", "0").stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith(("note:", "fingerprint"))) <= 80
    assert any("and 10 rarer labels" in line for line in lines)


def test_describe_shows_neither_markup_nor_control_characters_as_such(tmp_path):
    rows = "".join(f"[red]danger[/red] \x1b[31m {n},[b]{n % 2}\n" for n in range(40))
    (tmp_path / "odd.csv").write_text("text,label\n" + rows, encoding="utf-8")
    output = heedful("data", "describe", str(tmp_path / "odd.csv")).stdout
    assert "[ red ] danger" in output and "[b]0" in output
    assert "\x1b" not in output


def test_check_says_whether_data_can_be_trained_on(reviews):
    result = heedful("data", "check", reviews, *NAMED)
    assert "reviews: good to train on (classification, 2 labels; " in result.stdout
    assert json.loads(heedful("data", "check", reviews, *NAMED, "--json").stdout)["good"] is True
    assert heedful("data", "check", reviews, *NAMED, "--quiet").stdout.startswith("good to train on")


def test_a_column_that_cannot_be_guessed_is_asked_for_in_the_words_of_the_command(reviews, monkeypatch, capsys):
    error = refused(monkeypatch, capsys, "data", "check", reviews)
    assert 'Name it, for example --text "Post body". Its columns are: No., Post body, klass.' in error
    error = refused(monkeypatch, capsys, "data", "check", reviews, "--text", "Post body")
    assert "Name it, for example --label klass." in error
    error = refused(monkeypatch, capsys, "data", "check", reviews, "--text", "Post  body", "--label", "klass")
    assert 'Did you mean --text "Post body"?' in error


def test_data_that_cannot_be_used_is_refused_in_one_line(tmp_path, monkeypatch, capsys):
    path = tmp_path / "bad.csv"
    for content, message in (
        (b"text,label\n" + b"a b,x\n" * 30, "must have at least two labels; they have only 'x'"),
        (b"text,label\n" + b"a b,x\nc d,\ne f,\ng h,y\ni j,\n" * 9, "27 of 45 rows would be dropped, which is more"),
        ("text,label\na b,x\n".encode("utf-16-le"), "seems to be UTF-16LE without a byte-order mark"),
        (b"PK\x03\x04 rest of a workbook", "an Excel workbook. Save it as CSV"),
    ):
        path.write_bytes(content)
        assert message in refused(monkeypatch, capsys, "data", "check", str(path))


def test_what_names_no_data_is_refused_in_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    monkeypatch.setattr("heedful.data.sources.hub.MOST_FILES", 0)
    for source in ("~nouser", "x" * 300, "hub::", "hub:../..", "", "hub:a/b/c"):
        assert refused(monkeypatch, capsys, "data", "check", source)


def test_a_data_folder_that_is_none_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    error = refused(monkeypatch, capsys, "train", "sst2")
    assert f"HEEDFUL_DATA is '{tmp_path}/none', which is not a folder. Get it: heedful data fetch sst2" in error


def test_synonyms_are_given_to_scripts_too(tmp_path, monkeypatch):
    words = ("movie", "film", "picture")
    rows = "".join(f"this {words[n % 3]} is here,{n % 2}\n" for n in range(60))
    (tmp_path / "a.csv").write_text("text,label\n" + rows, encoding="utf-8")
    (tmp_path / "v.txt").write_text("movie 1 0\nfilm 1 0.01\npicture 0 1\n", encoding="utf-8")
    options = ["--kind", "vectors", "--vectors", str(tmp_path / "v.txt"), "--pairs", "3"]
    document = json.loads(heedful("data", "synonyms", str(tmp_path / "a.csv"), *options, "--json").stdout)
    assert {pair["word"]: pair["synonym"] for pair in document["pairs"]}.items() <= {
        "movie": "film",
        "film": "movie",
    }.items()
    assert document["with_synonym"] == 2
    assert "have a word to replace" in heedful("data", "synonyms", str(tmp_path / "a.csv"), *options).stdout


def read_lines(files):
    rows = [{"text": line, "label": n % 2} for n, line in enumerate(files["all"].read_text().splitlines())]
    return {"train": rows[:6], "dev": rows[6:8], "test": rows[8:]}


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "*")
    content = "".join(f"text {n}\n" for n in range(10)).encode()
    with serve(FileServer({"/letters.txt": content})) as running:
        files = {"all": PublicFile(f"{running.address}/letters.txt", hashlib.sha256(content).hexdigest())}
        described = {"labels": ("zero", "one"), "terms": "free", "remark": "it is small"}
        monkeypatch.setitem(PUBLIC_SETS, "letters", PublicSet("Letters", "binary", files, read_lines, **described))
        yield running


def test_fetch_gets_a_set_that_can_then_be_used(server, tmp_path):
    output = heedful("data", "fetch", "letters").stdout
    assert f"letters: {tmp_path}/data/letters\n" in output
    assert "note: letters: terms of use: free" in output
    assert "note: letters is not quite the set of the study pages: it is small" in output
    assert "good to train on" in heedful("data", "check", "letters").stdout
    document = json.loads(heedful("data", "fetch", "letters", "--json").stdout)
    assert document["sets"] == [{"name": "letters", "folder": f"{tmp_path}/data/letters", "was_there": True}]
    assert heedful("data", "fetch", "letters", "--quiet").stdout == f"{tmp_path}/data/letters\n"
    assert len(server.asked) == 1


def test_fetch_lists_what_there_is(server):
    heedful("data", "fetch", "letters")
    lines = heedful("data", "fetch").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if "Letters" in line and line.rstrip().endswith("yes")] == ["letters"]
    listed = json.loads(heedful("data", "fetch", "--json").stdout)["sets"]
    assert [entry["name"] for entry in listed] == list(PUBLIC_SETS)


def test_fetch_without_a_network_is_one_line(server, tmp_path, monkeypatch, capsys):
    server.files.clear()
    error = refused(monkeypatch, capsys, "data", "fetch", "letters")
    assert "letters cannot be fetched" in error and f"{tmp_path}/data/letters/{{train,dev,test}}.jsonl.gz" in error
    assert "Did you mean 'letters'?" in refused(monkeypatch, capsys, "data", "fetch", "leters")
