"""The live page and a saved one hold all that they need, and nothing that a text could run."""

import base64
import html
import json
import re

import pytest

from heedful.report.page import HERE, import_map
from heedful.server.live_page import STATIC


@pytest.fixture
def saved(client, model):
    def call(name="average", **changes):
        response = client.post("/api/save", json={**model(name).request, **changes})
        assert response.status_code == 200, response.text
        assert response.headers["content-disposition"] == 'attachment; filename="heedful.html"'
        return response.text

    return call


def scripts(page: str) -> list[tuple[str, str]]:
    """Attributes and content of each script."""
    return re.findall(r"<script ([^>]*)>(.*?)</script>", page, flags=re.DOTALL)


def payload(page: str) -> dict:
    return json.loads(scripts(page)[0][1])


def test_it_carries_the_state_and_the_sliders(saved, model, post):
    case = model("average")
    state = post("read", case.request)
    count = len(state["attention"])
    page = payload(saved(attention=[1 / count] * count))
    assert page["reading"]["item_logits"] == state["item_logits"] and page["reading"]["text"] == case.text
    assert page["attention"] == [1 / count] * count
    assert page["model"]["id"] == case.served.info.id and page["model"]["examples"] == []
    assert payload(saved())["attention"] is None


def test_only_what_carries_the_nonce_may_run_and_nothing_is_loaded(client, saved):
    live, kept = client.get("/"), saved()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', kept)
    policies = {live.text: live.headers["content-security-policy"], kept: html.unescape(policy)}
    for page, own in policies.items():
        (nonce,) = set(re.findall("'nonce-([^']+)'", own))
        assert own.startswith(f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; ")
        assert [nonce in attributes for attributes, _ in scripts(page)[-2:]] == [True, True]
        assert re.findall("<style([^>]*)>", page) == [f' nonce="{nonce}"']
        assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", page)
    assert "connect" not in policies[kept] and "connect-src 'self'" in policies[live.text]
    assert client.get("/").headers["content-security-policy"] != policies[live.text], "each page has its own nonce"
    assert saved(text="good")[:2000] != kept[:2000]


def test_modules_import_only_modules_of_the_page():
    addresses = json.loads(import_map(HERE, STATIC))["imports"]
    for address in addresses.values():
        kind, content = address.split(",")
        assert kind == "data:text/javascript;base64"
        assert set(re.findall(r'from "([^"]*)"', base64.b64decode(content).decode())) <= set(addresses)


def test_markup_in_a_text_stays_text(saved):
    text = "good </script><script>alert(1)</script> <!-- film"
    page = saved(text=text)
    assert "<script>alert" not in page and payload(page)["text"] == text


def test_what_cannot_be_saved_is_refused(client, model, refused):
    refused("save", model("tanh").request, "linear after attention")
    response = client.post("/api/save", json={**model("average").request, "attention": [1.0]})
    assert response.status_code == 400
