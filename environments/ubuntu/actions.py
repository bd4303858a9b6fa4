"""What an agent can do on the desktop. The docstrings are what it reads.

Coordinates are pixels of the screenshot, from its upper left corner. Keys are named as
`environments.ubuntu.x11.keys` says.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crab.action import action
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.x11.pointer import Button

Seconds = Annotated[float, Field(ge=0, le=30)]
Notches = Annotated[int, Field(ge=-100, le=100)]
Text = Annotated[str, Field(max_length=20_000)]


@action(duration="duration")
def move(env: Desktop, x: int, y: int, duration: Seconds = 0.0) -> None:
    """Moves the mouse pointer to a point of the screen without pressing anything.

    Use it to hover, for example to see a tooltip or to open a submenu. Buttons that are held stay held.

    Args:
        x: Pixels from the left edge of the screen.
        y: Pixels from the top edge of the screen.
        duration: Seconds the movement takes; 0 jumps there.
    """
    env.begin_action().pointer.move(x, y, duration)


@action(duration="duration")
def move_by(env: Desktop, dx: int, dy: int, duration: Seconds = 0.0) -> None:
    """Moves the mouse pointer by a distance from where it is now.

    Args:
        dx: Pixels to the right; negative moves to the left.
        dy: Pixels down; negative moves up.
        duration: Seconds the movement takes; 0 jumps there.
    """
    env.begin_action().pointer.move_by(dx, dy, duration)


@action(duration="duration")
def click(env: Desktop, x: int, y: int, button: Button = "left", duration: Seconds = 0.0) -> None:
    """Clicks once at a point of the screen.

    Args:
        x: Pixels from the left edge of the screen.
        y: Pixels from the top edge of the screen.
        button: Which mouse button.
        duration: Seconds the button is held down; 0 is an ordinary click, 1 a long press.
    """
    env.begin_action().pointer.click(x, y, button, duration=duration)


@action
def double_click(env: Desktop, x: int, y: int, button: Button = "left") -> None:
    """Clicks twice in quick succession at a point, for example to open a file or an icon, or to select a word.

    Args:
        x: Pixels from the left edge of the screen.
        y: Pixels from the top edge of the screen.
        button: Which mouse button.
    """
    env.begin_action().pointer.click(x, y, button, count=2)


@action
def right_click(env: Desktop, x: int, y: int) -> None:
    """Clicks the right mouse button at a point, which usually opens the menu of what is there.

    Args:
        x: Pixels from the left edge of the screen.
        y: Pixels from the top edge of the screen.
    """
    env.begin_action().pointer.click(x, y, "right")


@action(duration="duration")
def drag(
    env: Desktop,
    x: int,
    y: int,
    to_x: int,
    to_y: int,
    button: Button = "left",
    duration: Seconds = 0.5,
) -> None:
    """Presses the mouse button at one point, moves to another with the button held, and releases it there.

    Use it to select text, to move windows, files and sliders, and to draw.

    Args:
        x: Where to press, in pixels from the left edge of the screen.
        y: Where to press, in pixels from the top edge of the screen.
        to_x: Where to release, in pixels from the left edge of the screen.
        to_y: Where to release, in pixels from the top edge of the screen.
        button: Which mouse button.
        duration: Seconds the movement takes.
    """
    env.begin_action().pointer.drag((x, y), (to_x, to_y), button, duration)


@action
def scroll(env: Desktop, x: int, y: int, down: Notches = 0, right: Notches = 0) -> None:
    """Turns the mouse wheel with the pointer at a point, so that what is there scrolls.

    Args:
        x: Pixels from the left edge of the screen.
        y: Pixels from the top edge of the screen.
        down: Notches of the wheel; positive shows what is further down, negative what is further up. One notch is
            about three lines of text.
        right: Notches sideways; positive shows what is further right, negative what is further left.
    """
    pointer = env.begin_action().pointer
    pointer.move(x, y)
    pointer.scroll(right, down)


@action
def mouse_press(env: Desktop, button: Button = "left") -> None:
    """Presses a mouse button where the pointer is and keeps it down until mouse_release.

    Args:
        button: Which mouse button.
    """
    env.begin_action().pointer.press(button)


@action
def mouse_release(env: Desktop, button: Button = "left") -> None:
    """Releases a mouse button where the pointer is.

    Args:
        button: Which mouse button.
    """
    env.begin_action().pointer.release(button)


@action
def write_text(env: Desktop, text: Text) -> None:
    """Types a text with the keyboard into whatever has the focus; click into the field first.

    All characters of all scripts arrive as given. A line break presses enter, a tab presses tab.

    Args:
        text: The text, at most 20,000 characters.
    """
    env.begin_action().typist.write(text)


@action(duration="duration")
def key_press(env: Desktop, key: str, duration: Seconds = 0.0) -> None:
    """Presses one key and releases it.

    Args:
        key: A single character, or one of: enter, tab, space, backspace, delete, insert, escape, home, end, page_up,
            page_down, up, down, left, right, f1 to f24, ctrl, shift, alt, super, menu, caps_lock, print_screen.
        duration: Seconds the key is held down.
    """
    env.begin_action().keyboard.press(key, duration)


@action(duration="duration")
def press_hotkey(
    env: Desktop, keys: Annotated[list[str], Field(min_length=1, max_length=6)], duration: Seconds = 0.0
) -> None:
    """Presses several keys together: each in turn, then releases them in reverse order.

    Args:
        keys: Names as in key_press, modifiers first, for example ["ctrl", "shift", "t"] or ["alt", "f4"].
        duration: Seconds the keys are held down together.
    """
    env.begin_action().keyboard.combine(keys, duration)


@action
def key_hold(env: Desktop, key: str) -> None:
    """Presses a key and keeps it down until key_release, for example ctrl while clicking several files.

    Args:
        key: A name as in key_press.
    """
    env.begin_action().keyboard.hold(key)


@action
def key_release(env: Desktop, key: str) -> None:
    """Releases a key that is held down.

    Args:
        key: A name as in key_press.
    """
    env.begin_action().keyboard.release(key)


@action
def open_application(env: Desktop, application: str) -> None:
    """Starts an application, as choosing it in the menu would, and waits for its window.

    Args:
        application: Its name or what it is for, such as "terminal", "text editor" or "file manager"; an unknown one
            is answered with the list of all.
    """
    env.begin_action()
    env.open(env.application(application))
