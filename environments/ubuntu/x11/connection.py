"""One X connection per display, opened on first use and opened again when it is lost."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from crab.errors import EnvironmentFailure
from environments.ubuntu.x11.watch import Watch

T = TypeVar("T")

_COOKIE_LOCK = threading.Lock()

PERSISTENCE = 9.0
"""Seconds for which a connection that is cut again and again is opened anew before it counts as gone for good."""

_RETRY_SECONDS = 0.02


@contextmanager
def cookie(xauthority: Path) -> Iterator[None]:
    """Lets X libraries opened inside the block find the cookie file.

    Xlib and libxcb know one way only to be told: the environment variable. It is set for the time of the connection
    set-up, under a lock, and put back, so that one process can serve several displays.

    Args:
        xauthority: Cookie file with an entry for this host name and the display.
    """
    with _COOKIE_LOCK:
        before = os.environ.get("XAUTHORITY")
        os.environ["XAUTHORITY"] = str(xauthority)
        try:
            yield
        finally:
            if before is None:
                del os.environ["XAUTHORITY"]
            else:
                os.environ["XAUTHORITY"] = before


def open_display(name: str, xauthority: Path) -> Any:
    """Returns a new ``Xlib.display.Display``; one that is cut while it opens is tried again.

    Args:
        name: Such as ``":1"``.
        xauthority: Cookie file; see `cookie`.

    Raises:
        EnvironmentFailure: The display does not exist, refuses the cookie, or cuts every connection for 9 s.
    """
    from Xlib import error

    deadline = time.monotonic() + PERSISTENCE
    while True:
        try:
            return _open_once(name, xauthority)
        except error.ConnectionClosedError as trouble:
            traceback.clear_frames(trouble.__traceback__)
            if time.monotonic() > deadline:
                raise EnvironmentFailure(f"X display {name} closes every connection: {trouble}") from trouble
        time.sleep(_RETRY_SECONDS)


def _open_once(name: str, xauthority: Path) -> Any:
    from Xlib import display, error

    with cookie(xauthority), warnings.catch_warnings():
        # Xlib leaves the closing of the cookie file, and of a socket it failed with, to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            opened = display.Display(name)
        except (error.DisplayError, error.XauthError, OSError) as trouble:
            traceback.clear_frames(trouble.__traceback__)
            raise EnvironmentFailure(
                f"cannot connect to X display {name}: {trouble}",
                fix="check that the X server runs and accepts the cookie",
            ) from trouble
    # The default handler prints; errors of requests without reply mean a window that has just gone.
    opened.set_error_handler(lambda _error, _request: None)
    return opened


def lost_errors() -> tuple[type[BaseException], ...]:
    """Returns the exceptions that mean an Xlib connection is gone.

    TypeError is one of them: Xlib 0.15 trips over its own message when the server has closed the socket.
    """
    from Xlib import error

    return (error.ConnectionClosedError, OSError, TypeError)


def is_cut(display: Any) -> bool:
    """Tells whether the server has closed an Xlib connection."""
    try:
        return bool(display.display.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"")
    except BlockingIOError:
        return False
    except OSError:
        return True


def exists(name: str) -> bool:
    """Tells whether an X server listens at a display, answering or not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        # Without waiting: a server that takes no connections for a while has a full line, but is there.
        caller.setblocking(False)
        number = name.partition(":")[2].partition(".")[0]
        try:
            caller.connect(f"/tmp/.X11-unix/X{number}")  # noqa: S108 - the X protocol's fixed place
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True


def await_event(display: Any, deadline: float | None = None, wake: int | None = None) -> bool:
    """Sends what is queued and waits until an event is there; returns False when there will be none.

    Args:
        display: An open ``Xlib.display.Display``.
        deadline: Of ``time.monotonic()``; None waits for ever.
        wake: A descriptor that ends the waiting by becoming readable.
    """
    display.flush()
    descriptors = [display.fileno()] if wake is None else [display.fileno(), wake]
    # Sending receives too, so the queue is looked at after it, and always before the socket.
    while not display.pending_events():
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return False
        readable, _, _ = select.select(descriptors, [], [], left)
        if wake in readable:
            return False
    return True


class Connection:
    """A connection that survives being cut.

    A program on the display can cut anybody's connection (``XKillClient``); the next call opens a new one. The server
    is asked to serve this connection even while another program holds a server grab.

    Args:
        name: The display, such as ``":1"``.
        xauthority: Its cookie file.
        watch: Times every call.
    """

    def __init__(self, name: str, xauthority: Path, watch: Watch | None = None) -> None:
        self.name = name
        self.xauthority = xauthority
        self._watch = watch or Watch()
        self.lock = threading.RLock()
        self._display: Any = None
        self._atoms: dict[str, int] = {}

    def call(self, operation: Callable[[Any], T]) -> T:
        """Runs `operation` on the ``Xlib.display.Display`` and returns its result.

        The operation must be small: when the connection turns out to be gone it runs again on a new one.

        Args:
            operation: Takes the open display. Exceptions other than a lost connection pass through.

        Raises:
            EnvironmentFailure: The display is gone for good.
        """
        deadline = time.monotonic() + PERSISTENCE
        with self.lock, self._watch:
            while True:
                display = None
                try:
                    display = self._open()
                    return operation(display)
                except lost_errors() as trouble:
                    if display is not None and not is_cut(display):
                        raise
                    self._forget()
                    if time.monotonic() > deadline:
                        raise EnvironmentFailure(
                            f"X display {self.name} closes every connection: {trouble}"
                        ) from trouble

    def atom(self, name: str) -> int:
        """Returns the atom of that name on this display."""
        if name not in self._atoms:
            self._atoms[name] = self.call(lambda display: display.intern_atom(name))
        return self._atoms[name]

    def fake_input(self, kind: int, detail: int = 0, x: int = 0, y: int = 0) -> None:
        """Sends one XTEST event and waits until the server has taken it.

        Args:
            kind: Event type of the core protocol (2 key press … 6 motion).
            detail: Keycode or button; 0 with motion means absolute, 1 relative.
            x: Pixels, for motion.
            y: Pixels, for motion.
        """

        def send(display: Any) -> None:
            display.xtest_fake_input(kind, detail, x=x, y=y)
            display.sync()

        self.call(send)

    def close(self) -> None:
        """Closes the connection; may be called twice."""
        with self.lock:
            self._forget()

    def _open(self) -> Any:
        if self._display is None:
            self._display = open_display(self.name, self.xauthority)
            self._atoms.clear()
            self._display.xtest_grab_control(True)
        return self._display

    def _forget(self) -> None:
        display, self._display = self._display, None
        if display is not None:
            with suppress(*lost_errors()):
                display.close()
