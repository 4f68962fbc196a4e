"""Tiny models behind the server, a client of it, and the same texts as an audit would read them."""

from dataclasses import dataclass
from functools import cache, cached_property

import pytest
import torch
from starlette.testclient import TestClient

from heedful.battery.evidence import Evidence
from heedful.server.app import create_app
from heedful.server.served import ServedModel, serve_subject
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.subject import float64_eval_copy
from heedful.training.loop import train
from heedful.training.trained import Trained
from support.runs import changed, toy

PORT, TOKEN = 8642, "a-token"
TEXT = "The film was so good, the film was bad"
SENTENCES = "The film was good. So bad was the film! The good film."
QUERY = "why"

SETTINGS = {
    "average": {},
    "bilstm": {"network__encoder": "bilstm"},
    "three": {"network__encoder": "bilstm", "seed": 1},
    "tanh": {"network__head": "tanh"},
    "framed": {"text__start_end": True},
    "hierarchical": {"network__encoder": "hierarchical"},
    "nli": {"data__task": "nli"},
}
DATA = {
    "three": {"labels": ("bad", "good", "film")},
    "hierarchical": {"sentences": True},
    "nli": {"task": "nli"},
}


@dataclass(frozen=True)
class Case:
    """A trained model, the model as it is served, and a text for it."""

    trained: Trained
    served: ServedModel
    text: str = TEXT
    query: str = ""

    @property
    def request(self) -> dict[str, str]:
        return {"model": self.served.info.id, "text": self.text, "query": self.query}

    def evidence(self) -> Evidence:
        """The text as an audit reads it, by the audit's own way."""
        return self._evidence

    @cached_property
    def _evidence(self) -> Evidence:
        subject, _ = FinishedRun(self.trained).read_all([(self.text, self.query)] if self.query else [self.text])
        (batch,) = subject.batches()
        model = float64_eval_copy(subject.model)
        with torch.no_grad():
            return Evidence(model, subject.trace(model, batch), subject.context)

    def real(self, values) -> list[float]:
        """Values of the evidence's items, without the places where there is none."""
        return values[0, self.evidence().items[0]].tolist()


@cache
def case(name: str) -> Case:
    settings = {"data__source": "toy.csv", "training__epochs": 4, **SETTINGS[name]}
    with torch.enable_grad():
        trained = train(changed(**settings), toy(**DATA.get(name, {})))
    text = SENTENCES if name == "hierarchical" else TEXT
    return Case(trained, serve_subject(FinishedRun(trained)), text, QUERY if name == "nli" else "")


@pytest.fixture(scope="package", autouse=True)
def without_data(tmp_path_factory):
    """No synonyms and no vectors at hand, which would take long to load."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def without_data_here(without_data, monkeypatch):
    """For as long as a test runs: tests of other folders may come between those of this one."""
    monkeypatch.setenv("HEEDFUL_DATA", str(without_data))


@pytest.fixture(autouse=True)
def without_gradients():
    """Evidence is asked as an audit asks it."""
    with torch.no_grad():
        yield


@pytest.fixture
def every() -> list[Case]:
    """Every kind of model."""
    return [case(name) for name in SETTINGS]


@pytest.fixture
def every_linear() -> list[Case]:
    """Every kind of model with a linear head."""
    return [case(name) for name in SETTINGS if name != "tanh"]


@pytest.fixture
def model():
    """A model by its kind."""
    return case


@pytest.fixture(scope="session")
def client() -> TestClient:
    """A browser that has opened the page of all these models."""
    app = create_app([case(name).served for name in SETTINGS], TOKEN, PORT)
    browser = TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
    assert browser.get(f"/?token={TOKEN}").status_code == 303
    return browser


@pytest.fixture
def stranger(client) -> TestClient:
    """A browser that has not."""
    return TestClient(client.app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)


@pytest.fixture
def post(client):
    """The answer to a request that must be granted."""

    def call(path: str, content: dict) -> dict:
        response = client.post(f"/api/{path}", json=content)
        assert response.status_code == 200, response.text
        return response.json()

    return call


@pytest.fixture
def refused(client):
    """Send a request that must be refused, with these words."""

    def call(path: str, content: object, said: str, status: int = 400) -> None:
        response = client.post(f"/api/{path}", json=content)
        assert response.status_code == status and said in response.json()["error"], response.text

    return call


@pytest.fixture
def opened():
    """A browser that has opened the page of these models."""

    def call(*served: ServedModel) -> TestClient:
        page = TestClient(create_app(served, TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
        page.headers["Authorization"] = f"token {TOKEN}"
        return page

    return call


@pytest.fixture
def act(post):
    """The answer of a button."""

    def call(case: Case, action: str, **options) -> dict:
        return post("act", {**case.request, "action": action, "options": options})

    return call
