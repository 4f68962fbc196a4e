"""Bad stores: every file of a finished run and audit damaged in many ways, and every command that reads it."""

import shutil

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.store.store import Store, audit_defect
from support.refusals import assert_refused, run_badly

pytestmark = pytest.mark.slow

SMALL = ("data.train_limit=30", "data.test_limit=24", "network.embed_size=4", "network.hidden_size=4")
TRAIN = ["train", "mock-1", "--encoder", "average", "--epochs", "1"]
TRAIN += [part for setting in SMALL for part in ("--set", setting)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store with one run and its audit; the folder, and the key."""
    folder = tmp_path_factory.mktemp("finished")
    for command in (TRAIN, ["audit", "mock-1", "--seeds", "1", *TRAIN[2:], "--tests", "prediction,permutation"]):
        places = ["--runs", folder / "runs"] + (["--audits", folder / "audits"] if command[0] == "audit" else [])
        out = ["--out", folder / "out"] if command[0] == "audit" else []
        result = CliRunner().invoke(app, [str(part) for part in (*command, *places, *out)])
        assert result.exit_code == 0, result.exception
    (run,) = (folder / "runs").iterdir()
    (audit,) = (folder / "audits").iterdir()
    return folder, run.name, audit.name


def delete(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(bytes(content))


def fill(path):
    path.write_bytes(bytes(range(256)) * 40)


def brackets(path):
    path.write_text("[" * 100_000)


def number(path):
    path.write_text("7")


DAMAGES = [delete, empty, halve, flip, fill, brackets, number]
FEW = [delete, halve, flip]

RUN_FILES = ["run.json", "model.safetensors", "tokenizer.json", "history.parquet"]
AUDIT_FILES = ["audit.json", "verdict.json", "rows.parquet", "examples.parquet"]


@pytest.fixture
def store(finished, tmp_path):
    folder, run, audit = finished
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path, run, audit


@pytest.mark.parametrize("file", RUN_FILES)
def test_a_damaged_run_is_named_and_made_anew(file, store):
    """Doing the work again takes its time; how a file was damaged makes no difference to that."""
    folder, run, _ = store
    path, places = folder / "runs" / run / file, ["--runs", folder / "runs"]
    whole = path.read_bytes()
    for damage in DAMAGES if file == "run.json" else FEW:
        path.write_bytes(whole)
        damage(path)
        named = ["--model", run, *places, "--audits", folder / "audits"]
        assert_refused(["explain", "so good", *named], run)
    assert_refused(["audit", "--out", folder / "page", "--tests", "permutation", *named], run)
    code, listed = run_badly(["list", "runs", *places])
    assert code == 0 and run[:8] in listed
    code, text = run_badly([*TRAIN, *places])
    assert code == 0, text
    assert Store(folder / "runs").load(run).labels


@pytest.mark.parametrize("file", AUDIT_FILES)
def test_a_damaged_audit_is_named_and_made_anew(file, store):
    folder, run, audit = store
    path, places = folder / "audits" / audit / file, ["--audits", folder / "audits"]
    whole = path.read_bytes()
    for damage in DAMAGES if file == "audit.json" else FEW:
        path.write_bytes(whole)
        damage(path)
        assert audit_defect(folder / "audits" / audit) is not None
        for name in (run, audit, run[:6]) if file != "audit.json" else ():  # a report does not need that one
            assert_refused(["report", name, *places, "--out", folder / "page.html"])
    audited = ["audit", "--model", run[:8], "--tests", "prediction,permutation", "--runs", folder / "runs"]
    code, text = run_badly([*audited, *places, "--out", folder])
    assert code == 0, text
    assert audit_defect(folder / "audits" / audit) is None


@pytest.mark.parametrize("file", ["model.safetensors", "rows.parquet"])
def test_a_folder_of_the_users_is_never_deleted(file, store):
    folder, run, audit = store
    place = folder / ("runs" if file in RUN_FILES else "audits") / (run if file in RUN_FILES else audit) / file
    place.unlink()
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    places = ["--runs", folder / "runs"]
    if file in RUN_FILES:
        assert_refused([*TRAIN, *places], "Move it away")
    else:
        audited = ["audit", "--model", run, "--tests", "prediction,permutation", "--audits", folder / "audits"]
        assert_refused([*audited, *places, "--out", folder], "Move it away")
    assert (place / "mine.txt").read_text() == "mine"


def test_what_lies_about_in_a_store_is_no_obstacle(store):
    folder, run, _ = store
    for stray in (".part-nobody-x", ".part-here-1-x", "0000000000000000", "folder"):
        (folder / "runs" / stray).mkdir()
    (folder / "runs" / "notes.txt").write_text("mine")
    code, text = run_badly([*TRAIN, "--seed", "1", "--runs", folder / "runs"])
    assert code == 0, text
    assert len(list((folder / "runs").iterdir())) == 7
    assert Store(folder / "runs").load(run).labels
