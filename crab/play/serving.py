"""Serves the page of a session on this machine, beside the trial."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from crab.play.application import PageApplication
from crab.play.session import Session
from crab.remote.listening import settle_address
from crab.remote.server import http_server, require_extra


@contextlib.contextmanager
def serving_page(session: Session, port: int = 0) -> Iterator[str]:
    """Serves the page on 127.0.0.1 while the block runs, and gives its address, which holds a new token.

    Args:
        session: Whose page it is.
        port: TCP port; 0 takes a free one.

    Raises:
        UsageError: The port cannot be had, or the extra ``server`` is not installed.
    """
    require_extra("the page of `crab play`")
    listener, address = settle_address(None, "127.0.0.1", port, None, insecure=False)
    started = threading.Event()
    running: dict[str, Any] = {}

    async def run() -> None:
        running["loop"] = asyncio.get_running_loop()
        running["http"] = http_server(PageApplication(session, address), started.set)
        await running["http"].serve(sockets=[listener])

    def serve() -> None:
        try:
            asyncio.run(run())
        finally:
            # Nobody waits for a server that could not start.
            started.set()

    thread = threading.Thread(target=serve, name="crab-play", daemon=True)
    thread.start()
    started.wait()
    try:
        yield f"{address}/{address.token}/"
    finally:
        with contextlib.suppress(RuntimeError):
            running["loop"].call_soon_threadsafe(running["http"].ended.set)
        thread.join()
        listener.close()
