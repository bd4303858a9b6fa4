"""The page's side of the conversation: who may ask, and what is answered. A plain ASGI callable.

Whoever holds this address can move the devices, so every request must carry the token in its path, name this server as
its host, and come from this page where it says where it comes from; a request that changes something must say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from crab.errors import UsageError
from crab.play.gestures import read_gesture
from crab.play.session import Session
from crab.remote.address import Address, same_token

REQUEST_BYTES = 256 * 1024
"""In a request's body, at most."""

POLL_SECONDS = 20.0
"""How long a page that knows the present state waits for another one."""

JSON = "application/json"

ASSETS = {
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "": ("play.html", "text/html; charset=utf-8"),
    "play.css": ("play.css", "text/css; charset=utf-8"),
    "play.js": ("play.js", "text/javascript; charset=utf-8"),
}
"""File and media type by the last part of the address."""

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""Of every answer: nothing is fetched from elsewhere, and no other page can hold or read this one."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Pairs = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class _Reply:
    status: int
    body: bytes
    content_type: str = JSON


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.reply = _json({"error": reason}, status)


class PageApplication:
    """Answers the page's requests; made and used on a running event loop.

    Args:
        session: What is shown, and where gestures go.
        address: Where the page is served, with its token.
    """

    def __init__(self, session: Session, address: Address) -> None:
        self._session = session
        self._token = address.token or ""
        self._hosts = {f"{name}:{address.port}".encode() for name in (address.host, "localhost")}
        self._change = asyncio.Event()
        loop = asyncio.get_running_loop()

        def changed() -> None:
            # The loop is closed once the page is no longer served.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._change.set)

        session.listen(changed)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return
        try:
            reply = await self._answer(scope, receive)
        except _Refused as refused:
            reply = refused.reply
        headers = {**HEADERS, "content-type": reply.content_type, "content-length": str(len(reply.body))}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        if reply.status != 200:
            # Whatever else the refused request holds is not read.
            pairs.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})

    async def _answer(self, scope: Message, receive: Receive) -> _Reply:
        headers: Pairs = scope["headers"]
        method: str = scope["method"]
        self._require_own_page(headers, changes=method not in ("GET", "HEAD"))
        token, slash, name = scope["path"].removeprefix("/").partition("/")
        if not slash or not same_token(self._token, token.encode()):
            raise _Refused(403, "this address does not hold the token that `crab play` printed")
        if name == "act":
            if method != "POST":
                raise _Refused(405, "the method is POST")
            return await self._act(headers, receive)
        if method not in ("GET", "HEAD"):
            raise _Refused(405, "the method is GET")
        if name == "state":
            return await self._state(scope["query_string"])
        if name == "seen":
            self._session.told.set()
            return _json({})
        if name in ASSETS:
            file, content_type = ASSETS[name]
            return _Reply(200, files("crab.play").joinpath("assets", file).read_bytes(), content_type)
        frame = self._session.picture(name.removeprefix("pictures/"))
        if frame is None:
            raise _Refused(404, "there is nothing here")
        return _Reply(200, frame.data, frame.media_type)

    def _require_own_page(self, headers: Pairs, *, changes: bool) -> None:
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            # A page that has its own name resolve to this machine still says that name here.
            raise _Refused(403, "the Host header names another server")
        origins = _values(headers, b"origin")
        if origins != [b"http://" + hosts[0]] and (origins or changes):
            raise _Refused(403, "the request comes from another page")

    async def _state(self, query: bytes) -> _Reply:
        known = parse_qs(query.decode("latin-1")).get("after", [""])[0]
        self._session.opened = True
        after = int(known) if known.isdecimal() and len(known) < 16 else 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                while self._session.version <= after:
                    self._change.clear()
                    await self._change.wait()
        return _json(self._session.document())

    async def _act(self, headers: Pairs, receive: Receive) -> _Reply:
        if _values(headers, b"content-type") != [JSON.encode()]:
            raise _Refused(415, f"the content type is {JSON}")
        body = await _read(receive)
        try:
            self._session.act(read_gesture(body))
        except UsageError as error:
            raise _Refused(400, str(error)) from None
        return _json({})


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Refused(400, "the request was cut short")
        body += message.get("body", b"")
        if len(body) > REQUEST_BYTES:
            raise _Refused(413, f"the request has more than {REQUEST_BYTES} bytes")
        if not message.get("more_body", False):
            return bytes(body)


def _values(headers: Pairs, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _json(document: Any, status: int = 200) -> _Reply:
    # Half a surrogate pair, which a device may answer with, has an escape in ASCII but no bytes in UTF-8.
    return _Reply(status, json.dumps(document, separators=(",", ":")).encode("ascii"))
