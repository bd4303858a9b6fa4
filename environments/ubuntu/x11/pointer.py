"""The pointer: motion, buttons, drags and scrolling through XTEST."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from crab.errors import InvalidArguments
from environments.ubuntu.x11.connection import Connection

_BUTTON_PRESS, _BUTTON_RELEASE, _MOTION = 4, 5, 6

Button = Literal[
    "left", "middle", "right", "scroll_up", "scroll_down", "scroll_left", "scroll_right", "back", "forward"
]
"""The nine buttons X knows, by what they do; their numbers are 1 to 9 in this order."""

BUTTONS: Mapping[Button, int] = MappingProxyType(
    {
        "left": 1,
        "middle": 2,
        "right": 3,
        "scroll_up": 4,
        "scroll_down": 5,
        "scroll_left": 6,
        "scroll_right": 7,
        "back": 8,
        "forward": 9,
    }
)
"""Button numbers of the core protocol by name."""

_STEP_SECONDS = 0.01
_LEAST_DRAG_STEPS = 20
_DRAG_DWELL_SECONDS = 0.05


class Pointer:
    """The one pointer of a display.

    Every coordinate is a pixel of the screen, counted from its upper left corner.

    Args:
        connection: The display.
        screen: Width and height in pixels.
    """

    def __init__(self, connection: Connection, screen: tuple[int, int]) -> None:
        self._connection = connection
        self._screen = screen
        self._held: list[Button] = []

    @property
    def held(self) -> tuple[Button, ...]:
        """Buttons pressed and not yet released, in the order they were pressed."""
        return tuple(self._held)

    def position(self) -> tuple[int, int]:
        """Returns where the pointer is, in pixels."""

        def ask(display: object) -> tuple[int, int]:
            answer = display.screen().root.query_pointer()  # type: ignore[attr-defined]
            return int(answer.root_x), int(answer.root_y)

        return self._connection.call(ask)

    def check(self, x: int, y: int) -> None:
        """Raises InvalidArguments unless the point lies on the screen."""
        width, height = self._screen
        if not (0 <= x < width and 0 <= y < height):
            raise InvalidArguments(
                f"point ({x}, {y}) is outside the screen: x goes from 0 to {width - 1}, y from 0 to {height - 1}"
            )

    def move(self, x: int, y: int, duration: float = 0.0) -> None:
        """Moves to a point, in a straight line when `duration` seconds are given.

        Raises:
            InvalidArguments: The point is outside the screen.
        """
        self.check(x, y)
        self._glide(x, y, duration, steps=int(duration / _STEP_SECONDS))

    def move_by(self, dx: int, dy: int, duration: float = 0.0) -> None:
        """Moves by a distance in pixels; positive is right and down.

        Raises:
            InvalidArguments: The point arrived at would be outside the screen.
        """
        x, y = self.position()
        self.move(x + dx, y + dy, duration)

    def press(self, button: Button) -> None:
        """Presses a button and keeps it down; pressing a held button again does nothing."""
        if button not in self._held:
            self._connection.fake_input(_BUTTON_PRESS, BUTTONS[button])
            self._held.append(button)

    def release(self, button: Button) -> None:
        """Lets a button go, whoever pressed it."""
        self._connection.fake_input(_BUTTON_RELEASE, BUTTONS[button])
        if button in self._held:
            self._held.remove(button)

    def release_all(self) -> None:
        """Lets every held button go, the last pressed first."""
        for button in reversed(self.held):
            self.release(button)

    def click(self, x: int, y: int, button: Button = "left", count: int = 1, duration: float = 0.0) -> None:
        """Moves to a point and clicks there.

        Args:
            x: Pixels.
            y: Pixels.
            button: Which button.
            count: 2 is a double click.
            duration: Seconds the button stays down each time.

        Raises:
            InvalidArguments: The point is outside the screen.
        """
        self.move(x, y)
        for _ in range(count):
            self.press(button)
            _pause(duration)
            self.release(button)

    def drag(
        self, start: tuple[int, int], end: tuple[int, int], button: Button = "left", duration: float = 0.5
    ) -> None:
        """Presses at `start`, moves to `end` in `duration` seconds, and releases there.

        Toolkits take it for a drag only after several motions away from the start, and a drop target must answer
        before the release, so even a drag of no duration has intermediate points and dwells at its ends.

        Raises:
            InvalidArguments: A point is outside the screen.
        """
        self.check(*start)
        self.check(*end)
        self.move(*start)
        self.press(button)
        try:
            _pause(_DRAG_DWELL_SECONDS)
            self._glide(*end, duration, steps=max(_LEAST_DRAG_STEPS, int(duration / _STEP_SECONDS)))
            _pause(_DRAG_DWELL_SECONDS)
            # A second motion at the end lets the target under the pointer take its final say.
            self._connection.fake_input(_MOTION, 0, *end)
            _pause(_DRAG_DWELL_SECONDS)
        finally:
            self.release(button)

    def scroll(self, dx: int, dy: int) -> None:
        """Turns the wheel where the pointer is: notches to the right and down, negative to the left and up."""
        for steps, forward, backward in ((dy, 5, 4), (dx, 7, 6)):
            button = forward if steps > 0 else backward
            for _ in range(abs(steps)):
                self._connection.fake_input(_BUTTON_PRESS, button)
                self._connection.fake_input(_BUTTON_RELEASE, button)

    def _glide(self, x: int, y: int, duration: float, steps: int) -> None:
        begin_x, begin_y = self.position() if steps > 1 else (x, y)
        began = time.monotonic()
        for step in range(1, steps):
            share = step / steps
            self._connection.fake_input(
                _MOTION, 0, round(begin_x + (x - begin_x) * share), round(begin_y + (y - begin_y) * share)
            )
            _pause(began + max(duration * share, step * 0.001) - time.monotonic())
        self._connection.fake_input(_MOTION, 0, x, y)


def _pause(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)
