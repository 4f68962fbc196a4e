"""A web server on loopback that can break off, forget ranges, and change its files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class FileServer:
    """What is served, how, and what was asked for.

    Args:
        files: content by path.
        cut_after: break the connection off after so many bytes of an answer.
        knows_ranges: whether a part of a file can be asked for.
        tags: the ETag of each path; empty for none.
        asked: the path and the Range of each request.
    """

    files: dict[str, bytes]
    cut_after: int | None = None
    knows_ranges: bool = True
    tags: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""


@contextmanager
def serve(server: FileServer) -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            server.asked.append((self.path, wanted))
            content = server.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            tag, start = server.tags.get(self.path, ""), 0
            is_same = self.headers.get("If-Range", tag) == tag
            if wanted and server.knows_ranges and is_same:
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            if tag:
                self.send_header("ETag", tag)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:][: server.cut_after])
            if server.cut_after is not None:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.address = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
