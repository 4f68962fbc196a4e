"""A web server on loopback that can break off."""

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
        asked: the path of each request.
        resumes: whether ranges of bytes are served.
        starts: the first byte that each request asked for.
    """

    files: dict[str, bytes]
    cut_after: int | None = None
    asked: list[str] = field(default_factory=list)
    address: str = ""
    resumes: bool = True
    starts: list[int] = field(default_factory=list)


@contextmanager
def serve(server: FileServer) -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.asked.append(self.path)
            content = server.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            first = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            if first >= len(content) and server.resumes:
                self.send_error(416)
                return
            content = content[first if server.resumes else 0 :]
            server.starts.append(first)
            self.send_response(206 if server.resumes and first else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: server.cut_after])
            self.close_connection = server.cut_after is not None

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
