"""Waiting for the parts of a desktop by what they show when they are ready, never by the clock."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crab.errors import EnvironmentFailure
from environments.ubuntu.x11.connection import open_display

_INTERVAL = 0.004
_GRACE_SECONDS = 3.0


def wait_until(
    ready: Callable[[], bool],
    what: str,
    seconds: float,
    *,
    alive: Callable[[], bool],
    last_words: Callable[[], str],
) -> None:
    """Ask ``ready`` until it says yes.

    Args:
        ready: Whether the part is ready; asked every few milliseconds.
        what: The part's name.
        seconds: How long to wait at most.
        alive: Whether the part runs; asked now and then once it has had time to start.
        last_words: What the part wrote, for the error.

    Raises:
        EnvironmentFailure: It died, or ``seconds`` passed first; the message names ``what`` and its last words.
    """
    begun = time.monotonic()
    look = begun + _GRACE_SECONDS
    while not ready():
        now = time.monotonic()
        if now > begun + seconds:
            raise EnvironmentFailure(f"{what} was not ready within {seconds:g} s: {last_words() or '(no output)'}")
        if now > look:
            look = now + 0.5
            # Asked again, since it may have become ready, and even ended by design, in between.
            if not alive() and not ready():
                raise EnvironmentFailure(f"{what} died before it was ready: {last_words() or '(no output)'}")
        time.sleep(_INTERVAL)


def accepts(path: Path) -> bool:
    """Whether something listens on the Unix socket at ``path``."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


class RootWindow:
    """The properties by which window manager, wallpaper and panel say that they are there.

    Args:
        display: An open Xlib display.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._root = display.screen().root

    def manages_windows(self) -> bool:
        """Whether the window manager takes clients.

        ``_NET_SUPPORTING_WM_CHECK`` comes too early: a client that starts then waits 5 s for its window.
        """
        return self._property("_NET_CLIENT_LIST") is not None

    def has_wallpaper(self) -> bool:
        """Whether a wallpaper is on the root window."""
        return self._property("_XROOTPMAP_ID") is not None

    def window_types(self) -> set[str]:
        """The EWMH types of all managed windows that are mapped, such as ``_NET_WM_WINDOW_TYPE_DOCK``."""
        from Xlib import X, error

        found: set[str] = set()
        for number in self._property("_NET_CLIENT_LIST") or ():
            window = self._display.create_resource_object("window", number)
            try:
                if window.get_attributes().map_state == X.IsViewable:
                    kinds = window.get_full_property(self._atom("_NET_WM_WINDOW_TYPE"), X.AnyPropertyType)
                    found |= {self._display.get_atom_name(atom) for atom in kinds.value} if kinds else set()
            except (error.BadWindow, error.BadAtom):
                continue
        return found

    def park_pointer(self, x: int, y: int) -> None:
        """Move the pointer; left in the middle it would hover over, and explain, whatever opens there."""
        self._root.warp_pointer(x, y)
        self._display.sync()

    def _atom(self, name: str) -> int:
        return int(self._display.intern_atom(name))

    def _property(self, name: str) -> Any:
        from Xlib import X

        found = self._root.get_full_property(self._atom(name), X.AnyPropertyType)
        return None if found is None else found.value


@contextmanager
def root_window(display: str, cookie_file: Path) -> Iterator[RootWindow]:
    """Connect to ``display`` for as long as the block runs.

    Raises:
        EnvironmentFailure: The X server refused or is gone.
    """
    from Xlib import error

    connection = open_display(display, cookie_file)
    try:
        yield RootWindow(connection)
    except error.ConnectionClosedError as problem:
        raise EnvironmentFailure(f"the X server {display} died while the desktop started: {problem}") from problem
    finally:
        with suppress(error.ConnectionClosedError, OSError):
            connection.close()
