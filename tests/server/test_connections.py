"""Connections that wait for nothing are closed, and never keep others from the page."""

import asyncio
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from heedful.cli.serve import listen
from heedful.server import connections
from heedful.server.connections import server_of

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def hello(scope, receive, send):
    """An application that answers everything with a word, /slow after a while."""
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@contextmanager
def serving():
    """The port of a server whose connections are bounded."""
    with listen(0) as listening:
        server = server_of(hello, "error")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1], server.server_state
        finally:
            server.should_exit = True
            thread.join(timeout=10)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def answer(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"hello") and (part := connection.recv(1000)):
        received += part
    return received


def is_closed(connection: socket.socket) -> bool:
    """Whether the server ends the connection, within the time that the socket waits."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_connection_without_whole_headers_is_closed(monkeypatch):
    for sent in [b"", b"GET / HT", GET[:-2], GET + GET[:9]]:
        monkeypatch.setattr(connections, "PATIENCE", 0.3)
        with serving() as (port, _), connected(port) as connection:
            connection.sendall(sent)
            if sent.startswith(GET):
                assert answer(connection).endswith(b"hello")
            start = time.monotonic()
            assert is_closed(connection) and time.monotonic() - start < 3


def test_a_slow_answer_is_awaited(monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.1)
    with serving() as (port, _), connected(port) as connection:
        connection.sendall(GET.replace(b"/", b"/slow", 1))
        assert answer(connection).endswith(b"hello")


def test_many_idle_connections_keep_nobody_out_and_the_oldest_make_room(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    with serving() as (port, state):
        idle = [connected(port) for _ in range(40)]
        with connected(port) as connection:
            connection.sendall(GET)
            assert answer(connection).endswith(b"hello")
            assert len(state.connections) <= 8
        assert is_closed(idle[0])
        for each in idle:
            each.close()


FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (224, 224))
from heedful.cli.serve import listen
from heedful.server.connections import server_of

async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})

with listen(0) as listening:
    print(listening.getsockname()[1], flush=True)
    server_of(hello).run(sockets=[listening])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_more_connections_than_files_can_be_open_do_not_stop_the_server():
    with subprocess.Popen([sys.executable, "-c", FEW_FILES], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        idle = [connected(port) for _ in range(300)]
        start = time.monotonic()
        with connected(port) as connection:
            connection.sendall(GET)
            assert answer(connection).endswith(b"hello")
        assert time.monotonic() - start < connections.PATIENCE - 3, "it did not wait for their end"
        for each in idle:
            each.close()
        process.terminate()
