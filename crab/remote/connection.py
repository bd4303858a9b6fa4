"""HTTP to one server over connections that are kept open.

Written on `http.client` of the standard library: see docs/decisions/0004-remote-client.md.
"""

from __future__ import annotations

import contextlib
import socket as sockets
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crab.errors import RemoteError, RequestRejected, Unreachable
from crab.remote.address import Address
from crab.remote.protocol import JSON_TYPE, REPLY_LIMIT

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

CHUNK = 1024 * 1024
"""Bytes read at a time; between two reads the deadline is looked at."""


class _Broken(Exception):
    """The connection ended before the reply did."""


@dataclass(frozen=True)
class Response:
    """What came back: status, content type without parameters, and the whole body."""

    status: int
    content_type: str
    body: bytes


class Connections:
    """Sends requests to one server; safe to use from several threads.

    Args:
        address: Where it is, with the token it wants.
        reply_limit: Bytes in a reply, at most.
    """

    def __init__(self, address: Address, reply_limit: int = REPLY_LIMIT) -> None:
        self.address = address
        self._reply_limit = reply_limit
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()
        self._open = True
        self._headers = {"Content-Type": JSON_TYPE, "User-Agent": "crab"}
        if address.token is not None:
            self._headers["Authorization"] = f"Bearer {address.token}"

    def post(self, path: str, body: bytes, seconds: float) -> Response:
        """Sends a request and returns the response; when the connection breaks, sends the same bytes once more.

        Args:
            path: For example ``/call/act``.
            body: JSON that the server carries out once, however often it comes.
            seconds: For everything, connecting included.

        Raises:
            Unreachable: Nobody answers at the address, or the connection broke twice.
            TimeoutError: There was no complete response in time.
            RequestRejected: The reply is larger than the limit.
            RemoteError: What answers is no environment server.
        """
        deadline = time.monotonic() + seconds
        with contextlib.suppress(_Broken):
            return self._exchange(self._take(), path, body, deadline)
        try:
            return self._exchange(None, path, body, deadline)
        except _Broken as error:
            raise Unreachable(
                f"the server at {self.address} broke the connection twice: {error}",
                fix="look at the server's log",
            ) from error

    def close(self) -> None:
        """Closes every connection, those in use as soon as they are not."""
        with self._lock:
            self._open = False
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _exchange(self, connection: HTTPConnection | None, path: str, body: bytes, deadline: float) -> Response:
        from http.client import HTTPException

        connection = connection or self._connect(deadline)
        try:
            response = self._send(connection, path, body, deadline)
        except TimeoutError:
            connection.close()
            raise
        except (OSError, HTTPException, ValueError) as error:
            connection.close()
            raise _Broken(f"{type(error).__name__}: {error}") from error
        except BaseException:
            # An interrupt in the middle: what is left on this connection belongs to nobody.
            connection.close()
            raise
        return response

    def _send(self, connection: HTTPConnection, path: str, body: bytes, deadline: float) -> Response:
        connection.sock.settimeout(_left(deadline))
        connection.request("POST", path, body, self._headers)
        # Closed in any case: of a connection that ends with the response, the response is all that is left.
        with contextlib.closing(connection.getresponse()) as response:
            body = self._read(response, connection, deadline)
        with self._lock:
            reusable = self._open and not response.will_close
            if reusable:
                self._idle.append(connection)
        if not reusable:
            connection.close()
        return Response(response.status, response.headers.get_content_type(), body)

    def _read(self, response: HTTPResponse, connection: HTTPConnection, deadline: float) -> bytes:
        length = response.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise RemoteError(f"what answers at {self.address} is no environment server", fix="check the address")
        missing = int(length)
        if missing > self._reply_limit:
            raise RequestRejected(f"{self.address} sent a reply of {missing} bytes, more than {self._reply_limit}")
        parts: list[bytes] = []
        while missing:
            # There is no socket left once a response that ends its connection has begun.
            if connection.sock is not None:
                connection.sock.settimeout(_left(deadline))
            part = response.read(min(CHUNK, missing))
            if not part:
                raise ConnectionResetError("the reply was cut short")
            parts.append(part)
            missing -= len(part)
        response.read()
        return b"".join(parts)

    def _connect(self, deadline: float) -> HTTPConnection:
        from http.client import HTTPConnection

        address = self.address
        try:
            if address.socket is not None:
                sock = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
                try:
                    sock.settimeout(_left(deadline))
                    sock.connect(str(address.socket))
                except OSError:
                    sock.close()
                    raise
            else:
                sock = sockets.create_connection((address.host, address.port), timeout=_left(deadline))
                sock.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        except TimeoutError:
            raise
        except OSError as error:
            raise Unreachable(
                f"no server answers at {address}: {error.strerror or error}", fix="start it, or give another address"
            ) from error
        connection = HTTPConnection("localhost" if address.socket is not None else address.host, address.port or None)
        connection.sock = sock
        return connection


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
