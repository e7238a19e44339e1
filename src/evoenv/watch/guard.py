"""Who may ask: the right Host, no foreign Origin, the token if there is one, small bodies; and what a browser may do.

A page on the web can make a browser send requests to this server. It cannot choose the Host header freely (a name that
was rebound to this machine is still that name), it cannot hide its Origin, and it does not know the token. So all three
are looked at, for every request.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_AT_MOST = 64 * 1024
TARGET_AT_MOST = 8 * 1024
"""Bytes of a path with its query."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """Say whether an address that is listened on can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """Return the name or address in a Host header, without the port, in lower case."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text


class Guard:
    """Refuses requests that should not be answered, before anything else sees them."""

    def __init__(self, app: ASGIApp, *, host: str, port: int, token: str | None, names: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token
        self._cookie = f"evoenv-watch-{port}"
        self._names = {*LOOPBACK, host.lower(), *(name.lower() for name in names)}
        self._any_address = not is_loopback(host)
        if self._any_address:
            self._names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None and scope["method"] == "POST":
            body = await _body(receive)
            if body is None:
                refusal = _refuse(413, f"the body is larger than {BODY_AT_MOST} bytes")
            else:
                receive = _replay(body, receive)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    sent[name] = value
                sent.setdefault("cache-control", "no-store")
                if self._token is not None and self._given_in_address(scope):
                    sent.append("set-cookie", f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/")
            await send(message)

        await (refusal or self._app)(scope, receive, answer)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > TARGET_AT_MOST:
            return _refuse(414, "the address is too long")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(host_of(hosts[0])):
            return _refuse(421, "this server is not called that; open the address that `evoenv watch` printed")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{hosts[0].strip().lower()}":
            return _refuse(403, "requests from other sites are not answered")
        api = str(scope["path"]).startswith("/api/")
        if api and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _refuse(403, "requests from other sites are not answered")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refuse(405, "only GET and POST are answered")
        if scope["method"] == "POST":
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return _refuse(415, "send JSON")
            try:
                length = int(headers.get("content-length", "0"))
            except ValueError:
                return _refuse(400, "content-length is not a number")
            if length > BODY_AT_MOST:
                return _refuse(413, f"the body has {length} bytes; expected {BODY_AT_MOST} at most")
        if self._token is not None and not self._has_token(scope, headers):
            return _refuse(
                401, "the token is missing or wrong; open the whole address that `evoenv watch` printed, token included"
            )
        return None

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        if not self._any_address:
            return False
        try:  # a rebound name is a name: addresses themselves are safe
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _given_in_address(self, scope: Scope) -> bool:
        values = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return any(self._is_token(value) for value in values)

    def _is_token(self, value: str) -> bool:
        return self._token is not None and hmac.compare_digest(value.encode(), self._token.encode())

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        if self._given_in_address(scope):
            return True
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(value.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)


async def _body(receive: Receive) -> bytes | None:
    """Read a body whatever its length header says; None if it is larger than allowed."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > BODY_AT_MOST:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to whoever reads it next, and then what else is received."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _refuse(status: int, words: str) -> Response:
    return PlainTextResponse(words + "\n", status_code=status)
