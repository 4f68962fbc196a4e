"""Connections to the live page: limited in number, and closed if they stay without a request."""

import asyncio

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 128
"""More could use up the files that a process can open; a browser opens six."""
PATIENCE = 10.0
"""Seconds in which a connection must have sent the headers of a request, or of the next one."""


BACKLOG = 64
"""Connections that are accepted at a time: all of them are open before the first of them can be closed."""
GRACE = 2
"""Seconds that requests have to end when the server is stopped."""


def server_of(app: ASGIApp, log_level: str = "warning") -> uvicorn.Server:
    """A server of the application. It logs no requests, which have texts and the token in them."""
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        backlog=BACKLOG,
        access_log=False,
        log_level=log_level,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


class BoundedProtocol(H11Protocol):
    """HTTP of connections that are closed while they only wait: after some seconds, or to make room for a new one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take the connection, in place of the one that has waited longest if there are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, BoundedProtocol) and each.is_waiting]
            oldest = min(waiting, key=lambda each: each.deadline.when(), default=self)
            oldest.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.deadline.cancel()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.deadline.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.deadline = self.loop.call_later(PATIENCE, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        if self.is_waiting:
            self.transport.abort()
