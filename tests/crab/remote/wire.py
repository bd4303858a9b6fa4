"""Raw HTTP for the tests: what a client of ours would never send, and a relay that cuts connections."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from crab.remote.address import Address
from crab.remote.protocol import PROTOCOL_VERSION


@dataclass(frozen=True)
class Answer:
    """A response, with the error in it if there is one."""

    status: int
    body: bytes

    @property
    def error(self) -> dict[str, str]:
        content: dict[str, dict[str, str]] = json.loads(self.body)
        return content["error"]

    @property
    def result(self) -> Any:
        return json.loads(self.body)["result"]


def connect(address: Address) -> socket.socket:
    """Connects a plain socket."""
    if address.socket is not None:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(30)
        sock.connect(str(address.socket))
        return sock
    return socket.create_connection((address.host, address.port), timeout=30)


def exchange(address: Address, request: bytes) -> Answer:
    """Sends these bytes on a connection of their own and reads one response."""
    with connect(address) as sock:
        sock.sendall(request)
        with contextlib.closing(HTTPResponse(sock)) as response:
            response.begin()
            return Answer(response.status, response.read())


def request_bytes(
    address: Address,
    path: str,
    body: bytes,
    *,
    method: str = "POST",
    headers: Mapping[str, str | bytes | None] | None = None,
) -> bytes:
    """Writes a request out, with right headers except for those given; None leaves one out."""
    fields: dict[str, str | bytes | None] = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Authorization": None if address.token is None else f"Bearer {address.token}",
        **(headers or {}),
    }
    lines = [f"{method} {path} HTTP/1.1".encode()]
    for name, value in fields.items():
        if value is not None:
            lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode()))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def post(address: Address, path: str, document: Any, **options: Any) -> Answer:
    """Posts JSON, or bytes as they are."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return exchange(address, request_bytes(address, path, body, **options))


def open_session(address: Address) -> str:
    """Shakes hands and returns the session."""
    session: str = post(address, "/handshake", {"protocol": PROTOCOL_VERSION, "crab": "test"}).result["session"]
    return session


def envelope(session: str, number: int, /, **parameters: Any) -> dict[str, Any]:
    """The body of a call."""
    return {"session": session, "request": number, "seconds": 30, "parameters": parameters}


class Relay:
    """Stands between a client and a server and breaks connections when told to.

    Attributes:
        drop_requests: So many of the next requests are swallowed, and their connections closed.
        drop_replies: So many of the next requests are passed on whole, but their connections closed before any reply.
        passed: Set when a request that will get no reply has been passed on.
        captured: Every request as it was sent.
    """

    def __init__(self, target: Address, path: Path) -> None:
        self.address = Address(socket=path, token=target.token)
        self.drop_requests = 0
        self.drop_replies = 0
        self.passed = threading.Event()
        self.captured: list[bytes] = []
        self._target = target
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._open: list[socket.socket] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[Relay]:
        thread = threading.Thread(target=self._accept, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            self._listener.close()
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = connect(self._target)
                self._open += [near, far]
                threading.Thread(target=self._forward, args=(near, far), daemon=True).start()

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while request := _read_message(near):
                self.captured.append(request)
                if self.drop_requests:
                    self.drop_requests -= 1
                    break
                far.sendall(request)
                if self.drop_replies:
                    self.drop_replies -= 1
                    self.passed.set()
                    break
                near.sendall(_read_message(far))
        for sock in (near, far):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _read_message(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = sock.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    missing = int(sizes[0]) - len(body)
    while missing > 0:
        part = sock.recv(min(65536, missing))
        data += part
        missing -= len(part)
    return data
