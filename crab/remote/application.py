"""What an environment server does with an HTTP request: who may ask, what is asked, and the answer.

A plain ASGI callable. Everything that is refused is refused before the environment hears of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import platform
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from crab.environment import Environment
from crab.errors import (
    CrabError,
    DeadlineExceeded,
    DefinitionError,
    EnvironmentFailure,
    HandshakeRefused,
    RemoteError,
    RequestRejected,
)
from crab.remote.address import same_token
from crab.remote.calls import ServerCall, perform, read_call
from crab.remote.ledger import Ledger
from crab.remote.protocol import (
    JSON_TYPE,
    PROTOCOL_VERSION,
    REPLY_LIMIT,
    REQUEST_LIMIT,
    VERBS,
    Reply,
    encode_description,
    encode_error,
    encode_result,
    operations_digest,
    package_version,
)
from crab.remote.values import load
from crab.remote.worker import DeviceThread, Job

CLOSE_PATIENCE = 2.0
"""Seconds that `close` waits for the call that has the device, before it closes beside it."""

ASKING = frozenset({"probe", "observe", "health"})
"""Verbs that change nothing on the device."""

DRAINED_BYTES = 1024 * 1024
"""Size up to which the body of a refused request is read away, so that the connection stays usable."""

_log = logging.getLogger("crab.remote.server")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class ServerLimits:
    """What a server accepts and gives.

    Attributes:
        request_bytes: In a request's body, at most.
        reply_bytes: In a reply's body, at most.
    """

    request_bytes: int = REQUEST_LIMIT
    reply_bytes: int = REPLY_LIMIT


class _Refused(Exception):
    """Ends a request that never reaches the environment."""

    def __init__(self, status: int, error: CrabError) -> None:
        super().__init__(str(error))
        self.reply = encode_error(error, status)


class Application:
    """Answers requests for one environment; made and used on a running event loop.

    Args:
        environment: What is served; used on one thread only, except that `close` may come while a call hangs.
        token: What clients must show, or None on a Unix socket.
        hosts: Names that may stand in a Host header beside IP literals and ``localhost``.
        limits: Sizes.
    """

    def __init__(self, environment: Environment, *, token: str | None, hosts: Iterable[str], limits: ServerLimits):
        self._environment = environment
        self._token = token
        self._hosts = frozenset(host.lower() for host in hosts) | {"localhost"}
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._thread = DeviceThread(self._loop)
        self._ledger = Ledger()
        self._closing: asyncio.Task[Reply] | None = None
        description = environment.describe()
        self._kind = description.kind
        try:
            self._description = encode_result(encode_description(description))
        except ValueError as error:
            raise DefinitionError(f"{self._kind}: its description cannot be sent: {error}") from error
        self._digest = operations_digest(description)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        try:
            reply = await self._answer(scope, headers, receive)
        except _Refused as refused:
            reply = refused.reply
            _log.info("refused: %s", reply.outcome)
        except asyncio.CancelledError:
            # The server ends; swallowed, because the client is still owed an answer.
            reply = encode_error(EnvironmentFailure(f"{self._kind}: the server ended during the call"))
        start: Message = {
            "type": "http.response.start",
            "status": reply.status,
            "headers": [
                (b"content-type", reply.content_type.encode()),
                (b"content-length", str(len(reply.body)).encode()),
                (b"cache-control", b"no-store"),
            ],
        }
        if reply.status != 200 and not _is_small(headers):
            start["headers"].append((b"connection", b"close"))
        await send(start)
        await send({"type": "http.response.body", "body": reply.body})

    async def close(self, seconds: float) -> Reply:
        """Closes the environment once, waiting for a call in progress only for `CLOSE_PATIENCE`.

        Args:
            seconds: After which the reply is an `EnvironmentFailure`, while closing goes on.
        """
        if self._closing is None:
            self._closing = self._loop.create_task(self._close_once())
        await asyncio.wait({self._closing}, timeout=seconds)
        if self._closing.done():
            return self._closing.result()
        return encode_error(EnvironmentFailure(f"{self._kind}: close did not end within {seconds:g} s"))

    def stop(self) -> None:
        """Lets the device's thread end."""
        self._thread.stop()

    async def _answer(self, scope: Message, headers: list[tuple[bytes, bytes]], receive: Receive) -> Reply:
        self._require_welcome(headers)
        path: str = scope["path"]
        verb = path.removeprefix("/call/")
        if path != "/handshake" and (verb == path or verb not in VERBS):
            raise _Refused(404, RequestRejected(f"unknown verb {path[:80]!r}; known are: {', '.join(VERBS)}"))
        if scope["method"] != "POST":
            raise _Refused(405, RequestRejected(f"{path}: the method is POST"))
        if _values(headers, b"content-type") != [JSON_TYPE.encode()]:
            raise _Refused(415, RequestRejected(f"{path}: the content type is {JSON_TYPE}"))
        body = await self._read(headers, receive)
        try:
            document = load(body)
        except ValueError as error:
            raise _Refused(400, RequestRejected(f"{path}: the body is not JSON as agreed: {error}")) from error
        if path == "/handshake":
            return self._shake_hands(document)
        try:
            call = read_call(verb, document)
            digest = hashlib.sha256(verb.encode() + b"\n" + body).digest()
            task = self._ledger.claim(
                call.session, call.number, digest, lambda: self._loop.create_task(self._carry_out(call))
            )
        except RequestRejected as error:
            raise _Refused(400, error) from error
        # A client that goes away does not stop what it asked for; it may come back with the same number.
        return await asyncio.shield(task)

    def _require_welcome(self, headers: list[tuple[bytes, bytes]]) -> None:
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or not self._is_own_host(hosts[0]):
            # A page that has its own name resolve to this machine still says that name here.
            raise _Refused(
                403, RequestRejected("the Host header names another machine", fix="use the server's address")
            )
        if _values(headers, b"origin"):
            raise _Refused(403, RequestRejected("a request with an Origin header comes from a web page: refused"))
        if self._token is None:
            return
        given = _values(headers, b"authorization")
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if not same_token(self._token, token) or scheme.lower() != b"bearer":
            what = "a wrong token" if given else "no token"
            raise _Refused(401, HandshakeRefused(f"the server was given {what}", fix="use the token of its last start"))

    def _is_own_host(self, value: bytes) -> bool:
        text = value.decode("latin-1").lower()
        try:
            # An IP literal cannot have been made to resolve to this machine by anybody.
            if text.startswith("["):
                ipaddress.IPv6Address(text[1:].partition("]")[0])
                return "]" in text
            name = text.partition(":")[0]
            return name in self._hosts or bool(ipaddress.IPv4Address(name))
        except ValueError:
            return False

    async def _read(self, headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
        limit = self._limits.request_bytes
        sizes = _values(headers, b"content-length")
        too_large = _Refused(413, RequestRejected(f"the request has more than {limit} bytes"))
        if sizes and int(sizes[0]) > limit:
            raise too_large
        parts: list[bytes] = []
        total = 0
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise _Refused(400, RequestRejected("the request was cut short"))
            parts.append(message.get("body", b""))
            total += len(parts[-1])
            if total > limit:
                raise too_large
            more = message.get("more_body", False)
        return b"".join(parts)

    def _shake_hands(self, document: Any) -> Reply:
        theirs = document.get("protocol") if isinstance(document, dict) else None
        if theirs != PROTOCOL_VERSION:
            error = HandshakeRefused(
                f"the client speaks protocol {str(theirs)[:20]}, the server protocol {PROTOCOL_VERSION}",
                fix="install the same version of crab-eval on both sides",
            )
            raise _Refused(409, error)
        return encode_result(
            {
                "protocol": PROTOCOL_VERSION,
                "crab": package_version(),
                "python": platform.python_version(),
                "kind": self._kind,
                "operations": self._digest,
                "session": self._ledger.open(),
                "request_bytes": self._limits.request_bytes,
            }
        )

    async def _carry_out(self, call: ServerCall) -> Reply:
        started = time.monotonic()
        try:
            reply = await self._dispatch(call)
        except Exception as error:  # noqa: BLE001 - a mistake of ours must reach the client as an answer
            reply = encode_error(RemoteError(f"{call.label}: the server failed: {type(error).__name__}: {error}"))
        if len(reply.body) > self._limits.reply_bytes:
            reply = encode_error(
                RequestRejected(
                    f"{call.label}: the reply has {len(reply.body)} bytes, more than {self._limits.reply_bytes}"
                )
            )
        _log.info(
            "client %d: %s: %s, %.1f ms, %d bytes",
            self._ledger.client(call.session),
            call.label,
            reply.outcome,
            (time.monotonic() - started) * 1000,
            len(reply.body),
        )
        return reply

    async def _dispatch(self, call: ServerCall) -> Reply:
        if call.verb == "describe":
            return self._description
        if call.verb == "close":
            return await self.close(call.seconds)
        if call.verb == "health":
            return await self._health(call)
        holder = self._thread.current()
        if holder is not None and holder.verb not in ASKING and _overdue(holder):
            # A late answer only delays; after an act that does not return there is nothing to wait for.
            return encode_error(_late(call, f"{holder.label} has not returned"))
        job = self._submit(call)
        await asyncio.wait({job.future}, timeout=call.seconds)
        if job.future.done():
            return job.future.result()
        if self._thread.abandon(job):
            return encode_error(_late(call, f"not carried out within {call.seconds:g} s, the device was busy"))
        return encode_error(_late(call, f"no answer within {call.seconds:g} s"))

    async def _health(self, call: ServerCall) -> Reply:
        if self._closing is not None:
            return encode_result("closed")
        if not self._thread.idle:
            # The device is used by one thread only, so it is not asked while it is busy.
            holder = self._thread.current()
            late = holder is not None and _overdue(holder)
            return encode_result(f"{holder.label} has not returned in time" if holder and late else None)
        job = self._submit(call)
        await asyncio.wait({job.future}, timeout=call.seconds)
        return job.future.result() if job.future.done() else encode_result(f"no answer within {call.seconds:g} s")

    async def _close_once(self) -> Reply:
        call = ServerCall("close", {}, "", 1, CLOSE_PATIENCE)
        job = self._submit(call)
        await asyncio.wait({job.future}, timeout=CLOSE_PATIENCE)
        if not job.future.done() and self._thread.abandon(job):
            beside = DeviceThread(self._loop)
            job = beside.submit(
                "close", "close", lambda: perform(self._environment, call, CLOSE_PATIENCE), CLOSE_PATIENCE
            )
            beside.stop()
        return await job.future

    def _submit(self, call: ServerCall) -> Job:
        due = time.monotonic() + call.seconds

        def work() -> Reply:
            return perform(self._environment, call, max(due - time.monotonic(), 0.001))

        return self._thread.submit(call.verb, call.label, work, call.seconds)


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _is_small(headers: list[tuple[bytes, bytes]]) -> bool:
    sizes = _values(headers, b"content-length")
    return len(sizes) == 1 and int(sizes[0]) <= DRAINED_BYTES


def _overdue(job: Job) -> bool:
    return time.monotonic() > job.due


def _late(call: ServerCall, reason: str) -> CrabError:
    kind = DeadlineExceeded if call.verb == "probe" else EnvironmentFailure
    return kind(f"{call.label}: {reason}", fix="close the environment and start a new one")
