"""Who may ask: the person who started the server, from its page, and no more than it can bear."""

import asyncio

from starlette.testclient import TestClient

from heedful.server.contract import MOST_BYTES
from heedful.server.security import HEADERS, Guard, read_body

PORT, TOKEN = 8642, "a-token"  # as in conftest
PATHS = ("/", "/api/models", "/report/x", "/nowhere")


def error(response) -> str:
    assert set(response.json()) == {"error"}
    return response.json()["error"]


def test_without_the_right_token_everything_is_refused(stranger, model):
    for path in PATHS:
        response = stranger.get(path)
        assert response.status_code == 403 and "token" in response.text
    for path in ["read", "decode", "act", "save", "picture"]:
        response = stranger.post(f"/api/{path}", json=model("average").request)
        assert response.status_code == 403 and "token" in error(response)
    for token in ["", "wrong", "a-toke", "a-token2", "ä"]:
        assert stranger.get("/", params={"token": token}).status_code == 403
        assert stranger.get("/api/models", headers={"Authorization": f"token {token}".encode()}).status_code == 403
        assert stranger.get("/api/models", headers={"Cookie": f"heedful-{PORT}={token}".encode()}).status_code == 403


def test_a_foreign_host_or_origin_is_refused_even_with_the_token(client, model):
    for host in [
        "example.org",
        "example.org:8642",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1.example.org:8642",
        "",
        "a@b",
    ]:
        for path in ("/", f"/?token={TOKEN}", "/api/models"):
            response = client.get(path, headers={"Host": host})
            assert response.status_code == 403 and "Host" in error(response)
    for origin in ["http://example.org", "null", "https://127.0.0.1:8642", "http://127.0.0.1:9999"]:
        response = client.post("/api/read", json=model("average").request, headers={"Origin": origin})
        assert response.status_code == 403 and "Origin" in error(response)
    headers = {"Origin": f"http://127.0.0.1:{PORT}", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/read", json=model("average").request, headers=headers).status_code == 200
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/models", headers=headers).status_code == 403


def test_the_right_token_in_a_header_or_once_in_the_address_is_enough(stranger):
    for host in ["localhost:8642", "LOCALHOST:8642", "[::1]:8642"]:
        response = stranger.get("/api/models", headers={"Host": host, "Authorization": f"token {TOKEN}"})
        assert response.status_code == 200
    response = stranger.get("/api/models", headers={"Authorization": f"token {TOKEN}"})
    assert response.status_code == 200
    response = stranger.get("/", params={"token": TOKEN})
    assert response.status_code == 303 and response.headers["location"] == "/"
    cookie = response.headers["set-cookie"].lower()
    assert f"heedful-{PORT}={TOKEN}" in cookie
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/" in cookie
    assert stranger.get("/api/models").status_code == 200


def test_every_response_carries_the_headers(client, stranger):
    for path in [*PATHS, f"/?token={TOKEN}"]:
        for browser in (client, stranger):
            headers = browser.get(path).headers
            own = browser is client and path == "/"
            for name, value in HEADERS.items():
                assert headers[name] == value or (own and name == "content-security-policy")


def test_a_body_must_be_json_and_its_size_is_bounded(client, model):
    content = {**model("average").request, "text": "a" * MOST_BYTES}
    response = client.post("/api/read", json=content)
    assert response.status_code == 413 and "256" in error(response) or "262,144" in error(response)

    def chunks():
        for _ in range(300):
            yield b" " * 1024

    response = client.post("/api/read", content=chunks(), headers={"Content-Type": "application/json"})
    assert response.status_code == 413
    headers = {"Content-Type": "application/json", "Content-Length": "-1"}
    assert client.post("/api/read", content=b"{}", headers=headers).status_code == 400
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]:
        response = client.post("/api/read", content=b"{}", headers={"Content-Type": kind})
        assert response.status_code == 415


def test_other_methods_are_refused(client):
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"]:
        assert client.request(method, "/api/read").status_code == 405


def test_disconnected_clients_and_websockets_are_let_go():
    async def receive():
        return {"type": "http.disconnect"}

    assert asyncio.run(read_body(receive)) == b""
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(None, TOKEN, PORT)({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_two_servers_have_cookies_of_their_own(client):
    other = TestClient(Guard(client.app, "other", 9000), base_url="http://127.0.0.1:9000", follow_redirects=False)
    assert "heedful-9000=other" in other.get("/?token=other").headers["set-cookie"]
