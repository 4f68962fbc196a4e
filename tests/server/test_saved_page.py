"""A saved page holds all that it needs, and nothing that a text could run."""

import base64
import hashlib
import html
import json
import re

import pytest

from heedful.errors import DataError
from heedful.server.saved_page import MODULES, module


@pytest.fixture
def saved(client, model):
    def call(name="average", **changes):
        response = client.post("/api/save", json={**model(name).request, **changes})
        assert response.status_code == 200, response.text
        assert response.headers["content-disposition"] == 'attachment; filename="heedful.html"'
        return response.text

    return call


def payload(page: str) -> dict:
    (content,) = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, flags=re.DOTALL)
    return json.loads(content)


def test_it_carries_the_state_and_the_sliders(saved, model, post):
    case = model("average")
    state = post("read", case.request)
    count = len(state["attention"])
    page = payload(saved(attention=[1 / count] * count))
    assert page["reading"]["item_logits"] == state["item_logits"] and page["reading"]["text"] == case.text
    assert page["attention"] == [1 / count] * count
    assert page["model"]["id"] == case.served.info.id and page["model"]["examples"] == []
    assert payload(saved())["attention"] is None


def test_it_loads_nothing(saved):
    page = saved()
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", page)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert html.unescape(policy).startswith("default-src 'none'; script-src 'sha256-") and "connect" not in policy


def test_only_its_own_script_and_style_may_run(saved):
    page = saved()
    scripts = re.findall(r"<script(?![^>]*application/json)[^>]*>(.*?)</script>", page, flags=re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    for part in (*scripts, style):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"sha256-{digest}" in html.unescape(page)
    assert len(scripts) == 1


def test_markup_in_a_text_stays_text(saved):
    text = "good </script><script>alert(1)</script> <!-- film"
    page = saved(text=text)
    assert "<script>alert" not in page and payload(page)["text"] == text


def test_modules_stand_together_in_one_script():
    for name in MODULES:
        assert not re.search(r"^(import|export) ", module(name), flags=re.MULTILINE), name


@pytest.mark.parametrize("name", ["../app.py", "page.css", "/etc/passwd", "a/b.js"])
def test_other_files_are_no_modules(name):
    with pytest.raises(DataError, match="script of the page"):
        module(name)


def test_a_model_that_is_not_linear_cannot_be_saved(client, model):
    response = client.post("/api/save", json=model("tanh").request)
    assert response.status_code == 400 and "linear after attention" in response.json()["error"]


def test_weights_that_are_none_are_refused(client, model):
    response = client.post("/api/save", json={**model("average").request, "attention": [1.0]})
    assert response.status_code == 400
