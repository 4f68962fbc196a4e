"""Who may ask: only the person who started the server, from the page itself, and within limits.

Anything else on the machine, and any page in the same browser, can send requests to a port on loopback. So the Host
must be a loopback address (else a foreign name could be made to point here), the Origin must be the page's own, and
every request but the first must carry the cookie that the right token sets.
"""

import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heedful.server.contract import MOST_BYTES

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Policy of every response but the pages, which have their own."""
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Policy of the audit's report. A stricter one in the page allows its scripts alone, by their nonce."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
NAMES = ("127.0.0.1", "localhost", "[::1]")
METHODS = ("GET", "HEAD", "POST")
WITHOUT_TOKEN = "This page needs the token in the address that `heedful serve` printed. Open that address."


class Guard:
    """The application behind all checks; every response gets the security headers.

    Args:
        token: token that the first request must carry.
        port: on which the server listens.
    """

    def __init__(self, app: ASGIApp, token: str, port: int):
        self.app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}" for name in NAMES} | ({*NAMES} if port == 80 else set())
        self._origins = {f"http://{host}" for host in self._hosts}
        # Cookies are shared by all ports: two servers must not overwrite each other's.
        self._cookie = f"heedful-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    own.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope) or self._welcome(scope) or self._unknown(scope)
        if refusal is None:
            body = await read_body(receive)
            if body is not None:
                await self.app(scope, _replayed(body), guarded)
                return
            refusal = refused(413, _too_large())
        await refusal(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Refusal of a bad request, even with the right token."""
        if scope["method"] not in METHODS:
            return refused(405, f"the method must be one of {', '.join(METHODS)}; it was {scope['method']:.20}.")
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return refused(403, "Host must be the loopback address that `heedful serve` printed.")
        if any(origin.lower() not in self._origins for origin in origins):
            return refused(403, "Origin must be the page that `heedful serve` printed.")
        if any(site in ("cross-site", "same-site") for site in headers.getlist("sec-fetch-site")):
            is_link = scope["method"] == "GET" and scope["path"] == "/"
            if not is_link:
                return refused(403, "the request must come from the page itself; it came from another site.")
        if scope["method"] == "POST":
            return _check_body(headers)
        return None

    def _welcome(self, scope: Scope) -> Response | None:
        """The way in: the right token in the address becomes a cookie, and leaves the address."""
        if scope["path"] != "/" or scope["method"] == "POST":
            return None
        given = HTTPConnection(scope).query_params.get("token")
        if not given:
            return None
        if not self._is_token(given):
            return PlainTextResponse(WITHOUT_TOKEN, 403)
        response = Response(status_code=303, headers={"location": "/"})
        # A strict cookie would not go with the next request: `--open` comes here from a page of another origin.
        token = self._token.decode()
        response.set_cookie(self._cookie, token, path="/", httponly=True, samesite="lax")
        return response

    def _unknown(self, scope: Scope) -> Response | None:
        """Refusal of a request whose cookie and header lack the token."""
        request = HTTPConnection(scope)
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        tokens = [request.cookies.get(self._cookie, ""), given.strip() if kind.lower() == "token" else ""]
        if any(map(self._is_token, tokens)):
            return None
        is_page = scope["path"] == "/" and scope["method"] != "POST"
        return PlainTextResponse(WITHOUT_TOKEN, 403) if is_page else refused(403, WITHOUT_TOKEN)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)


def refused(status: int, sentence: str) -> JSONResponse:
    """A refusal, as every error is."""
    return JSONResponse({"error": sentence}, status)


async def read_body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too large, whatever its headers say."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes) -> Receive:
    """A receiver that returns the body once, and then a disconnect."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def _check_body(headers: Headers) -> Response | None:
    """Refuse a body whose headers say that it is too large or is not JSON."""
    kinds = [value.partition(";")[0].strip().lower() for value in headers.getlist("content-type")]
    if kinds != ["application/json"]:
        return refused(415, "Content-Type must be application/json.")
    for length in headers.getlist("content-length"):
        if not length.isascii() or not length.isdigit():
            return refused(400, "Content-Length must be a number.")
        if len(length) > 12 or int(length) > MOST_BYTES:
            return refused(413, _too_large())
    return None


def _too_large() -> str:
    return f"the body must have at most {MOST_BYTES:,} bytes; it has more. Send a shorter text."
