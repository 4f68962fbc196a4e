"""The live page's server through HTTP: how long reading and dragging take, and whether twenty clients at once lose any.

    python benchmarks/server.py [--runs FOLDER] [--words 50] [--requests 1000] [--clients 20]

Starts `heedful serve` as a process of its own, with the demonstration models (trained first where FOLDER has them not).
Every text is a new one, so that none is answered from memory.
"""

import argparse
import http.client
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import local
from typing import Any

GOAL = 100.0
"""Milliseconds within which 95 of 100 texts of 50 words are to be read."""
OPINIONS = ("good", "bad", "horrible", "peaceful", "lousy", "pleased", "stale", "worthy", "exciting", "defective")


@dataclass(frozen=True)
class Server:
    """A running server, and how to ask it."""

    port: int
    token: str
    models: list[str]

    def post(self, connection: http.client.HTTPConnection, path: str, content: dict[str, Any]) -> tuple[int, Any]:
        """Status and content of the answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"token {self.token}"}
        connection.request("POST", f"/api/{path}", json.dumps(content), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def connect(self) -> http.client.HTTPConnection:
        """A connection that stays."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)


@contextmanager
def serving(runs: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "heedful", "serve", "--port", "0", "--json", "--runs", runs]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.strip() == "}":
                break
        document = json.loads("".join(lines))
        yield Server(document["port"], document["token"], document["models"])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


def texts(words: int, seed: int) -> Iterator[str]:
    """New texts of so many words: opinions among fillers, as in mock-1."""
    draw = random.Random(seed)
    while True:
        yield " ".join(draw.choice(OPINIONS) if draw.random() < 0.3 else "filler" for _ in range(words))


def p95_of(milliseconds: list[float]) -> float:
    return statistics.quantiles(milliseconds, n=20, method="inclusive")[-1]


def summary(milliseconds: list[float]) -> str:
    p50, p95 = statistics.median(milliseconds), p95_of(milliseconds)
    return f"p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   ({len(milliseconds)} requests)"


def verdict(milliseconds: list[float]) -> str:
    return f"   p95 under {GOAL:.0f} ms: {'yes' if p95_of(milliseconds) < GOAL else 'NO'}"


def timed(server: Server, model: str, words: int, count: int) -> dict[str, list[float]]:
    """Milliseconds of reading, whole and quick, and of dragging, one request after the other."""
    connection, source = server.connect(), texts(words, seed=len(model) + words)
    took: dict[str, list[float]] = {"read": [], "read, quick": [], "decode": []}
    for number in range(count + 5):
        for name, quick in (("read", False), ("read, quick", True)):
            content = {"model": model, "text": next(source), "is_quick": quick}
            began = time.perf_counter()
            status, state = server.post(connection, "read", content)
            if number >= 5:
                took[name].append(1_000 * (time.perf_counter() - began))
            assert status == 200, state
        content.pop("is_quick")
        content["attention"] = [1 / words] * words
        began = time.perf_counter()
        status, answer = server.post(connection, "decode", content)
        if number >= 5:
            took["decode"].append(1_000 * (time.perf_counter() - began))
        assert status == 200, answer
    return took


def at_once(server: Server, words: int, requests: int, clients: int) -> tuple[Counter[str], list[float], float]:
    """What became of so many requests from so many clients at once, how long each took, and all of them."""
    source, own = texts(words, seed=1), local()
    jobs = [(server.models[number % len(server.models)], next(source)) for number in range(requests)]

    def ask(job: tuple[str, str]) -> tuple[str, float]:
        began = time.perf_counter()
        try:
            if not hasattr(own, "connection"):
                own.connection = server.connect()
            status, state = server.post(own.connection, "read", {"model": job[0], "text": job[1], "is_quick": True})
            outcome = "answered" if status == 200 and state["text"] == job[1] else f"status {status}"
        except (OSError, http.client.HTTPException) as error:
            outcome = f"lost: {type(error).__name__}"
            del own.connection
        return outcome, 1_000 * (time.perf_counter() - began)

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        done = list(pool.map(ask, jobs))
    return Counter(outcome for outcome, _ in done), [took for _, took in done], time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", default="")
    parser.add_argument("--words", type=int, default=50)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--clients", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(given.runs or folder) as server:
        print(f"one client, texts of {given.words} words, each a new one")
        for model, name in zip(server.models, ("average", "bilstm"), strict=True):
            for what, took in timed(server, model, given.words, given.count).items():
                print(f"  {name:8} {what:12} {summary(took)}{verdict(took)}")
        outcomes, took, seconds = at_once(server, given.words, given.requests, given.clients)
        print(
            f"{given.requests} requests from {given.clients} clients at once: {given.requests / seconds:.0f} a second"
        )
        print(f"  {dict(outcomes)}")
        print(f"  {summary(took)}")
        if set(outcomes) != {"answered"}:
            sys.exit("some requests were lost")


if __name__ == "__main__":
    main()
