"""A window that notes every event it gets, so that tests see exactly what arrives."""

from __future__ import annotations

from typing import Any

from environments.ubuntu.desktop import Controls
from environments.ubuntu.x11.connection import open_display
from tests.environments.ubuntu.waiting import until

KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION = 2, 3, 4, 5, 6
_NAMES = {KEY_PRESS: "down", KEY_RELEASE: "up", BUTTON_PRESS: "press", BUTTON_RELEASE: "release", MOTION: "move"}
_MASK = 1 | 2 | 4 | 8 | 64
_EXPOSURE_MASK = 1 << 15
_EXPOSE = 12


class Spy:
    """Covers the screen and takes the keyboard.

    Attributes:
        log: What happened so far, as (name, key or button, x, y).
    """

    def __init__(self, controls: Controls) -> None:
        self.display = open_display(controls.handle.display, controls.handle.xauthority)
        width, height = controls.handle.screen
        self.window = self.display.screen().root.create_window(
            0, 0, width, height, 0, 0, override_redirect=True, event_mask=_MASK | _EXPOSURE_MASK, background_pixel=0
        )
        self.log: list[tuple[str, int, int, int]] = []
        self._shown = False
        self.window.map()
        until(self._is_shown, "the spy's window")
        self.window.set_input_focus(2, 0)
        self.display.sync()
        self.take()

    def take(self) -> list[tuple[str, int, int, int]]:
        """Returns what has arrived since the last call."""
        self.display.sync()
        while self.display.pending_events():
            self._note(self.display.next_event())
        taken, self.log = self.log, []
        return taken

    def close(self) -> None:
        self.display.close()

    def _is_shown(self) -> bool:
        self.display.flush()
        while self.display.pending_events():
            self._note(self.display.next_event())
        return self._shown

    def _note(self, event: Any) -> None:
        if event.type == _EXPOSE:
            self._shown = True
        elif event.type in _NAMES:
            detail = 0 if event.type == MOTION else event.detail
            self.log.append((_NAMES[event.type], detail, event.root_x, event.root_y))
