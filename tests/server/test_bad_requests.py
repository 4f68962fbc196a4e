"""Thousands of generated bad requests: none is a 5xx, each is an answer or a sentence, and the server lives."""

import asyncio
import json
import random
from collections import Counter

import pytest

COUNT = 5_000
TEXTS = (
    "",
    " ",
    "good",
    "the film was good",
    "zebra",
    "\x00",
    "\u202e\u200f",
    "<script>",
    "a" * 20_000,
    "a" * 20_001,
    "good " * 60,
    "\N{GRINNING FACE}" * 9,
    "'; --",
    "{{7*7}}",
    "../../etc",
    "\n\n\n",
    "0",
    ".",
)
VALUES = (None, True, False, 0, -1, 1, 2**63, 10**400, 0.5, -0.0, 1e308, "", "attention", [], [1], {}, {"a": 1}, [[]])
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "0.5", "1", "-1", "null", '"1"', "[]")
PATHS, SLOW = ("read", "decode", "act", "act", "models", "nothing"), ("save", "picture")
FIELDS = ("model", "text", "query", "attention", "word_attention", "action", "options", "format", "is_quick", "more")
ACTIONS = (
    "other_attention",
    "remove_top",
    "erase_ranking",
    "shuffle",
    "uniform",
    "worst_perturbation",
    "x",
    "replace_word",
)
OWN = {"decode": ("attention",), "act": ("action", "options"), "save": (), "picture": ("attention",)}
"""What a right request of a path has beside model and text."""
OPTIONS = ("ranking", "seed", "radius", "norm", "scale", "item", "more")
RAW = (b"", b"{", b"[" * 9_000, b"\xff\xfe", b"null", b"3", b'"text"', b'{"text": ' + b"9" * 6_000 + b"}", b"\x00")


def generated(draw: random.Random, path: str, models: list[str]) -> bytes:
    """The body of a request, most often nearly right."""
    if draw.random() < 0.05:
        return draw.choice(RAW)
    content = {"model": draw.choice(models), "text": draw.choice(TEXTS)}
    count, values = draw.choice((0, 1, 3, 4, 2_001)), (*VALUES, 0.1, "l1", "linf", 3)
    own = {
        "attention": [draw.choice((0, 1 / max(1, count), 1, -1, 2))] * count,
        "action": draw.choice((*ACTIONS, "x")),
        "options": {draw.choice(OPTIONS): draw.choice(values) for _ in range(draw.randrange(3))},
    }
    content |= {name: value for name, value in own.items() if name in OWN.get(path, ())}
    if draw.random() < 0.5:
        content[draw.choice(FIELDS)] = draw.choice((*VALUES, *TEXTS))
    if draw.random() < 0.2:
        content.pop(draw.choice(FIELDS), None)
    written = json.dumps(content)
    return written.replace(": 0.5", f": {draw.choice(NUMBERS)}").encode()


def headers(draw: random.Random) -> dict[bytes, bytes]:
    """Headers, most often the right ones."""
    sent = {b"content-type": b"application/json", b"host": b"127.0.0.1:8642", b"authorization": b"token a-token"}
    if draw.random() < 0.05:
        sent |= draw.choice(
            (
                {b"content-type": b"text/plain"},
                {b"host": b"example.org"},
                {b"origin": b"null"},
                {b"authorization": b"", b"cookie": b'a="'},
                {b"authorization": b"token", b"cookie": b"\xff=\xff; heedful-8642"},
                {b"content-length": b"x"},
                {b"content-length": b"9" * 5_000},
                {b"content-type": b"\xff"},
            )
        )
    return sent


async def answer(app, path: str, body: bytes, sent: dict[bytes, bytes]) -> tuple[int, bytes]:
    """Status and body of the application's answer, called as a server calls it."""
    scope = {"type": "http", "method": "POST", "path": path, "headers": list(sent.items()), "query_string": b""}
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    answers = []

    async def receive():
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message):
        answers.append(message)

    await app({**scope, "http_version": "1.1", "scheme": "http", "root_path": "", "client": None}, receive, send)
    return answers[0]["status"], b"".join(message.get("body", b"") for message in answers)


@pytest.mark.slow
def test_no_bad_request_is_a_failure_of_ours(client, model):
    draw, seen = random.Random(0), Counter()
    models = [model(name).served.info.id for name in ("average", "three", "tanh", "hierarchical", "nli")]
    models = [*models, *models[:2], *models[3:], "nobody", ""]

    async def campaign() -> None:
        for number in range(COUNT):
            path = draw.choice(PATHS if number % 10 else SLOW)
            body = generated(draw, path, models)
            status, content = await answer(client.app, f"/api/{path}", body, headers(draw))
            seen[status] += 1
            assert status == 200 or 400 <= status < 500, (status, path, body[:300])
            if status != 200:
                told = json.loads(content)
                assert set(told) == {"error"} and len(told["error"]) < 1_000
                assert "Traceback" not in told["error"] and "model failed" not in told["error"], (path, body[:300])

    asyncio.run(campaign())
    assert {200, 400, 403, 404, 405, 413, 415, 422} <= set(seen) and seen[200] > COUNT / 20
    assert client.post("/api/read", json=model("average").request).status_code == 200
