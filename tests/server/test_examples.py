"""Texts to begin with."""

import polars as pl
import pytest

from heedful.report.audit_files import AuditFiles
from heedful.schema import EXAMPLES, ROWS
from heedful.server import examples
from heedful.server.examples import MOST, examples_of_audit, examples_of_data
from heedful.settings import DataSettings, Run
from support.runs import toy


@pytest.fixture
def named(monkeypatch):
    """The toy data under a name."""
    monkeypatch.setattr(examples, "DATASETS", {"toy": None})
    monkeypatch.setattr(examples, "load_dataset", lambda data, text, sentences: toy())


def test_labels_take_turns(named):
    chosen = examples_of_data(Run(data=DataSettings(source="toy", fingerprint="f")))
    assert len(chosen) == MOST and [text.label for text in chosen[:4]] == ["bad", "good", "bad", "good"]
    assert {text.text for text in chosen} <= {example.text for example in toy().test}


def test_data_that_changed_is_not_shown(named):
    assert examples_of_data(Run(data=DataSettings(source="toy", fingerprint="other"))) == []


@pytest.mark.parametrize("source", ["hub:owner/name", "my.csv", "/etc/passwd"])
def test_what_a_stranger_names_is_not_read(monkeypatch, source):
    monkeypatch.setattr(examples, "load_dataset", lambda *arguments, **options: pytest.fail("it was read"))
    assert examples_of_data(Run(data=DataSettings(source=source))) == []


def test_marks_of_the_audit_are_kept():
    row = {"run": "r", "split": "test", "query": None, "predicted": "a", "label": "a", "replaced": None}
    texts = [{**row, "example": number, "text": f"word {number}", "items": ["word", str(number)]} for number in (1, 2)]
    marked = {"run": "r", "split": "test", "example": 1, "test": "items", "measure": "rationale", "solver": "exact"}
    rows = [{**marked, "item": 0, "value": 0.0}, {**marked, "item": 1, "value": 1.0}]
    audit = AuditFiles(pl.DataFrame(rows, schema=ROWS), pl.DataFrame(texts, schema=EXAMPLES), None, "m")
    assert [text.marks for text in examples_of_audit(audit)] == [[1], None]
