"""Models of users' own by FILE.py:FUNCTION: loaded alike in every process, refused in a sentence."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heedful
from heedful.cli import app
from heedful.errors import SettingError
from heedful.jobs.audit_parts import request_of
from heedful.jobs.request import AuditSource, AuditWork
from heedful.jobs.work import do_part
from heedful.report import read_audit
from heedful.settings import AuditSettings
from heedful.store.store import Store
from heedful.subjects.custom_model import fingerprint_of, load_custom
from support.audits import ensure_audit

PAGE = Path(__file__).parents[2] / "docs" / "large-audits.md"
CODE = re.search(r"```py file=bag.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
QUICK = AuditSettings(tests=("permutation",), shown=3)


@pytest.fixture
def bag(tmp_path, monkeypatch):
    """The example of the documentation, in a folder of its own."""
    assert CODE is not None
    (tmp_path / "bag.py").write_text(CODE[1])
    monkeypatch.chdir(tmp_path)
    return "bag.py:load"


def test_a_file_is_the_same_model_and_texts_each_time(bag, tmp_path):
    first, again = load_custom(bag), load_custom(f"{tmp_path}/bag.py:load")
    assert request_of(first, first.batches, QUICK) == request_of(again, again.batches, QUICK)
    path = tmp_path / "bag.py"
    path.write_text(path.read_text().replace("manual_seed(0)", "manual_seed(1)"))
    other = load_custom(bag)
    assert first.key != other.key and fingerprint_of(first.batches) != fingerprint_of(other.batches)


def test_its_audit_is_that_of_the_object(bag, tmp_path):
    loaded = load_custom(bag)
    place = ensure_audit(loaded, loaded.batches, QUICK, tmp_path / "audits")
    described = {"name": "bag of words", "labels": ("no", "yes")}
    assert read_audit(place).rows.equals(heedful.audit(loaded.opened, loaded.batches, QUICK, **described).rows)
    assert heedful.audit(bag, settings=QUICK).rows.equals(read_audit(place).rows)


def test_a_worker_refuses_a_file_that_returns_something_else(bag, tmp_path):
    def ignore(what, done, total): ...

    loaded, store = load_custom(bag), Store(tmp_path)
    request = request_of(loaded, loaded.batches, QUICK)
    asked = AuditWork(audit=request, part="00000", source=AuditSource(own=f"{tmp_path}/bag.py:load"))
    do_part(asked.model_dump_json(), f"{request.key}/00000", store, tmp_path / "00000", "cpu", ignore)
    assert json.loads((tmp_path / "00000" / "facts.json").read_text())["texts"] == 128
    (tmp_path / "twin.py").write_text((tmp_path / "bag.py").read_text().replace("manual_seed(0)", "manual_seed(1)"))
    other = request_of(loaded, loaded.batches, AuditSettings(tests=("uniform",)))
    asked = AuditWork(audit=other, part="00000", source=AuditSource(own=f"{tmp_path}/twin.py:load"))
    with pytest.raises(SettingError, match="returns something else on the worker"):
        do_part(asked.model_dump_json(), f"{other.key}/00000", store, tmp_path / "other", "cpu", ignore)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("load = 3", "it has no load()"),
        ("def load(): return 3", "must return a dict with `model` and `data`"),
        ("def load(): return {'model': 1, 'data': [], 'batch': 2}", "'batch' is none of them"),
        ("def load(): return {'model': 1, 'data': []}", "at least one batch"),
        ("def load(): raise KeyError('weights')", "its load() fails: KeyError"),
        ("import nowhere_to_be_seen", "cannot be loaded"),
    ],
)
def test_what_is_wrong_with_a_file_is_a_sentence(tmp_path, code, words):
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(SettingError, match=re.escape(words)):
        load_custom(f"{tmp_path}/mine.py:load")


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(SettingError, match="must name a file that is there"):
        load_custom(f"{tmp_path}/mine.py:load")


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_the_command_audits_it(bag):
    result = invoke("audit", "--model", bag, "--tests", "permutation", "--json", "--workers", "1")
    assert result.exit_code == 0 and json.loads(result.stdout)["run"] == "bag of words"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["my.csv", "--model", "bag.py:load"], "DATA must be left out with --model bag.py:load"),
        (["--model", "bag.py:load", "--model", "other.py:load"], "another --model must be left out"),
        (["--model", "bag.py:load", "--seeds", "3"], "--seeds must be left out with --model bag.py:load"),
        (["--model", "bag.py:load", "--threads", "2", "--workers", "2"], "--threads must be left out with --workers"),
    ],
)
def test_what_cannot_be_is_a_sentence(bag, arguments, words):
    result = invoke("audit", *arguments)
    assert isinstance(result.exception, SettingError) and words in str(result.exception)


def test_no_worker_is_no_choice(bag):
    result = invoke("audit", "--model", bag, "--workers", "0")
    assert result.exit_code == 2 and "greater than or equal to 1" in result.output
