"""Serves one environment over a Unix socket or a TCP port.

`serve` blocks until a signal, `serving` runs beside the caller. The device is used on one thread, call after call;
handshakes, `describe` and `health` are answered meanwhile, and `close` does not wait for a call that hangs. One line
per call goes to the logger ``crab.remote.server`` at level INFO, without arguments and secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket as sockets
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from crab.environment import Environment
from crab.errors import UsageError
from crab.remote.address import Address
from crab.remote.application import Application, ServerLimits
from crab.remote.listening import remove_socket, settle_address
from crab.remote.protocol import decode_error
from crab.remote.values import load

SHUTDOWN_SECONDS = 20.0
"""Seconds that closing the environment may take when the server ends."""

HEAD_BYTES = 64 * 1024
"""Bytes before the body of a request, at most; beyond, the connection is dropped."""

CONNECTIONS = 256
"""Connections at a time, at most; beyond, new ones are closed at once, and those that are there go on."""

IDLE_SECONDS = 24 * 3600
"""After which an idle connection is dropped: an agent may think for long between two calls."""

STANDARD_INPUT = 0

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(
    environment: Environment,
    *,
    socket: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    insecure: bool = False,
    hosts: Iterable[str] = (),
    limits: ServerLimits | None = None,
    exit_with_parent: bool = False,
    ready: Callable[[Address], None] | None = None,
) -> None:
    """Serves until SIGTERM, SIGINT or SIGHUP, then closes the environment; blocks and prints nothing.

    Args:
        environment: What is served.
        socket: Path of a Unix socket, made with mode 0600 in a directory with mode 0700; None listens on TCP.
        host: Where to listen on TCP; anything but loopback needs `token` and `insecure`.
        port: TCP port; 0 takes a free one.
        token: At least 32 random bytes as text (`crab.remote.address.new_token`, `read_token`). On TCP, None makes one,
            which `ready` is given; on a Unix socket, None asks for none.
        insecure: Agrees to listen where others can reach it although there is no TLS: who reads along has the token.
        hosts: Names, beside IP literals, ``localhost`` and `host`, under which clients may call.
        limits: Sizes of requests and replies.
        exit_with_parent: Also ends when standard input ends: give this process a pipe there and keep its other end.
        ready: Called once with the address, token included, as soon as calls are answered.

    Raises:
        UsageError: It cannot listen there, or the extra ``server`` is not installed; the environment is closed.
        CrabError: The environment could not be closed.
    """
    with _owned(environment):
        server = _Server(environment, socket, host, port, token, insecure, hosts, limits)
    server.run(ready or (lambda _: None), exit_with_parent=exit_with_parent)


@contextlib.contextmanager
def serving(
    environment: Environment,
    *,
    socket: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    limits: ServerLimits | None = None,
) -> Iterator[Address]:
    """Serves beside the caller, on a thread, and gives the address; at the end it closes the environment.

    Args:
        environment: What is served.
        socket: As for `serve`.
        host: As for `serve`; loopback only.
        port: As for `serve`.
        token: As for `serve`.
        limits: As for `serve`.

    Raises:
        UsageError: As for `serve`.
        CrabError: The environment could not be closed.
    """
    with _owned(environment):
        server = _Server(environment, socket, host, port, token, False, (), limits)
    started = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            server.run(lambda _: started.set())
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=run, name="crab-server", daemon=True)
    thread.start()
    started.wait()
    try:
        if not failures:
            yield server.address
    finally:
        server.stop()
        thread.join()
    if failures:
        raise failures[0]


@contextlib.contextmanager
def _owned(environment: Environment) -> Iterator[None]:
    """Closes the environment when it cannot be served: nobody else would."""
    try:
        yield
    except BaseException:
        environment.close()
        raise


class _Server:
    def __init__(
        self,
        environment: Environment,
        socket: Path | None,
        host: str,
        port: int,
        token: str | None,
        insecure: bool,
        hosts: Iterable[str],
        limits: ServerLimits | None,
    ) -> None:
        require_extra("an environment server")
        self._environment = environment
        self._hosts = (*hosts, host)
        self._limits = limits or ServerLimits()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: Any = None
        self._listener, self.address = settle_address(socket, host, port, token, insecure=insecure)

    def run(self, ready: Callable[[Address], None], *, exit_with_parent: bool = False) -> None:
        try:
            asyncio.run(self._run(ready, exit_with_parent))
        finally:
            self._listener.close()
            remove_socket(self.address)

    def stop(self) -> None:
        if self._loop is not None:
            # The loop is closed when the server has ended by itself.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self._http.ended.set()

    async def _run(self, ready: Callable[[Address], None], exit_with_parent: bool) -> None:
        self._loop = asyncio.get_running_loop()
        with _owned(self._environment):
            application = Application(
                self._environment, token=self.address.token, hosts=self._hosts, limits=self._limits
            )
        self._http = http_server(application, lambda: ready(self.address))
        with self._signals(self._loop):
            try:
                with self._watched_input(self._loop) if exit_with_parent else contextlib.nullcontext():
                    await self._http.serve(sockets=[self._listener])
            finally:
                reply = await application.close(SHUTDOWN_SECONDS)
                application.stop()
        if reply.status != 200:
            raise decode_error(load(reply.body)["error"], "close")

    @contextlib.contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        numbers = _SIGNALS if threading.current_thread() is threading.main_thread() else ()
        for number in numbers:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    @contextlib.contextmanager
    def _watched_input(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        def read() -> None:
            if not os.read(STANDARD_INPUT, 4096):
                loop.remove_reader(STANDARD_INPUT)
                self._end()

        try:
            loop.add_reader(STANDARD_INPUT, read)
        except OSError:
            raise UsageError(
                "ending with the parent needs a pipe as standard input: start this process with stdin=subprocess.PIPE"
            ) from None
        try:
            yield
        finally:
            loop.remove_reader(STANDARD_INPUT)


def require_extra(what: str) -> None:
    """Checks that the extra ``server`` is installed, which `what` needs.

    Raises:
        UsageError: It is not.
    """
    try:
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{what} needs {error.name}, which is not installed: pip install 'crab-eval[server]'"
        ) from error


def http_server(application: Callable[..., Awaitable[None]], started: Callable[[], None]) -> Any:
    """Makes uvicorn do HTTP and nothing else: no signals, no logs, no headers of its own.

    Args:
        application: An ASGI callable.
        started: Called once it answers.

    Returns:
        A server with a coroutine ``serve(sockets=[…])`` and an `asyncio.Event` ``ended`` that ends it.
    """
    import uvicorn

    class Server(uvicorn.Server):
        ended = asyncio.Event()

        async def main_loop(self) -> None:
            # uvicorn looks ten times a second whether to end.
            await self.ended.wait()

        async def startup(self, sockets: list[sockets.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn would raise a caught signal again, before the environment is closed.
            yield

    config = uvicorn.Config(
        application,
        loop="none",
        http=_http_protocol(),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    return Server(config)


def _http_protocol() -> Any:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Protocol(HttpToolsProtocol):
        """Drops connections beyond their number, and one whose head does not end: the parser would collect it all."""

        head_bytes = 0
        in_body = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > CONNECTIONS:
                transport.close()

        def data_received(self, data: bytes) -> None:
            self.head_bytes += len(data)
            super().data_received(data)
            if not self.in_body and self.head_bytes > HEAD_BYTES:
                self.transport.close()

        def on_headers_complete(self) -> None:
            self.in_body = True
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self.in_body = False
            self.head_bytes = 0
            super().on_message_complete()

    return Protocol
