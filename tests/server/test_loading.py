"""Models by their keys and folders, with what their audits say."""

import shutil
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from heedful.auditing.audit import audit
from heedful.errors import SettingError, StoreError
from heedful.report import page
from heedful.report.explanation import explain
from heedful.schema import TextOutcome
from heedful.server.app import create_app
from heedful.server.audit_strip import audit_strip
from heedful.server.loading import load_served
from heedful.server.outcomes import outcomes_of
from heedful.store.audit_folders import save_audit
from heedful.store.store import Store
from heedful.training.loop import train
from support.audits import QUICK
from support.runs import changed, toy

PORT, TOKEN = 8642, "a-token"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with two finished runs, of which the first was audited."""
    place = tmp_path_factory.mktemp("served")
    store = Store(place / "runs")
    first = train(changed(data__source="toy.csv", training__epochs=6), toy())
    save_audit(audit(first, replace(toy(), test=toy().train), QUICK), place / "audits" / "first")
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


def opened(*served):
    browser = TestClient(create_app(served, TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}")
    browser.headers["Authorization"] = f"token {TOKEN}"
    return browser


def test_runs_are_found_by_the_beginning_of_their_keys(load, keys):
    served = load(keys[0][:8], keys[1])
    assert [model.info.id for model in served] == keys
    assert len({model.info.name for model in served}) == 2, "two models of one name are told apart"
    assert served[0].info.about["Run"].startswith(keys[0])


def test_the_answer_stands_in_a_strip(load, keys):
    audited, other = load(*keys)
    assert other.info.audit is None and not other.info.report
    assert audited.info.report and audited.info.audit == audit_strip(audited.audit.verdict)


def test_examples_come_from_the_audit(load, keys):
    audited, other = load(*keys)
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
            explain(audited._reader.trained, texts[number], audit=audited.audit.verdict)[0].outcome == own["attention"]
        )


def test_the_report_is_served_under_its_own_policy(load, keys, monkeypatch):
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


def test_a_run_deleted_while_served_is_refused(root, tmp_path, keys):
    shutil.copytree(root / "runs", tmp_path / "runs")
    (served,) = load_served([keys[1]], runs=tmp_path / "runs", audits=tmp_path / "audits")
    browser, request = opened(served), {"model": keys[1], "text": "good film"}
    assert browser.post("/api/read", json=request).status_code == 200
    shutil.rmtree(tmp_path / "runs" / keys[1])
    response = browser.post("/api/read", json=request)
    assert response.status_code == 410 and "was deleted or moved" in response.json()["error"]


def test_names_that_are_wrong_are_refused(load, keys):
    with pytest.raises(SettingError, match="it was ' '"):
        load(" ")
    with pytest.raises(SettingError, match="named twice"):
        load(keys[0], keys[0][:6])
    with pytest.raises(StoreError, match="no run 'zzz'"):
        load("zzz")


def test_a_hugging_face_folder_is_served(tmp_path):
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
