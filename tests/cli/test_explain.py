"""`heedful explain`: a text or a file of them, in the terminal, on a page, as JSON."""

import json
import shutil
import sys
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from heedful.__main__ import main
from heedful.cli import app
from heedful.jobs.pooled_audit import write_pooled
from heedful.report.loading import audit
from heedful.schema import TextOutcome
from heedful.settings import key_of
from heedful.store.store import Store
from heedful.training.loop import train
from heedful.verdict.answer_text import outcome_sentences
from support.audits import QUICK
from support.runs import changed, toy


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with finished runs, of which one was audited."""
    return tmp_path_factory.mktemp("explain")


@pytest.fixture(scope="module")
def audited(root):
    """The key of a run that was audited."""
    trained = train(changed(training__epochs=6), toy())
    audit(trained, replace(toy(), test=toy().train), QUICK).save(root / "audits" / "first")
    return Store(root / "runs").save(trained)


@pytest.fixture(scope="module")
def asked(root):
    """The key of a run that reads a query and was not audited."""
    return Store(root / "runs").save(train(changed(training__epochs=1, data__task="nli"), toy("nli")))


@pytest.fixture
def heedful(root, monkeypatch):
    """The command, called in the folder of runs and audits; what it prints, on one line."""
    monkeypatch.chdir(root)

    def call(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["explain", *arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return call


@pytest.fixture
def refused(root, monkeypatch, capsys):
    """The one line on standard error of a command that is the user's mistake."""
    monkeypatch.chdir(root)

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["heedful", "explain", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        error = capsys.readouterr().err
        assert left.value.code == 2 and error.count("\n") == 1
        return error

    return call


def in_one_line(output: str) -> str:
    return " ".join(output.split())


def explained(output: str) -> list[dict[str, Any]]:
    return json.loads(output)["texts"]


def test_a_text_in_the_terminal(heedful, audited):
    output = in_one_line(heedful("The film was good", "--model", audited[:6]))
    assert "Audit of 1 seed and 36 texts; another seed might give a different answer." in output
    assert "If the model predicts good: " in output
    assert "The model predicts good with probability" in output and "film was" in output
    assert "Adversarial attention" in output and "of the maximum divergence" in output
    assert "no audit" not in output.lower()


def test_it_begins_with_the_outcome(heedful, audited):
    output = heedful("The film was good", "--model", audited)
    (text,) = explained(heedful("The film was good", "--model", audited, "--json"))
    outcome = TextOutcome.model_validate(text["outcome"])
    sentences = outcome_sentences(outcome, text["items"])
    assert text["sentences"][: len(sentences)] == list(sentences)
    assert in_one_line(output).startswith(f"{sentences[0]} The model predicts good")
    assert all(sentence in in_one_line(output) for sentence in sentences)
    assert heedful("The film was good", "--model", audited, "--quiet").strip() == sentences[0]


def test_what_is_printed_is_what_python_gives(heedful, audited, root):
    import heedful as package
    from heedful.report.audits import audited_model

    found = audited_model(root / "audits", audited)
    assert found is not None
    made = package.explain(Store(root / "runs").load(audited), "so good", audit=found.verdict)
    assert json.loads(heedful("so good", "--model", audited, "--json")) == made.as_dict()


def test_a_page_of_one_text_is_also_printed(heedful, audited, root):
    output = heedful("The film was good", "--model", audited, "--out", "pages/one.html")
    assert output.endswith("page: pages/one.html\n") and "The model predicts good" in output
    assert "Which words decide this prediction?" in (root / "pages" / "one.html").read_text(encoding="utf-8")


def test_a_page_of_a_file_is_not_printed(heedful, audited, root):
    (root / "two.txt").write_text("so good\n\nso bad\n", encoding="utf-8")
    output = heedful("two.txt", "--model", audited, "--out", "two.html")
    assert "The model predicts" not in output and "page: two.html" in output and "Audit of 1 seed" in output
    assert output.startswith("Outcomes of 2 texts: ")
    page = (root / "two.html").read_text(encoding="utf-8")
    assert page.count("<article") == 2


def test_a_run_without_an_audit_says_so(heedful, asked):
    output = in_one_line(heedful("the film was good", "--query", "why", "--model", asked))
    assert "No audit of this model is known." in output and f"`heedful audit --model {asked}`" in output
    assert "audits/ has no audit of this model." in output
    assert "Question or hypothesis: why" in output
    content = json.loads(heedful("a film", "--query", "why", "--model", asked, "--json", "--audits", "nowhere"))
    assert content["guidance"]["show"] == "not audited"
    assert content["notes"] == ["nowhere/ has no audit of this model."]


FILES = {
    "a.csv": "text,label\nso good,good\nso bad,bad\n",
    "b.csv": "Review\nso good\nso bad\n",
    "c.tsv": "label\ttext\n1\tso good\n2\tso bad\n",
    "d.jsonl": '{"text": "so good", "n": 3}\n\n{"text": "so bad"}\n',
    "e.txt": "\ufeffso good\r\n   \nso bad",
}


def test_every_format_is_read(heedful, audited, root):
    pl.DataFrame({"text": ["so good", "so bad"], "n": [1, 2]}).write_parquet(root / "f.parquet")
    for name, content in FILES.items():
        (root / name).write_bytes(content.encode())
    for name in (*FILES, "f.parquet"):
        texts = explained(heedful(name, "--model", audited, "--json"))
        assert [text["text"] for text in texts] == ["so good", "so bad"]


def test_columns_are_named_or_guessed(heedful, audited, asked, root):
    (root / "named.csv").write_text("one,two,three\nso good,why,x\n", encoding="utf-8")
    (text,) = explained(heedful("named.csv", "--model", audited, "--text", "one", "--json"))
    assert text["text"] == "so good"
    (text,) = explained(heedful("named.csv", "--model", asked, "--text", "one", "--query", "two", "--json"))
    assert (text["text"], text["query"]) == ("so good", "why")
    (root / "nli.csv").write_text("id,Premise,Hypothesis\n1,so good,why\n", encoding="utf-8")
    (text,) = explained(heedful("nli.csv", "--model", asked, "--json"))
    assert (text["text"], text["query"]) == ("so good", "why")
    (root / "lines.txt").write_text("so good\nso bad\n", encoding="utf-8")
    texts = explained(heedful("lines.txt", "--model", asked, "--query", "why", "--json", "--out", "lines.html"))
    assert [text["query"] for text in texts] == ["why", "why"] and (root / "lines.html").is_file()
    run = changed(training__epochs=1, data__text="body", data__query="asks", data__task="qa")
    key = Store(root / "runs").save(train(run, toy("qa")))
    (root / "own.csv").write_text("text,question,asks,body\nwrong,wrong,why,so good\n", encoding="utf-8")
    (text,) = explained(heedful("own.csv", "--model", key, "--json"))
    assert (text["text"], text["query"]) == ("so good", "why")


def test_texts_without_words_are_left_out_and_noted(heedful, audited, asked, root):
    (root / "gaps.csv").write_text('text,label\nso good,1\n,1\n"  ",2\nso bad,2\n', encoding="utf-8")
    content = json.loads(heedful("gaps.csv", "--model", audited, "--json"))
    assert len(content["texts"]) == 2
    assert content["notes"] == ["Skipped, because they have no words: 2 texts (line 3, line 4)."]
    (root / "gaps2.csv").write_text("text,query\nso good,why\nso bad,\n", encoding="utf-8")
    content = json.loads(heedful("gaps2.csv", "--model", asked, "--json"))
    assert len(content["texts"]) == 1 and content["notes"][0] == "Skipped, because they have no words: 1 text (line 3)."
    (root / "gaps3.csv").write_text("text,label\nso good,1\n" + ",1\n" * 9, encoding="utf-8")
    content = json.loads(heedful("gaps3.csv", "--model", audited, "--json"))
    assert content["notes"][0].endswith("9 texts (line 3, line 4, line 5, line 6, line 7 ...).")


def test_a_long_file_is_limited_and_says_so(heedful, audited, root):
    (root / "many.txt").write_text("so good\n" * 12, encoding="utf-8")
    output = in_one_line(heedful("many.txt", "--model", audited))
    assert output.count("The model predicts") == 10
    assert "Showing the first 10 of 12 texts. Use --limit to change this." in output
    assert len(explained(heedful("many.txt", "--model", audited, "--json"))) == 12
    assert len(explained(heedful("many.txt", "--model", audited, "--json", "--limit", "3"))) == 3
    assert "first 10 of" not in heedful("many.txt", "--model", audited, "--limit", "12")


def test_a_page_has_more_room_than_the_terminal(heedful, audited, root, monkeypatch):
    monkeypatch.setattr("heedful.cli.explain_command.ON_PAGE", 11)
    (root / "many.txt").write_text("so good\n" * 12, encoding="utf-8")
    output = in_one_line(heedful("many.txt", "--model", audited, "--out", "many.html"))
    assert "Showing the first 11 of 12 texts" in output
    page = (root / "many.html").read_text(encoding="utf-8")
    assert page.count("<article") == 11 and "Showing the first 11 of 12 texts" in page


def test_a_text_with_markup_and_control_characters_is_only_text(heedful, audited, root):
    text = "[bold]good[/bold] <script>alert(1)</script> \x1b[31m \u202e 👍🏽 \x07"
    output = heedful(text, "--model", audited, "--out", "odd.html")
    without_brackets = in_one_line(output).translate({ord(bracket): "" for bracket in "[]"})  # around key words, too
    assert "boldgood/bold <script>" in without_brackets and not set(output) & set("\x1b\x07\u202e")
    assert "<script" not in (root / "odd.html").read_text(encoding="utf-8")


def test_a_text_that_ends_like_a_file_is_a_text(heedful, audited):
    (text,) = explained(heedful("so good, see film.txt", "--model", audited, "--json"))
    assert text["items"][:2] == ["so", "good"]


MISTAKES = [
    (["so good", "--model", "zzz"], "there is no model 'zzz'. Name a finished run by its key"),
    (["so good", "--model", ""], "there is no model ''. Name a finished run"),
    (["so good", "--model", "KEY", "--runs", "nowhere"], "(in nowhere/: none)"),
    (["", "--model", "KEY"], "text 1 must have a word at least; it has none: ''."),
    (["missing.csv", "--model", "KEY"], "must be a text or a file that exists; there is no file 'missing.csv'"),
    (["data/missing.JSON", "--model", "KEY"], "there is no file 'data/missing.JSON'"),
    (["runs", "--model", "KEY"], "TEXT|FILE must be a text or a file; 'runs' is a folder. Name a file in it."),
    (["so good", "--model", "KEY", "--text", "t"], "--text cannot be combined with a text: it names a column"),
    (["so good", "--model", "KEY", "--query", "q"], "--query does not apply: this model reads texts without"),
    (["so good", "--model", "ASKED"], "--query must be given: this model reads a question or hypothesis"),
    (["so good", "--model", "ASKED", "--query", ""], "the query of text 1 must have a word at least"),
    (["good.txt", "--model", "ASKED"], "--query must be given"),
    (["good.txt", "--model", "KEY", "--text", "t"], "--text cannot be combined with good.txt"),
    (["empty.txt", "--model", "KEY"], "empty.txt must have a text with words in it; it has none."),
    (["blank.csv", "--model", "KEY"], "blank.csv must have a text with words in it; it has none."),
    (
        ["latin.txt", "--model", "KEY"],
        "latin.txt must be UTF-8 text; byte 0xef at offset 2 is not. Save it as UTF-8.",
    ),
    (["null.jsonl", "--model", "KEY"], "null.jsonl, line 2: column 'text' must be a string; it is None."),
    (["three.csv", "--model", "KEY"], "cannot tell which column holds the text; name it by --text."),
    (["three.csv", "--model", "KEY", "--text", "z"], "names column 'z', which is not there. Its columns are: a"),
    (["three.csv", "--model", "ASKED", "--text", "a"], "which column holds the query; name it by --query"),
    (["good.md", "--model", "KEY"], "good.md: the file must end in .txt or in one of .jsonl, .csv"),
    (["so good", "--model", "KEY", "--out", "runs"], "--out must be a file, for example page.html; 'runs' is"),
    (["so good", "--model", "KEY", "--out", "good.md/p.html"], "good.md/p.html cannot be written"),
    (["so good", "--model", "KEY", "--device", "quantum"], "device must be one that torch can use here"),
]


def test_a_mistake_is_one_line_and_exit_code_2(refused, audited, asked, root):
    contents = {
        "good.txt": b"so good\n", "empty.txt": b"\n", "blank.csv": b"text,label\n,1\n", "latin.txt": b"na\xefve",
        "null.jsonl": b'{"text": "good"}\n{"text": null}\n', "three.csv": b"a,b,c\nx,y,z\n", "good.md": b"so good",
    }  # fmt: skip
    for name, content in contents.items():
        (root / name).write_bytes(content)
    keys = {"KEY": audited, "ASKED": asked}
    for arguments, message in MISTAKES:
        assert message in refused(*(keys.get(argument, argument) for argument in arguments))


def test_a_broken_audit_is_as_good_as_none(heedful, audited, root, tmp_path):
    shutil.copytree(root / "audits", tmp_path / "audits")
    (tmp_path / "audits" / "first" / "verdict.json").write_text("{")
    content = json.loads(heedful("so good", "--model", audited, "--json", "--audits", str(tmp_path / "audits")))
    assert content["guidance"]["show"] == "not audited"


def test_audits_of_other_seeds_are_counted_together(heedful, audited, root, tmp_path):
    enough = replace(toy(), test=toy().train)
    shutil.copytree(root / "audits", tmp_path / "audits")
    other = train(changed(training__epochs=6, seed=1), toy())
    audit(other, enough, QUICK).save(tmp_path / "audits" / "second")
    write_pooled([tmp_path / "audits" / name for name in ("first", "second")], tmp_path / "audits" / "both")
    content = json.loads(heedful("so good", "--model", audited, "--json", "--audits", str(tmp_path / "audits")))
    assert content["guidance"]["basis"] == "Audit of 2 seeds and 36 texts."
    assert content["facts"]["Run"].startswith(audited) and key_of(other.run) != audited
