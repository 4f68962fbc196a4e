"""`heedful audit` in front of users' files: what is said of the data, finished runs on new data, and documents."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.cli.audit_command import audit_settings
from heedful.errors import SettingError

SMALL = ["--encoder", "average", "--epochs", "1", "--set", "network.embed_size=8", "--set", "network.hidden_size=5"]
QUICK = ["--tests", "erase_one", "--set", "audit.shown=0"]


def rows(count, *more):
    return [
        "t,y",
        *(f"{('poor', 'fine')[n % 2]} film number {n},{('bad', 'good')[n % 2]}" for n in range(count)),
        *more,
    ]


@pytest.fixture
def heedful(tmp_path, monkeypatch):
    """A command of Heedful in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments):
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return invoke


@pytest.fixture
def trained(heedful, tmp_path):
    """The key of a model trained on the file my.csv."""
    (tmp_path / "my.csv").write_text("\n".join(rows(60)), encoding="utf-8")
    return json.loads(heedful("train", "my.csv", *SMALL, "--json").stdout)["key"]


def test_an_audit_says_what_training_says_of_the_data(heedful, tmp_path):
    (tmp_path / "my.csv").write_text("\n".join(rows(60, "a film without a label,", *rows(4)[1:])), encoding="utf-8")
    trained = " ".join(heedful("train", "my.csv", *SMALL).output.split())
    audited = " ".join(heedful("audit", "my.csv", *SMALL, *QUICK, "--seeds", "1").output.split())
    for note in ("1 rows without a label dropped from my.csv", "2 of the 13 texts of test are also in train"):
        assert note in trained and note in audited


def test_a_finished_run_is_audited_on_new_data(heedful, tmp_path, trained):
    (tmp_path / "new.csv").write_text("\n".join(rows(40)), encoding="utf-8")
    result = heedful("audit", "new.csv", "--model", trained[:8], *QUICK, "--json")
    verdict = json.loads(result.stdout)
    assert verdict["run"] == trained and verdict["data"] == "new"
    assert not [path for path in (tmp_path / "runs").iterdir() if path.name != trained]


def test_a_finished_run_says_what_it_makes_us_read(heedful, tmp_path, trained):
    output = " ".join(heedful("audit", "--model", trained, *QUICK).output.split())
    assert "run.json names my.csv: it is read from" in output


def test_a_script_gets_the_answer_as_one_document(heedful, tmp_path, trained):
    answered = [*QUICK, "--tests", "outcome", "--set", "verdict.texts=2"]
    document = json.loads(heedful("audit", "--model", trained, *answered, "--json").stdout)
    shares, outcomes = document.pop("shares"), document.pop("outcomes")
    assert document == {"report": "report/report.html", **json.loads((tmp_path / "report/verdict.json").read_text())}
    answer = document["answer"]
    assert shares == [each["shares"] for each in (answer["overall"], *answer["classes"])]
    audited = [row for row in outcomes if row["split"] == "test" and row["ranking"] == "attention"]
    assert {row["removal"] for row in audited} == {"delete", "replace"} and len(audited) == 2 * document["texts"]
    quiet = heedful("audit", "--model", trained, *answered, "--quiet").stdout
    said = (f"{answer['headline']}.", answer["sentence"], answer["recommendation"]["sentence"])
    assert quiet.strip() == " ".join(part for part in said if part)


def test_a_number_of_texts_that_is_none_is_refused():
    for examples in ("0", "-3", "some", ""):
        with pytest.raises(SettingError, match=f"of texts, 1 or more, or 'all'; it was '{examples}'"):
            audit_settings(None, examples, False, {})


def test_what_is_wrong_is_said_before_anything_is_trained(tmp_path):
    places = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
    for arguments, message in (
        (["--tests", "outcomes"], "unknown test 'outcomes'. Did you mean 'outcome'"),
        (["--set", "outcome.decisiv=0.2"], "Did you mean .*decisive"),
        (["--replace-with", "nothing"], "replace_with.* should be 'word' or 'mask'"),
    ):
        with pytest.raises(SettingError, match=message):
            CliRunner().invoke(app, ["audit", "mock-1", *arguments, *places], catch_exceptions=False)
    assert not (tmp_path / "runs").exists()


def test_the_audit_of_several_seeds_is_found_by_each_of_them_without_torch(heedful, tmp_path):
    """A second call reads what is there; the page is drawn again only where it differs or is missing."""
    (tmp_path / "my.csv").write_text("\n".join(rows(60)), encoding="utf-8")
    command = ["audit", "my.csv", *SMALL, *QUICK, "--seeds", "2"]
    first = heedful(*command).stdout
    assert first.startswith("note: 42 training texts, no word vectors: try --vectors glove-100")
    shown = first.partition("\n")[2]
    page = tmp_path / "report" / "report.html"
    drawn, audits = page.stat().st_mtime_ns, sorted(path.name for path in (tmp_path / "audits").iterdir())
    assert len(audits) == 3
    for key in (path.name for path in (tmp_path / "runs").iterdir()):
        assert heedful("audit", "--model", key[:8], *QUICK).stdout == shown
    script = "import sys; from heedful.__main__ import main; sys.argv[0] = 'heedful'\ntry: main()\nfinally: "
    script += "print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
    assert ended.stdout == f"{shown}False\n"
    assert page.stat().st_mtime_ns == drawn
    assert sorted(path.name for path in (tmp_path / "audits").iterdir()) == audits
    page.write_text("another page")
    heedful(*command)
    assert "another page" not in page.read_text(encoding="utf-8")
