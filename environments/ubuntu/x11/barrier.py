"""Waiting until the focused application has taken in the input sent so far."""

from __future__ import annotations

import itertools
import time
from typing import Any

from environments.ubuntu.x11.connection import Connection

_CLIENT_MESSAGE = 33
_SUBSTRUCTURE_NOTIFY_MASK = 1 << 19
_ANSWER_SECONDS = 2.0
_BLIND_SECONDS = 0.05
_POLL_SECONDS = 0.002
_MOST_ANCESTORS = 16
_MOST_PROTOCOLS = 64


class FocusBarrier:
    """Asks the focused window whether it still answers, and waits for the answer.

    An application translates keycodes by the keyboard map of the moment it reads the event, so a map may change only
    when all earlier keys have been read. ``_NET_WM_PING`` is answered in the order of events; windows that do not take
    part get 50 ms instead.

    Args:
        connection: The display.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._serials = itertools.count(1)

    def wait(self) -> bool:
        """Returns once the focused window has read everything sent before, as far as can be known.

        Returns:
            False when a window that takes part did not answer within 2 s.
        """
        answer = self.ask()
        if answer is None:
            time.sleep(_BLIND_SECONDS)
        return answer is not False

    def ask(self, seconds: float = _ANSWER_SECONDS) -> bool | None:
        """Returns True once the focused window has read everything sent before.

        Args:
            seconds: How long it may take.

        Returns:
            False when it did not answer in time, None when there is no window that takes part, or no longer.
        """
        protocols, ping = self._connection.atom("WM_PROTOCOLS"), self._connection.atom("_NET_WM_PING")
        return self._connection.call(lambda display: self._ping(display, protocols, ping, seconds))

    def _ping(self, display: Any, protocols: int, ping: int, seconds: float) -> bool | None:
        from Xlib import error
        from Xlib.protocol import event

        window = _focused_participant(display, protocols, ping)
        if window is None:
            return None
        root = display.screen().root
        serial = next(self._serials)
        root.change_attributes(event_mask=_SUBSTRUCTURE_NOTIFY_MASK)
        try:
            message = event.ClientMessage(
                window=window, client_type=protocols, data=(32, [ping, serial, window.id, 0, 0])
            )
            window.send_event(message, event_mask=0)
            display.sync()
            return _await_answer(display, window, (protocols, ping, serial), seconds)
        except (error.BadWindow, error.BadDrawable):
            return None
        finally:
            root.change_attributes(event_mask=0)
            display.sync()
            _drain(display)


def _focused_participant(display: Any, protocols: int, ping: int) -> Any:
    """Returns the focused window, or the ancestor of it, that takes part in pings; None when there is none."""
    from Xlib import error

    window = display.get_input_focus().focus
    try:
        for _ in range(_MOST_ANCESTORS):
            if isinstance(window, int) or window.id == display.screen().root.id:
                return None
            listed = window.get_property(protocols, 0, 0, _MOST_PROTOCOLS)
            if listed is not None and listed.format == 32 and ping in listed.value:
                return window
            window = window.query_tree().parent
    except (error.BadWindow, error.BadDrawable):
        return None
    return None


def _await_answer(display: Any, window: Any, asked: tuple[int, int, int], seconds: float) -> bool:
    protocols, ping, serial = asked
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        while display.pending_events():
            answer = display.next_event()
            # A sent event carries the highest bit in its type.
            if answer.type & 0x7F == _CLIENT_MESSAGE and answer.client_type == protocols:
                values = answer.data[1]
                if values[0] == ping and values[1] == serial:
                    return True
        time.sleep(_POLL_SECONDS)
        # The input may just have closed the window, which then never answers: this raises BadDrawable.
        window.get_geometry()
    return False


def _drain(display: Any) -> None:
    while display.pending_events():
        display.next_event()
