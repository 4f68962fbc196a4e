"""`heedful serve`: the address it prints, its refusals, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heedful.__main__ import main
from heedful.cli import app, serve
from heedful.store.store import Store
from heedful.training.loop import train
from support.refusals import assert_refused
from support.runs import changed, toy


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with a finished run."""
    place = tmp_path_factory.mktemp("serve")
    Store(place / "runs").save(train(changed(data__source="toy.csv", training__epochs=1), toy()))
    return place


@pytest.fixture
def key(root, monkeypatch):
    monkeypatch.chdir(root)
    return next((root / "runs").iterdir()).name


@pytest.fixture
def served(monkeypatch):
    """What would be served: the application and its socket."""
    calls = []
    monkeypatch.setattr(serve, "run_server", lambda app, listening: calls.append((app, listening.getsockname())))
    return calls


def invoke(*arguments):
    result = CliRunner().invoke(app, ["serve", "--port", "0", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_it_prints_the_address_with_a_token_of_its_own(key, served):
    result = invoke(key[:8])
    ((_, (host, port)),) = served
    assert host == "127.0.0.1" and f"open http://127.0.0.1:{port}/?token=" in result.output
    assert key in result.output and "has no audit" in result.output
    first, document = (json.loads(invoke(key, "--json").stdout) for _ in range(2))
    assert document["models"] == [key] and document["token"] in document["address"] and len(document["token"]) >= 32
    assert str(document["port"]) in document["address"] and first["token"] != document["token"]
    assert invoke(key, "--quiet").stdout.startswith("http://127.0.0.1:")


def test_open_opens_a_page_of_this_user_alone_that_leads_to_the_address(key, served, monkeypatch):
    """Every user of the machine can read the arguments of a process, so the token is not among them."""
    opened = []

    def browse(address):
        page = Path(address.removeprefix("file://"))
        opened.append((address, page, page.stat().st_mode & 0o777, page.read_text(encoding="utf-8")))

    monkeypatch.setattr("webbrowser.open", browse)
    invoke(key)
    assert not opened
    document = json.loads(invoke(key, "--open", "--json").stdout)
    ((address, page, mode, content),) = opened
    assert mode == 0o600 and document["token"] not in address
    assert f'http-equiv="refresh" content="0; url={document["address"]}"' in content
    assert not page.exists() and not page.parent.exists(), "it is deleted when the server ends"


def test_without_a_model_the_demonstration_is_trained(root, served, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    small = [changed(data__train_limit=60, data__test_limit=20, training__epochs=1, seed=seed) for seed in (0, 1)]
    monkeypatch.setattr(serve, "demonstration", lambda seed: small)
    document = json.loads(invoke("--json").stdout)
    assert len(document["models"]) == 2
    assert {place.name for place in (tmp_path / "runs").iterdir()} == set(document["models"])


def test_what_cannot_be_served_is_a_sentence(key, served):
    for arguments, said in (
        (["zzz", "--port", "0"], "there is no model 'zzz'"),
        ([""], "there is no model ''"),
        (["--device", "none"], "--device"),
    ):
        assert_refused(["serve", "--port", "0", *arguments], said)


def test_a_port_that_is_taken_is_a_sentence(key, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(sys, "argv", ["heedful", "serve", key, "--port", str(port)])
        with pytest.raises(SystemExit) as left:
            main()
    error = capsys.readouterr().err
    assert left.value.code == 2 and f"{port} cannot be used" in error and "--port" in error


def test_answers_do_not_wait_for_small_packets():
    """asyncio sends at once only on sockets whose protocol is named; else each answer takes 40 ms more."""
    with serve.listen(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP and listening.getsockname()[0] == "127.0.0.1"


@pytest.mark.slow
def test_ctrl_c_ends_it_cleanly(key, root):
    command = [sys.executable, "-m", "heedful", "serve", key, "--port", "0", "--json"]
    running = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    guard = threading.Timer(100, running.kill)
    guard.start()
    try:
        lines = []
        while "}" not in lines[-1:]:
            lines.append(running.stdout.readline().strip())
        document = json.loads("\n".join(lines))
        request = urllib.request.Request(
            f"http://127.0.0.1:{document['port']}/api/read",
            data=json.dumps({"model": key, "text": "good film"}).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"token {document['token']}"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.load(response)["words"][0]["text"] == "good"
        began = time.monotonic()
        os.kill(running.pid, signal.SIGINT)
        _, error = running.communicate(timeout=60)
        assert running.returncode == 0 and "Traceback" not in error and "stopped." in error
        assert time.monotonic() - began < 30
    finally:
        guard.cancel()
        running.kill()
        running.wait()
