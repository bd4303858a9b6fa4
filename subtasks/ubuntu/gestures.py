"""What the oracles' eyes and hands do: looking at the accessibility tree they are sent, clicking, typing, waiting.

A gesture is a generator to be delegated to with ``yield from``. It is given the last observations and returns the
latest ones. Each looks before it acts, and looks again, with growing pauses, only while what it needs is not there;
where a program is known to answer late, an oracle pauses once in any case, so that its actions are the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from crab.errors import ContentError
from crab.evaluator import ROOT
from crab.observation import AccessibilityNode, Observations
from crab.task import OracleCall, perform

T = TypeVar("T")

DESKTOP = "desktop"
"""The role every template of this folder gives its desktop."""

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between two looks at something that is not there yet."""

LATE_SECONDS = 0.6
"""A file dialog takes its choice about 0.3 s after the key is pressed, and nothing moves meanwhile."""

Gesture = Generator[OracleCall | None, Observations, Observations]
Search = Callable[[AccessibilityNode], T | None]


def do(action: str, **arguments: Any) -> OracleCall:
    """Returns a call of an action on the desktop."""
    return perform(DESKTOP, action, **arguments)


def pause(seconds: float) -> OracleCall:
    """Returns a call that lets time pass."""
    return perform(ROOT, "wait", seconds=seconds)


def tree(seen: Observations) -> AccessibilityNode:
    """Returns the accessibility tree of the desktop.

    Raises:
        ContentError: The track is off.
    """
    found = seen[DESKTOP].accessibility
    if found is None:
        raise ContentError("oracle: the accessibility track is off, and oracles find elements in it")
    return found


def await_found(
    seen: Observations, search: Search[T], what: str
) -> Generator[OracleCall | None, Observations, tuple[Observations, T]]:
    """Looks until a search of the tree finds something.

    Args:
        seen: The last observations.
        search: Given the tree; a false value means not yet.
        what: What is looked for, for the message.

    Returns:
        The latest observations, and what was found.

    Raises:
        ContentError: It is still not there after all pauses.
    """
    for seconds in (*PAUSES, None):
        found = search(tree(seen))
        if found:
            return seen, found
        if seconds is not None:
            seen = yield pause(seconds)
    raise ContentError(f"oracle: {what} did not appear within {sum(PAUSES):g} s")


def windows(root: AccessibilityNode) -> Iterator[AccessibilityNode]:
    """Yields every window of every application."""
    for application in root.children:
        yield from application.children


def window_in_front(root: AccessibilityNode) -> AccessibilityNode | None:
    """Returns the window that has the keyboard."""
    return next((window for window in windows(root) if "active" in window.states), None)


def in_front(name: str) -> Search[AccessibilityNode]:
    """Returns a search for the window with that title, which has the keyboard."""

    def search(root: AccessibilityNode) -> AccessibilityNode | None:
        window = window_in_front(root)
        return window if window is not None and window.name == name else None

    return search


def focused_field(root: AccessibilityNode) -> AccessibilityNode | None:
    """Returns the element of the window in front into which typed text goes."""
    window = window_in_front(root)
    nodes = window.walk() if window is not None else iter(())
    return next((node for node in nodes if {"focused", "editable"} <= set(node.states)), None)


def field_holding(text: str) -> Search[AccessibilityNode]:
    """Returns a search for the focused field once it holds exactly this text."""

    def search(root: AccessibilityNode) -> AccessibilityNode | None:
        field = focused_field(root)
        return field if field is not None and field.text == text else None

    return search


def element(role: str, *, name: str | None = None, text: str | None = None) -> Search[AccessibilityNode]:
    """Returns a search for a visible element of the window in front."""

    def search(root: AccessibilityNode) -> AccessibilityNode | None:
        window = window_in_front(root)
        for node in window.find_all(role=role, name=name) if window is not None else ():
            if node.bounds is not None and (text is None or node.text == text):
                return node
        return None

    return search


def click_on(seen: Observations, search: Search[AccessibilityNode], what: str) -> Gesture:
    """Waits for an element and clicks on its middle."""
    seen, node = yield from await_found(seen, search, what)
    x, y = middle(node)
    seen = yield do("click", x=x, y=y)
    return seen


def open_application(application: str, search: Search[Any]) -> Gesture:
    """Starts an application and waits until a search finds its window ready."""
    seen = yield do("open_application", application=application)
    seen, _ = yield from await_found(seen, search, f"the window of {application}")
    return seen


def choose_in_dialog(seen: Observations, title: str, path: str) -> Gesture:
    """Types a path into a file dialog that is being opened, and confirms it."""
    seen, _ = yield from await_found(seen, in_front(title), f"the dialog {title!r}")
    seen = yield do("write_text", text=path)
    seen, _ = yield from await_found(seen, field_holding(path), f"{path} in the dialog")
    seen = yield do("key_press", key="enter")
    seen = yield pause(LATE_SECONDS)
    seen, _ = yield from await_found(seen, lambda root: in_front(title)(root) is None, f"the end of {title!r}")
    return seen


def middle(node: AccessibilityNode) -> tuple[int, int]:
    """Returns the middle of an element.

    Raises:
        ContentError: It is nowhere on the screen.
    """
    if node.bounds is None:
        raise ContentError(f"oracle: {node.role} {node.name!r} is nowhere on the screen")
    return node.bounds.center
