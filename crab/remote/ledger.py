"""What a server remembers of its clients, so that no request is ever carried out twice.

A session is made by the server at the handshake and is unknown to any other server, also to the same one after a
restart. Within a session every request has a number. A repeated number gets the recorded reply; when that is no longer
kept, it is refused. So a request that is sent again after a broken connection is safe, and one that was captured and is
replayed later does nothing.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from crab.errors import RequestRejected
from crab.remote.protocol import Reply

SESSIONS = 256
"""Clients that are remembered, at most; the one longest silent is forgotten, and is then refused."""

WINDOW = 256
"""How far a request's number may be behind the highest one of its session: calls of several threads may overtake."""

KEPT_REPLIES = 64
"""Replies that are kept, at most, over all sessions."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of replies that are kept, at most; the newest reply is kept whatever its size."""


@dataclass
class _Session:
    client: int
    highest: int = 0
    seen: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Entry:
    digest: bytes
    task: asyncio.Task[Reply]


class Ledger:
    """Sessions and recorded replies; used on the event loop only."""

    def __init__(self, *, kept_replies: int = KEPT_REPLIES, kept_bytes: int = KEPT_BYTES) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._entries: dict[tuple[str, int], _Entry] = {}
        self._kept: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._kept_bytes = 0
        self._limits = (kept_replies, kept_bytes)
        self._clients = 0

    def open(self) -> str:
        """Makes a session and returns its name, which cannot be guessed."""
        self._clients += 1
        name = secrets.token_urlsafe(16)
        self._sessions[name] = _Session(self._clients)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return name

    def client(self, session: str) -> int:
        """Number of the client with that session, for the log; 0 when there is none."""
        found = self._sessions.get(session)
        return 0 if found is None else found.client

    def claim(
        self, session: str, number: int, digest: bytes, start: Callable[[], asyncio.Task[Reply]]
    ) -> asyncio.Task[Reply]:
        """Returns the one task that answers this request, starting it when the request is new.

        Args:
            session: As the client gave it.
            number: Of the request within the session.
            digest: Of the request's bytes; a number stands for one request only.
            start: Starts carrying out the request.

        Raises:
            RequestRejected: The session is unknown, or the number was used before and its reply is no longer kept,
                or it was used for another request.
        """
        known = self._sessions.get(session)
        if known is None:
            raise RequestRejected(
                "the server does not know this session; it was started anew, or has forgotten an idle client",
                fix="connect again and reset",
            )
        self._sessions.move_to_end(session)
        entry = self._entries.get((session, number))
        if entry is not None:
            if entry.digest != digest:
                raise RequestRejected(f"request {number} of this session was a different one")
            return entry.task
        if number in known.seen or number <= known.highest - WINDOW:
            raise RequestRejected(f"request {number} was answered before; it is not carried out again")
        known.seen.add(number)
        if number > known.highest:
            known.highest = number
            if len(known.seen) > 2 * WINDOW:
                known.seen = {seen for seen in known.seen if seen > number - WINDOW}
        return self._record((session, number), digest, start())

    def _record(self, key: tuple[str, int], digest: bytes, task: asyncio.Task[Reply]) -> asyncio.Task[Reply]:
        self._entries[key] = _Entry(digest, task)
        task.add_done_callback(lambda done: self._keep(key, done))
        return task

    def _keep(self, key: tuple[str, int], task: asyncio.Task[Reply]) -> None:
        size = 0 if task.cancelled() or task.exception() else len(task.result().body)
        self._kept[key] = size
        self._kept_bytes += size
        replies, total = self._limits
        while len(self._kept) > 1 and (len(self._kept) > replies or self._kept_bytes > total):
            oldest, freed = self._kept.popitem(last=False)
            self._kept_bytes -= freed
            del self._entries[oldest]
