"""Models of users' own by FILE.py:FUNCTION: loaded alike in every process, refused in a sentence."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heedful.auditing.audit import audit
from heedful.cli import app
from heedful.errors import SettingError
from heedful.jobs.audit_parts import ensure_prepared
from heedful.jobs.request import AuditSource, PartRequest
from heedful.jobs.work import audit_part
from heedful.report import read_audit
from heedful.runs.custom_models import absolute_own, is_custom, load_custom
from heedful.settings import AuditSettings

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
    first, again = load_custom(bag), load_custom(absolute_own(bag))
    assert (first.key, first.fingerprint) == (again.key, again.fingerprint)
    path = tmp_path / "bag.py"
    path.write_text(path.read_text().replace("manual_seed(0)", "manual_seed(1)"))
    other = load_custom(bag)
    assert first.key != other.key and first.fingerprint != other.fingerprint


def test_its_audit_is_that_of_the_object(bag, tmp_path):
    loaded = load_custom(bag)
    place = ensure_prepared(loaded.request(QUICK), lambda: loaded.prepare(QUICK), tmp_path / "audits")
    described = {"name": "bag of words", "labels": ("no", "yes")}
    assert read_audit(place).rows.equals(audit(loaded.model, loaded.batches, QUICK, **described).rows)


def test_a_worker_refuses_a_file_that_returns_something_else(bag, tmp_path):
    request = load_custom(bag).request(QUICK)
    asked = PartRequest(audit=request, part="00000", source=AuditSource(own=absolute_own(bag)))
    assert json.loads(audit_part(asked.model_dump_json(), {})["facts.json"])["texts"] == 128
    (tmp_path / "twin.py").write_text((tmp_path / "bag.py").read_text().replace("manual_seed(0)", "manual_seed(1)"))
    other = load_custom(bag).request(AuditSettings(tests=("uniform",)))
    asked = PartRequest(audit=other, part="00000", source=AuditSource(own=absolute_own("twin.py:load")))
    with pytest.raises(SettingError, match="returns something else on the worker"):
        audit_part(asked.model_dump_json(), {})


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
    assert not is_custom("mine.py") and is_custom("a/mine.py:load")


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
