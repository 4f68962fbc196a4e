"""Models of users' own by FILE.py:FUNCTION: loaded alike in every process, refused in a sentence."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import heedful
from heedful.cli import app
from heedful.errors import SettingError
from heedful.jobs.audit_parts import request_of
from heedful.jobs.request import AuditSource, AuditWork, Job
from heedful.jobs.work import do
from heedful.report import read_audit
from heedful.settings import AuditSettings
from heedful.store.store import Store
from heedful.subjects.custom_model import fingerprint_of, load_custom, resolve_words
from support.audits import ensure_audit
from support.custom_models import VOCABULARY, texts, words_of

PAGE = Path(__file__).parents[2] / "docs" / "large-audits.md"
CODE = re.search(r"```py file=bag.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
BATCHES = [texts(4), texts(3, first=4)]
BY_TEXT = [words_of(number) for number in range(7)]
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

    loaded, store = load_custom(bag), Store(tmp_path, tmp_path / "audits")
    request = request_of(loaded, loaded.batches, QUICK)
    asked = AuditWork(audit=request, part="00000", source=AuditSource(own=f"{tmp_path}/bag.py:load"))
    job = Job(f"{request.key}/00000", "part", asked.model_dump_json())
    do(job, store, "cpu", ignore)
    assert json.loads((job.place(store) / "facts.json").read_text())["texts"] == 128
    (tmp_path / "twin.py").write_text((tmp_path / "bag.py").read_text().replace("manual_seed(0)", "manual_seed(1)"))
    other = request_of(loaded, loaded.batches, AuditSettings(tests=("uniform",)))
    asked = AuditWork(audit=other, part="00000", source=AuditSource(own=f"{tmp_path}/twin.py:load"))
    with pytest.raises(SettingError, match="returns something else on the worker"):
        do(Job(f"{other.key}/00000", "part", asked.model_dump_json()), store, "cpu", ignore)


CODES = (
    ("load = 3", "it has no load()"),
    ("def load(): return 3", "must return a dict with `model` and `data`"),
    ("def load(): return {'model': 1, 'data': [], 'batch': 2}", "'batch' is none of them"),
    ("def load(): return {'model': 1, 'data': []}", "at least one batch"),
    ("def load(): raise KeyError('weights')", "its load() fails: KeyError"),
    ("import nowhere_to_be_seen", "cannot be loaded"),
)


def test_what_is_wrong_with_a_file_is_a_sentence(tmp_path):
    for number, (code, words) in enumerate(CODES):
        (tmp_path / f"mine{number}.py").write_text(code)
        with pytest.raises(SettingError, match=re.escape(words)):
            load_custom(f"{tmp_path}/mine{number}.py:load")
    with pytest.raises(SettingError, match="must name a file that is there"):
        load_custom(f"{tmp_path}/mine.py:load")


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_the_command_audits_it(bag):
    result = invoke("audit", "--model", bag, "--tests", "permutation", "--json", "--workers", "1")
    assert result.exit_code == 0 and json.loads(result.stdout)["run"] == "bag of words"


REFUSED = (
    (["my.csv", "--model", "bag.py:load"], "DATA cannot be combined with --model bag.py:load"),
    (["--model", "bag.py:load", "--model", "other.py:load"], "another --model cannot be combined"),
    (["--model", "bag.py:load", "--seeds", "3"], "--seeds cannot be combined with --model bag.py:load"),
    (["--model", "bag.py:load", "--threads", "2", "--workers", "2"], "--threads cannot be combined with --workers"),
)


def test_what_cannot_be_is_a_sentence(bag):
    for arguments, words in REFUSED:
        result = invoke("audit", *arguments)
        assert isinstance(result.exception, SettingError) and words in str(result.exception)
    result = invoke("audit", "--model", bag, "--workers", "0")
    assert result.exit_code == 2 and "greater than or equal to 1" in result.output


# Their words, by text or by the number of a token.


def test_all_ways_of_giving_words_come_to_the_same():
    for words in (BY_TEXT, dict(enumerate(VOCABULARY)), VOCABULARY.__getitem__):
        vocabulary, by_text = resolve_words(words, BATCHES, by_token=True)
        assert by_text == {number: tuple(own) for number, own in enumerate(BY_TEXT)}
        assert vocabulary[1:] == tuple(VOCABULARY[1:])


def test_nobody_knows_words_that_are_not_given():
    assert resolve_words(None, BATCHES, by_token=True) == resolve_words((), BATCHES, by_token=True) == ((), {})


def test_padding_needs_no_word():
    vocabulary, _ = resolve_words({n: word for n, word in enumerate(VOCABULARY) if n}, BATCHES, by_token=True)
    assert vocabulary[0] == "token 0"


def test_every_number_has_a_name_of_its_own():
    same = [word if word != "film" else "the" for word in VOCABULARY]
    vocabulary, by_text = resolve_words({**dict(enumerate(same)), 3: ""}, BATCHES, by_token=True)
    assert vocabulary[:4] == ("<pad>", "the", "the (token 2)", "token 3")
    assert by_text[0] == ("bad", "the", "the")


def test_a_number_that_stands_for_many_words_goes_by_its_number():
    many = [[f"{word}{place}" if word == "the" else word for word in own] for place, own in enumerate(BY_TEXT)]
    vocabulary, by_text = resolve_words(many, BATCHES, by_token=True)
    assert vocabulary[1] == "token 1" and by_text[1][0] == "the1"


def test_sentences_are_named_by_their_words():
    batch = replace(BATCHES[0], sentence=(torch.arange(5) > 1).long().expand(4, 5) * BATCHES[0].mask)
    _, by_text = resolve_words(VOCABULARY.__getitem__, [batch], by_token=False)
    assert by_text[1] == ("the good", "film was")
    named = [["first", "second"]] * 4
    assert resolve_words(named, [batch], by_token=False) == ((), dict.fromkeys(range(4), ("first", "second")))


def test_words_that_no_file_can_hold_are_made_so():
    assert resolve_words({**dict(enumerate(VOCABULARY)), 1: "\ud800a"}, BATCHES, by_token=True)[0][1] == "?a"


def test_a_function_that_fails_is_named_with_the_token():
    with pytest.raises(SettingError, match="for token 6 there was IndexError: list index out of range"):
        resolve_words(VOCABULARY[:6].__getitem__, BATCHES, by_token=True)
