"""The accessibility tree of everything that shows, read over D-Bus (AT-SPI) with a limit on every wait.

Below a node that does not show nothing is looked at: menus and hidden pages are most of a tree. Each call has its own
limit, so a frozen application costs half a second and no more, and others are read meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crab.errors import EnvironmentFailure
from crab.observation import AccessibilityNode, Bounds

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

T = TypeVar("T")

_CALL_SECONDS = 0.5
_START_SECONDS = 5.0
_MOST_NAME = 1000
_SCREEN_COORDINATES = 0
_ROOT = "/org/a11y/atspi/accessible/root"
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_COMPONENT = "org.a11y.atspi.Component"
_TEXT = "org.a11y.atspi.Text"
_VALUE = "org.a11y.atspi.Value"
_PROPERTIES = "org.freedesktop.DBus.Properties"
# In the order of their bits.
_STATE_WORDS = (
    "invalid active armed busy checked collapsed defunct editable enabled expandable expanded focusable focused "
    "has-tooltip horizontal iconified modal multi-line multiselectable opaque pressed resizable selectable selected "
    "sensitive showing single-line stale transient vertical visible manages-descendants indeterminate required "
    "truncated animated invalid-entry supports-autocompletion selectable-text is-default visited checkable has-popup "
    "read-only"
)
_STATES = tuple(_STATE_WORDS.split())


@dataclass(frozen=True)
class Limits:
    """How much of a tree is read.

    Attributes:
        depth: Levels below an application.
        width: Children of one node.
        nodes: Nodes of one application.
        text: Characters of one text.
        in_flight: Calls to one application that wait for an answer at one time.
        seconds: Total time; applications that are not done by then are left out.
    """

    depth: int = 50
    width: int = 500
    nodes: int = 3000
    text: int = 10_000
    in_flight: int = 64
    seconds: float = 3.0


class _Unanswered(Exception):
    """Raised when a call was answered by an error, or not in time."""


# What an application that answers nonsense (wrong types, missing values) leads to, beside no answer at all.
_NONSENSE = (_Unanswered, TypeError, ValueError, LookupError, AttributeError)


class AccessibilityReader:
    """Reads the tree of one session's applications.

    Works on an event loop and thread of its own, so it may be used from any thread. Connects on first use, keeps the
    connection, and makes a new one when it breaks. The first use also switches accessibility on in the session, for
    toolkits that wait for it.

    Args:
        session_address: The session bus, such as ``unix:path=/run/user/1000/bus``, as this process reaches it.
    """

    def __init__(self, session_address: str) -> None:
        self._session_address = session_address
        self._bus: MessageBus | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="accessibility", daemon=True)
        self._thread.start()

    def read(self, limits: Limits | None = None) -> AccessibilityNode:
        """Returns the tree: a root ``desktop frame``, its applications, their windows, and what shows in them.

        Applications that do not answer are there without children.

        Args:
            limits: How much to read.

        Raises:
            EnvironmentFailure: The session's accessibility bus does not answer.
        """
        chosen = limits or Limits()
        return self._run(self._read(chosen), _START_SECONDS + chosen.seconds)

    def close(self) -> None:
        """Ends connection and thread; may be called twice."""
        if self._loop.is_closed():
            return
        bus, self._bus = self._bus, None
        if bus is not None:
            asyncio.run_coroutine_threadsafe(_disconnect(bus), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except (FutureTimeoutError, OSError, EOFError, LookupError, _Unanswered) as trouble:
            future.cancel()
            raise EnvironmentFailure(
                f"the accessibility bus of the session does not answer: {str(trouble) or type(trouble).__name__}",
                fix="check that at-spi2-core is installed and the session's dbus-daemon runs as this process's user",
            ) from trouble

    async def _connected(self) -> MessageBus:
        if self._bus is not None and self._bus.connected:
            return self._bus
        from dbus_fast import Variant

        session = await _connect(self._session_address)
        try:
            where = "org.a11y.Bus", "/org/a11y/bus"
            address = (await _call(session, _message(*where, "org.a11y.Bus", "GetAddress"), _START_SECONDS))[0]
            enabled = ["org.a11y.Status", "IsEnabled", Variant("b", True)]
            await _call(session, _message(*where, _PROPERTIES, "Set", "ssv", enabled), _START_SECONDS)
        finally:
            session.disconnect()
        self._bus = await _connect(_reachable(address, self._session_address))
        return self._bus

    async def _read(self, limits: Limits) -> AccessibilityNode:
        bus = await self._connected()
        registry = _message("org.a11y.atspi.Registry", _ROOT, _ACCESSIBLE, "GetChildren")
        references = (await _call(bus, registry, _START_SECONDS))[0]
        walks = [asyncio.ensure_future(_Walk(bus, name, limits).application(path)) for name, path in references]
        if walks:
            _, late = await asyncio.wait(walks, timeout=limits.seconds)
            for walk in late:
                walk.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        applications = [walk.result() for walk in walks if not walk.cancelled()]
        return AccessibilityNode("desktop frame", "main", children=tuple(node for node in applications if node))


@dataclass
class _Walk:
    """Reading of one application, which may freeze, lie or go at any moment."""

    bus: MessageBus
    destination: str
    limits: Limits
    left: int = 0
    frozen: bool = False
    seen: set[str] = field(default_factory=set)
    gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.limits.nodes
        self.gate = asyncio.Semaphore(self.limits.in_flight)

    async def application(self, path: str) -> AccessibilityNode | None:
        """Returns the application's node; one that does not answer has neither name nor children."""
        try:
            name = await self._name(path)
            children = await self._children(path, self.limits.depth)
        except _NONSENSE:
            return AccessibilityNode("application") if self.frozen else None
        return AccessibilityNode("application", name, children=children)

    async def _node(self, path: str, depth: int) -> AccessibilityNode | None:
        """Returns a node that shows, with all that shows below it; None for others and those that have gone."""
        if self.left <= 0 or path in self.seen:
            return None
        self.seen.add(path)
        try:
            states = _state_names((await self._ask(path, _ACCESSIBLE, "GetState"))[0])
            if "showing" not in states or "defunct" in states or self.left <= 0:
                return None
            self.left -= 1
            role, name, interfaces = await asyncio.gather(
                self._ask(path, _ACCESSIBLE, "GetRoleName"),
                self._name(path),
                self._ask(path, _ACCESSIBLE, "GetInterfaces"),
            )
            text, bounds, children = await asyncio.gather(
                self._text(path, interfaces[0]), self._bounds(path, interfaces[0]), self._children(path, depth - 1)
            )
            return AccessibilityNode(role[0].lower(), name, text, states, bounds, children)
        except _NONSENSE:
            return None

    async def _children(self, path: str, depth: int) -> tuple[AccessibilityNode, ...]:
        if depth <= 0:
            return ()
        try:
            references = (await self._ask(path, _ACCESSIBLE, "GetChildren"))[0][: self.limits.width]
            own = [child for destination, child in references if destination == self.destination]
        except _NONSENSE:
            return ()
        nodes = await asyncio.gather(*(self._node(child, depth) for child in own))
        return tuple(node for node in nodes if node is not None)

    async def _name(self, path: str) -> str:
        name = (await self._ask(path, _PROPERTIES, "Get", "ss", [_ACCESSIBLE, "Name"]))[0].value
        # Menu items come padded with blanks to where their key would stand.
        return str(name or "")[:_MOST_NAME].strip()

    async def _bounds(self, path: str, interfaces: list[str]) -> Bounds | None:
        if _COMPONENT not in interfaces:
            return None
        try:
            x, y, width, height = (await self._ask(path, _COMPONENT, "GetExtents", "u", [_SCREEN_COORDINATES]))[0]
            return Bounds(x, y, width, height) if width > 0 and height > 0 else None
        except _NONSENSE:
            return None

    async def _text(self, path: str, interfaces: list[str]) -> str | None:
        try:
            if _TEXT in interfaces:
                return str((await self._ask(path, _TEXT, "GetText", "ii", [0, self.limits.text]))[0])
            if _VALUE in interfaces:
                value = (await self._ask(path, _PROPERTIES, "Get", "ss", [_VALUE, "CurrentValue"]))[0].value
                return f"{value:g}"
        except _NONSENSE:
            return None
        return None

    async def _ask(
        self, path: str, interface: str, member: str, signature: str = "", body: Sequence[Any] = ()
    ) -> list[Any]:
        async with self.gate:
            if self.frozen:
                raise _Unanswered
            message = _message(self.destination, path, interface, member, signature, body)
            try:
                return await _call(self.bus, message, _CALL_SECONDS)
            except TimeoutError as trouble:
                # The first call that is not answered in time is the last one made.
                self.frozen = True
                raise _Unanswered from trouble


async def _connect(address: str) -> MessageBus:
    from dbus_fast.aio import MessageBus

    path = _socket_path(address)
    if not path.exists():
        raise FileNotFoundError(f"there is no socket {path}")
    async with asyncio.timeout(_START_SECONDS):
        return await MessageBus(bus_address=address).connect()


async def _disconnect(bus: MessageBus) -> None:
    bus.disconnect()
    # A bus that died before says so now; it is gone either way.
    with suppress(OSError, EOFError):
        async with asyncio.timeout(_CALL_SECONDS):
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]


def _message(
    destination: str, path: str, interface: str, member: str, signature: str = "", body: Sequence[Any] = ()
) -> Message:
    from dbus_fast import Message

    return Message(
        destination=destination, path=path, interface=interface, member=member, signature=signature, body=list(body)
    )


async def _call(bus: MessageBus, message: Message, seconds: float) -> list[Any]:
    from dbus_fast import MessageType

    async with asyncio.timeout(seconds):
        reply = await bus.call(message)
    if reply.message_type is not MessageType.METHOD_RETURN:
        raise _Unanswered(reply.body[0] if reply.body else reply.error_name)
    return list(reply.body)


def _reachable(address: str, session_address: str) -> str:
    """Returns the accessibility bus's address as this process reaches it.

    The bus names its socket as the inner world sees it, beneath the folder of the session bus; from outside that
    folder may have another path. Whatever else is named, in the end or by a link, is not connected to: whoever answers
    on the session bus may be one of the agent's programs.

    Raises:
        FileNotFoundError: There is no such socket beneath that folder.
    """
    folder, named = _socket_path(session_address).parent.resolve(), _socket_path(address)
    seen_from_here = (folder / named.parent.name / named.name).resolve()
    if seen_from_here.parent.parent != folder or not seen_from_here.is_socket():
        raise FileNotFoundError(f"there is no accessibility bus at {address[:200]!r}")
    return f"unix:path={seen_from_here}"


def _socket_path(address: str) -> Path:
    return Path(address.split(",")[0].removeprefix("unix:path="))


def _state_names(words: list[int]) -> tuple[str, ...]:
    bits = sum(word << 32 * index for index, word in enumerate(words[:2]))
    return tuple(sorted(name for index, name in enumerate(_STATES) if bits >> index & 1))
