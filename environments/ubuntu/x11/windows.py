"""Windows, as the window manager tells of them (EWMH)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from environments.ubuntu.x11.connection import Connection

_MOST_WINDOWS = 500
_MOST_TEXT = 1024
_MOST_WORD = 100
_ANY_TYPE = 0
_ATOM_WM_NAME, _ATOM_WM_CLASS = 39, 67
# Source indication of EWMH: the user's own wish, which is always granted; 1 would be an application's.
_FROM_TASKBAR = 2


@dataclass(frozen=True)
class Window:
    """One window the window manager manages.

    Attributes:
        id: X's number of it.
        title: Its title, at most 1024 characters; may be empty.
        kind: Such as ``normal``, ``dialog``, ``desktop`` (wallpaper and icons), ``dock`` (panel).
        window_class: The class half of ``WM_CLASS``, such as ``Mousepad``; may be empty.
        pid: The process that says it owns the window, by its number inside the inner world; None when none says so.
        x: Left edge of its content, in pixels of the screen.
        y: Top edge of its content.
        width: Pixels, without decoration.
        height: Pixels, without decoration.
        states: Such as ``hidden``, ``maximized_vert``, ``fullscreen``, sorted.
    """

    id: int
    title: str
    kind: str
    window_class: str
    pid: int | None
    x: int
    y: int
    width: int
    height: int
    states: tuple[str, ...]


class Windows:
    """Reads the windows of a display.

    Args:
        connection: The display.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> tuple[Window, ...]:
        """Returns every managed window, in the order they were opened; those that vanish meanwhile are left out."""
        numbers = self._root_numbers("_NET_CLIENT_LIST")[:_MOST_WINDOWS]
        found = [self._window(number) for number in numbers]
        return tuple(window for window in found if window is not None)

    def focused(self) -> Window | None:
        """Returns the window in front that has the keyboard, or None."""
        numbers = self._root_numbers("_NET_ACTIVE_WINDOW")
        return self._window(numbers[0]) if numbers and numbers[0] else None

    def activate(self, number: int) -> None:
        """Asks the window manager to bring a window to the front and give it the keyboard, as a taskbar does.

        Args:
            number: Its id; one that has gone is passed over.
        """
        atom = self._connection.atom("_NET_ACTIVE_WINDOW")

        def ask(display: Any) -> None:
            from Xlib import X
            from Xlib.protocol import event

            window = display.create_resource_object("window", number)
            data = [_FROM_TASKBAR, X.CurrentTime, 0, 0, 0]
            message = event.ClientMessage(window=window, client_type=atom, data=(32, data))
            mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
            display.screen().root.send_event(message, event_mask=mask)
            display.sync()

        self._connection.call(ask)

    def _root_numbers(self, property_name: str) -> list[int]:
        atom = self._connection.atom(property_name)
        return self._connection.call(lambda display: _numbers(display.screen().root, atom))

    def _window(self, number: int) -> Window | None:
        names = ("_NET_WM_NAME", "_NET_WM_PID", "_NET_WM_STATE", "_NET_WM_WINDOW_TYPE")
        title, pid, state, kind = (self._connection.atom(name) for name in names)

        def read(display: Any) -> Window | None:
            from Xlib import error

            window = display.create_resource_object("window", number)
            try:
                geometry = window.get_geometry()
                corner = display.screen().root.translate_coords(window, 0, 0)
                pids = _numbers(window, pid)
                return Window(
                    id=number,
                    title=_text(window, title) or _text(window, _ATOM_WM_NAME),
                    kind=_kind(display, _numbers(window, kind)),
                    window_class=_window_class(window),
                    pid=pids[0] if pids else None,
                    x=corner.x,
                    y=corner.y,
                    width=geometry.width,
                    height=geometry.height,
                    states=_states(display, _numbers(window, state)),
                )
            except (error.BadWindow, error.BadDrawable, error.BadAtom):
                return None

        return self._connection.call(read)


def _numbers(window: Any, atom: int) -> list[int]:
    answer = window.get_property(atom, _ANY_TYPE, 0, 4 * _MOST_WINDOWS)
    if answer is None or answer.format != 32:
        return []
    return [int(number) for number in answer.value]


def _text(window: Any, atom: int) -> str:
    answer = window.get_property(atom, _ANY_TYPE, 0, _MOST_TEXT)
    if answer is None or answer.format != 8:
        return ""
    # Xlib decodes what happens to be UTF-8.
    text = answer.value if isinstance(answer.value, str) else answer.value.decode("utf-8", "replace")
    return str(text)[:_MOST_TEXT]


def _window_class(window: Any) -> str:
    halves = _text(window, _ATOM_WM_CLASS).split("\0")
    return halves[1] if len(halves) > 1 else ""


def _kind(display: Any, atoms: list[int]) -> str:
    if not atoms:
        return "normal"
    return str(display.get_atom_name(atoms[0]))[:_MOST_WORD].removeprefix("_NET_WM_WINDOW_TYPE_").lower()


def _states(display: Any, atoms: list[int]) -> tuple[str, ...]:
    names = (str(display.get_atom_name(atom))[:_MOST_WORD] for atom in atoms[:32])
    return tuple(sorted(name.removeprefix("_NET_WM_STATE_").lower() for name in names))
