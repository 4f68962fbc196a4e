"""A Hugging Face classifier behind the page: its numbers are those of the explanation, and every button works."""

import pytest
import torch
from starlette.testclient import TestClient

pytest.importorskip("transformers", minversion="5.0")

from heedful.models.hugging_face.tokenized_texts import read_texts
from heedful.models.trace import trace
from heedful.report.explanations import explain
from heedful.server.actions import ACTIONS
from heedful.server.app import create_app
from heedful.server.served import serve_subject
from heedful.subjects.hugging_face_subject import HuggingFaceSubject
from support.classifiers import two_classes

TEXT = "the unlikely film is not good ."
PORT, TOKEN = 8642, "a-token"


@pytest.fixture(scope="module")
def view():
    return two_classes()


@pytest.fixture(scope="module")
def ask(view):
    browser = TestClient(
        create_app([serve_subject(HuggingFaceSubject(view))], TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}"
    )
    browser.headers["Authorization"] = f"token {TOKEN}"

    def call(path: str, **content):
        response = browser.post(f"/api/{path}", json={"model": view.key, "text": TEXT, **content})
        assert response.status_code == 200, response.text
        return response.json() if "json" in response.headers["content-type"] else response

    return call


def test_state_and_dragging_are_what_the_model_computes(view, ask):
    (batch,) = read_texts(view.classifier, [TEXT], [0]).batches()
    seen, state = trace(view, batch), ask("read")
    assert state["attention"] == pytest.approx(seen.attention[0].tolist(), abs=1e-12)
    assert state["logits"] == pytest.approx(seen.logits[0].tolist(), abs=1e-12)
    assert [item["label"] for item in state["items"]] == TEXT.split()
    assert state["item_logits"] is None and state["widest"]["solver"] == "search"
    assert {ranking["name"] for ranking in state["rankings"]} >= {"attention", "leave_one_out", "gradient_x_input"}
    state = ask("read")
    own = ask("decode", attention=state["attention"])
    assert own["tvd"] == pytest.approx(0, abs=1e-6)
    first = [1.0, *[0.0] * (len(state["attention"]) - 1)]
    seen = trace(view, batch)
    logits = view.decode(seen.encoded, torch.tensor([first], dtype=torch.float64))
    assert ask("decode", attention=first)["logits"] == pytest.approx(logits[0].tolist(), abs=1e-9)


def test_every_button_answers_and_agrees_with_the_explanation(ask, view):
    for action in [name for name in ACTIONS if name != "replace_word"]:
        answer = ask("act", action=action)
        assert answer["sentence"] and answer["paper"]
        assert sum(answer["probabilities"]) == pytest.approx(1)
        if answer["is_settable"]:
            decoded = ask("decode", attention=answer["attention"])
            assert decoded["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-6), action
    explained = explain(view, TEXT)[0]
    other, smallest = ask("act", action="other_attention"), ask("act", action="smallest_set")
    assert other["jsd"] == pytest.approx(explained.other_attention.js, abs=1e-6) and other["solver"] == "bound"
    assert not other["is_settable"]
    assert tuple(smallest["items"]) == (explained.smallest_set.positions if explained.smallest_set else ())


def test_words_of_a_pair_say_which_text_they_are_of(ask):
    state = ask("read", query="bad plot")
    assert [word["text"] for word in state["words"] if word["in_query"]] == ["bad", "plot"]
    assert all(
        state["query"][word["start"] : word["end"]] == word["text"] for word in state["words"] if word["in_query"]
    )


def test_a_picture_but_no_page_can_be_saved(view, ask):
    assert ask("picture").headers["content-type"] == "image/svg+xml"
    browser = TestClient(
        create_app([serve_subject(HuggingFaceSubject(view))], TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}"
    )
    headers = {"Authorization": f"token {TOKEN}"}
    response = browser.post("/api/save", json={"model": view.key, "text": TEXT}, headers=headers)
    assert response.status_code == 400 and "linear" in response.json()["error"]
