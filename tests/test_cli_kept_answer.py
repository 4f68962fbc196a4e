"""`heedful audit` asked the same again: answered from last time, and made anew where anything has changed."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from heedful.cli import app, kept_answer
from heedful.cli.audit_output import print_answer, read_answer, write_answer
from heedful.cli.output import Output
from heedful.report import read_audit

MODEL = ["--encoder", "average", "--epochs", "1", "--set", "network.embed_size=8", "--set", "network.hidden_size=5"]
QUICK = ["--tests", "outcome,erase_one,uniform", "--set", "audit.shown=2", "--seeds", "1"]
AUDIT = ["audit", "my.csv", *MODEL, *QUICK]


@pytest.fixture
def heedful(tmp_path, monkeypatch):
    """A command of Heedful, called from a folder with the file my.csv."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{('poor', 'fine')[n % 2]} film number {n},{('bad', 'good')[n % 2]}" for n in range(60)]
    (tmp_path / "my.csv").write_text("\n".join(["t,y", *rows]), encoding="utf-8")

    def invoke(*arguments):
        monkeypatch.setattr(sys, "argv", ["heedful", *arguments])
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return invoke


def files_in(folder):
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.iterdir())}


HEAVY = ("torch", "torch._dynamo", "sklearn", "scipy", "altair", "transformers", "dask", "distributed")
IN_A_PROCESS = """
import sys
sys.argv = ["heedful", *sys.argv[1:]]
from heedful.__main__ import main
main()
print("imported:", *(name for name in %r if name in sys.modules), file=sys.stderr)
"""


def test_a_finished_audit_is_shown_again_without_the_libraries_that_made_it(heedful, tmp_path):
    first, written = heedful(*AUDIT), files_in(tmp_path / "report")
    command = [sys.executable, "-c", IN_A_PROCESS % (HEAVY,), *AUDIT]
    again = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert again.stderr.split("imported:")[-1].strip() == ""
    assert "".join(again.stdout.split()) == "".join(first.split())
    assert files_in(tmp_path / "report") == written


def test_audits_are_compared_without_the_libraries_that_draw(heedful, tmp_path):
    for seed in ("0", "1"):
        heedful(*AUDIT, "--seed", seed)
    audits = sorted(place.name for place in (tmp_path / "audits").iterdir())
    unused = [name for name in HEAVY if name not in ("torch", "scipy")]
    command = [sys.executable, "-c", IN_A_PROCESS % (unused,), "compare", *audits]
    compared = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert compared.stderr.split("imported:")[-1].strip() == ""


def test_several_models_are_shown_side_by_side_as_before(heedful, tmp_path, capsys):
    heedful(*AUDIT)
    heedful(*AUDIT, "--set", "network.hidden_size=6")
    audits = [read_audit(place) for place in sorted((tmp_path / "audits").iterdir())]
    made = write_answer(audits, tmp_path / "both", "inputs", ["a note that was printed"])
    kept = read_answer(tmp_path / "both", "inputs")
    assert kept == replace(made, notes=("a note that was printed",)) and len(kept.verdicts) == 2
    assert kept.compared is not None and len(kept.compared.headings) == 2
    shown = []
    for answer in (made, kept):
        print_answer(Output(), replace(answer, notes=()), with_details=True)
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and "marked better or worse" in " ".join(shown[0].split())
    assert read_answer(tmp_path / "both", "other inputs") is None


@pytest.mark.parametrize("option", ["--json", "--quiet", "--no-texts", "--details"])
def test_documents_and_reports_without_texts_are_as_before(heedful, option):
    first = heedful(*AUDIT, option)
    assert heedful(*AUDIT, option) == first


def change_the_data(folder):
    text = (folder / "my.csv").read_text()
    status = (folder / "my.csv").stat()
    (folder / "my.csv").write_text(text.replace("film number 3", "book number 3"))
    os.utime(folder / "my.csv", ns=(status.st_atime_ns, status.st_mtime_ns))  # same length, same time


def damage_the_audit(folder):
    (audit,) = (folder / "audits").iterdir()
    (audit / "rows.parquet").write_bytes(b"PAR1 no rows PAR1")


def forge_the_audit(folder):
    (audit,) = (folder / "audits").iterdir()
    (audit / "SHA256SUMS").write_text((audit / "SHA256SUMS").read_text() + "\n")


def edit_the_page(folder):
    (folder / "report/report.html").write_text("nothing")


def remove_the_rows(folder):
    (folder / "report/rows.parquet").unlink()


def edit_the_verdict(folder):
    verdict = json.loads((folder / "report/verdict.json").read_text())
    (folder / "report/verdict.json").write_text(json.dumps({**verdict, "data": "other"}))


def spoil_the_record(folder):
    (folder / "report/.answer.json").write_text("[" * 2000)


CHANGES = [
    change_the_data,
    damage_the_audit,
    forge_the_audit,
    edit_the_page,
    remove_the_rows,
    edit_the_verdict,
    spoil_the_record,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_whatever_changed_is_seen(heedful, tmp_path, change):
    heedful(*AUDIT)
    before = files_in(tmp_path / "report")
    change(tmp_path)
    heedful(*AUDIT)
    after = files_in(tmp_path / "report")
    assert all(after[name][0] != before[name][0] for name in after)
    audits = len(list((tmp_path / "audits").iterdir()))
    assert audits == (2 if change is change_the_data else 1)
    assert "film" in after["report.html"][1].decode()
    assert json.loads(after["verdict.json"][1])["data"] == "my.csv"
    heedful(*AUDIT)
    assert files_in(tmp_path / "report") == after


def test_another_heedful_another_folder_or_other_options_are_other_inputs(heedful, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["heedful"])
    arguments = {"data": "my.csv", "model": None, "uniform": None, "scores": None, "runs": "runs", "seed": 0}
    inputs = kept_answer.inputs_of(arguments, [])
    assert inputs is not None and inputs == kept_answer.inputs_of(arguments, [])
    others = [kept_answer.inputs_of(arguments | {"seed": 1}, []), kept_answer.inputs_of(arguments, ["seed=1"])]
    monkeypatch.setattr(sys, "argv", ["heedful", "--json"])
    others.append(kept_answer.inputs_of(arguments, []))
    monkeypatch.setattr(sys, "argv", ["heedful"])
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    others.append(kept_answer.inputs_of(arguments, []))
    monkeypatch.setattr(kept_answer, "_installed", lambda: ["another version"])
    others.append(kept_answer.inputs_of(arguments, []))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/my.csv").write_bytes((tmp_path / "my.csv").read_bytes())
    monkeypatch.chdir(tmp_path / "elsewhere")
    others.append(kept_answer.inputs_of(arguments, []))
    assert None not in others and len({inputs, *others}) == 7


@pytest.mark.parametrize(
    ("changes", "of_run"),
    [
        ({"data": "hub:owner/name"}, []),
        ({"data": " "}, []),
        ({"data": "mock-1"}, ["data.lexicon=hu_liu"]),
        ({"encoder": "hf:some-model"}, []),
        ({"model": ["hf:some-model"]}, []),
        ({}, ["network.hidden_size=none"]),
    ],
)
def test_nothing_is_kept_of_what_cannot_be_hashed_here(heedful, changes, of_run):
    arguments = {"data": "my.csv", "model": None, "uniform": None, "scores": None, "runs": "runs"}
    assert kept_answer.inputs_of(arguments | changes, of_run) is None


def test_a_stored_run_is_an_input_with_all_its_files(heedful, tmp_path):
    heedful("train", "my.csv", *MODEL)
    key = next((tmp_path / "runs").iterdir()).name
    command = ["audit", "--model", key[:6], "--tests", "uniform"]
    first = heedful(*command)
    assert "note: run.json names my.csv" in first and heedful(*command) == first
    arguments = {"data": None, "model": [key[:6]], "uniform": None, "scores": None, "runs": "runs"}
    before = kept_answer.inputs_of(arguments, [])
    (tmp_path / "runs" / f"{key[:6]}0000000000").mkdir()
    (tmp_path / "runs" / f"{key[:6]}0000000000" / "run.json").write_text("{}")
    assert kept_answer.inputs_of(arguments, []) not in (None, before)
