"""A served model: texts are read once, the last are kept, and threads take turns."""

import shutil
import threading
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from heedful.errors import SettingError
from heedful.report import page
from heedful.report.audits import AuditFiles
from heedful.report.explanations import explain
from heedful.report.loading import audit
from heedful.schema import TextOutcome
from heedful.schema.table_columns import EXAMPLES, ROWS
from heedful.server import served
from heedful.server.contract import ExampleText
from heedful.server.served import (
    MOST,
    MOST_TEXTS,
    MOST_WORDS_KEPT,
    ServedModel,
    examples_of_audit,
    examples_of_data,
    load_served,
)
from heedful.server.text_state import outcomes_of
from heedful.settings import DataSettings, TextSettings
from heedful.store.store import Store
from heedful.training.loop import train
from support.audits import QUICK
from support.runs import changed, toy


@pytest.fixture
def counted(model):
    """A served model, and the texts that it has read."""
    case, read = model("average"), []

    def reader(text, query):
        read.append(text)
        return case.served._reader(text, query)

    examples = [ExampleText(text="good film", marks=[0, 7])]
    return ServedModel(case.served.info.model_copy(update={"examples": examples}), reader), read


def test_a_text_is_read_once(counted):
    served, read = counted
    for _ in range(3):
        with served.reading("good film"):
            pass
    assert read == ["good film"]


def test_the_last_texts_are_kept(counted):
    served, read = counted
    for number in range(MOST_TEXTS + 1):
        with served.reading(f"film {number}"):
            pass
    with served.reading(f"film {MOST_TEXTS}"), served.reading("film 1"):
        pass
    assert len(read) == MOST_TEXTS + 1
    with served.reading("film 0"):
        pass
    assert read[-1] == "film 0", "the first was forgotten"


def test_long_texts_push_out_others(counted):
    served, _ = counted
    for number in range(MOST_WORDS_KEPT // 2_000 + 3):
        with served.reading("good " * 1_999 + str(number)):
            pass
    assert served._words() <= MOST_WORDS_KEPT


def test_marks_beyond_the_text_are_left_out(counted):
    with counted[0].reading("good film") as read:
        assert read.marks == (0,)
    with counted[0].reading("film") as read:
        assert read.marks is None


def test_threads_take_turns(counted):
    served, inside, most = counted[0], [], []

    def ask():
        with served.reading("good film"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and len(most) == 8


# Texts to begin with.


def trained_on(source: str) -> SimpleNamespace:
    """All of a subject that examples are taken from."""
    data = DataSettings(source=source, fingerprint="f")
    return SimpleNamespace(own_data=data, reads_text=True, text=TextSettings(), reads_sentences=False)


def test_examples_of_a_named_set_have_labels_that_take_turns(monkeypatch):
    monkeypatch.setattr(served, "DATASETS", {"toy": None})
    monkeypatch.setattr(served, "load_texts", lambda subject: toy())
    chosen = examples_of_data(trained_on("toy"))
    assert len(chosen) == MOST and [text.label for text in chosen[:4]] == ["bad", "good", "bad", "good"]
    assert {text.text for text in chosen} <= {example.text for example in toy().test}


def test_data_that_changed_is_not_shown(monkeypatch):
    assert examples_of_data(trained_on("mock-1")) == []


def test_what_a_stranger_names_is_not_read(monkeypatch):
    monkeypatch.setattr(served, "load_texts", lambda subject: pytest.fail("it was read"))
    for source in ("hub:owner/name", "my.csv", "/etc/passwd"):
        assert examples_of_data(trained_on(source)) == []


def test_marks_of_the_audit_are_kept():
    row = {"run": "r", "split": "test", "query": None, "predicted": "a", "label": "a", "replaced": None}
    texts = [{**row, "example": number, "text": f"word {number}", "items": ["word", str(number)]} for number in (1, 2)]
    marked = {"run": "r", "split": "test", "example": 1, "test": "items", "measure": "rationale", "solver": "exact"}
    rows = [{**marked, "item": 0, "value": 0.0}, {**marked, "item": 1, "value": 1.0}]
    audit = AuditFiles(pl.DataFrame(rows, schema=ROWS), pl.DataFrame(texts, schema=EXAMPLES), None, "m")
    assert [text.marks for text in examples_of_audit(audit)] == [[1], None]


# Models by their keys and folders, with what their audits say.


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with two finished runs, of which the first was audited."""
    place = tmp_path_factory.mktemp("served")
    store = Store(place / "runs")
    first = train(changed(data__source="toy.csv", training__epochs=6), toy())
    audit(first, replace(toy(), test=toy().train), QUICK).save(place / "audits" / "first")
    store.save(first)
    store.save(train(changed(data__source="toy.csv", training__epochs=1, seed=1), toy()))
    return place


@pytest.fixture(scope="module")
def keys(root):
    """Of the audited run, and of the other."""
    by_epochs = {described.run.training.epochs: key for key, described in Store(root / "runs").listing()[0].items()}
    return [by_epochs[6], by_epochs[1]]


@pytest.fixture
def load(root):
    return lambda *names: load_served(names, runs=root / "runs", audits=root / "audits")


def test_runs_are_found_by_the_beginning_of_their_keys_and_none_twice(load, keys):
    served = load(keys[0][:8], keys[1])
    assert [model.info.id for model in served] == keys
    assert len({model.info.name for model in served}) == 2, "two models of one name are told apart"
    assert served[0].info.about["Run"].startswith(keys[0])
    with pytest.raises(SettingError, match="named twice"):
        load(keys[0], keys[0][:6])


def test_answer_and_examples_come_from_the_audit(load, keys):
    audited, other = load(*keys)
    verdict, guidance = audited.audit.verdict, audited.info.guidance
    assert other.info.guidance is None and other.info.lines == ()
    assert audited.info.lines == verdict.lines and guidance.headline == verdict.answer.headline
    assert guidance.overall == verdict.answer.overall and list(guidance.classes) == ["bad", "good"]
    assert other.info.examples == []
    texts = set(audited.audit.examples["text"].to_list())
    assert audited.info.examples and {example.text for example in audited.info.examples} <= texts


def test_a_text_of_the_audit_has_the_outcome_of_the_audit(load, keys):
    """Every text and ranking that the audit judged."""
    (audited,) = load(keys[0])
    outcomes = audited.audit.outcomes.filter(removal="delete", split="test")
    texts = {number: each.text for number, each in enumerate(toy().train)}
    for (number,), rows in outcomes.group_by("example"):
        with audited.reading(texts[number]) as read:
            own = outcomes_of(read, audited.settings)
        assert own == {row["ranking"]: TextOutcome.model_validate(row) for row in rows.iter_rows(named=True)}
        assert (
            explain(audited._reader.func.__self__, texts[number], audit=audited.audit.verdict)[0].outcome
            == own["attention"]
        )


def test_the_report_is_served_under_its_own_policy(load, keys, monkeypatch, opened):
    drawn = []
    monkeypatch.setattr(page, "render_page", lambda audits: drawn.append(audits) or "<!DOCTYPE html>a report")
    audited, other = load(*keys)
    browser = opened(audited, other)
    response = browser.get(f"/report/{keys[0]}")
    assert response.status_code == 200 and response.text.startswith("<!DOCTYPE html>")
    assert "'unsafe-inline'" in response.headers["content-security-policy"]
    assert browser.get(f"/report/{keys[0]}").text == response.text
    assert drawn == [[audited.audit]], "it is drawn once"
    assert browser.get(f"/report/{keys[1]}").status_code == 400


def test_a_run_deleted_while_served_is_refused(root, tmp_path, keys, opened):
    shutil.copytree(root / "runs", tmp_path / "runs")
    (served,) = load_served([keys[1]], runs=tmp_path / "runs", audits=tmp_path / "audits")
    browser, request = opened(served), {"model": keys[1], "text": "good film"}
    assert browser.post("/api/read", json=request).status_code == 200
    shutil.rmtree(tmp_path / "runs" / keys[1])
    response = browser.post("/api/read", json=request)
    assert response.status_code == 410 and "was deleted or moved" in response.json()["error"]


def test_a_hugging_face_folder_is_served(tmp_path, opened):
    pytest.importorskip("transformers", minversion="5.0")
    from support.classifiers import save_classifier

    folder = save_classifier(tmp_path / "my-bert")
    (served,) = load_served([folder], runs=tmp_path / "runs", audits=tmp_path / "audits")
    assert served.info.name == "my-bert" and served.info.labels == ["bad", "good"] and not served.info.is_linear
    browser = opened(served)
    request = {"model": served.info.id, "text": "the film is good"}
    assert browser.post("/api/read", json=request).status_code == 200
    (tmp_path / "my-bert" / "config.json").unlink()
    assert browser.post("/api/read", json=request).status_code == 410
