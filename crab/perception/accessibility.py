"""Marks from the accessibility tree: what shows, can be used, and is not covered by the active window."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from crab.errors import UsageError
from crab.observation import ACCESSIBILITY_TRACK, AccessibilityNode, Bounds, Observation
from crab.perception.marks import TEXT_ROLES, Mark, contains, holds, reading_order, tidied
from crab.perception.stacking import Plane, is_above

USABLE_ROLES = TEXT_ROLES | frozenset(
    [
        "check box",
        "check menu item",
        "combo box",
        "icon",
        "link",
        "list item",
        "menu",
        "menu item",
        "page tab",
        "push button",
        "push button menu",
        "radio button",
        "radio menu item",
        "scroll bar",
        "slider",
        "spin button",
        "switch",
        "table cell",
        "table column header",
        "table row header",
        "toggle button",
        "tree item",
    ]
)
"""Roles a person clicks or types into."""

USABLE_STATES = frozenset({"checkable", "clickable", "editable", "long-clickable"})
"""States that make any role one of them."""

WINDOW_ROLES = frozenset({"alert", "dialog", "file chooser", "frame", "window"})
"""Roles of windows."""

_LONGEST_LABEL = 200
_LEAST_NAMELESS = 16


class AccessibilityMarker:
    """Marks what the accessibility tree knows; that is a privileged track, which the run has to ask for."""

    track = ACCESSIBILITY_TRACK

    def marks(self, observation: Observation) -> Sequence[Mark]:
        """Returns the marks of the tree, without numbers.

        Raises:
            UsageError: The observation has no tree.
        """
        if observation.accessibility is None:
            raise UsageError("marks from accessibility need the accessibility tree: run with --accessibility")
        frame = observation.now
        with Image.open(io.BytesIO(frame.data)) as image:
            grey = np.asarray(image.convert("L"), dtype=np.int16)
        return marks_from_tree(observation.accessibility, (frame.width, frame.height), grey)


def marks_from_tree(root: AccessibilityNode, screen: tuple[int, int], grey: Plane | None = None) -> tuple[Mark, ...]:
    """Returns marks of an accessibility tree, tidied, window by window (the active one first) in reading order.

    What is covered by another window is left out.

    Args:
        root: The whole tree.
        screen: Width and height of the screen in pixels.
        grey: Brightness of the screenshot, from which is told which of two inactive windows lies on the other; without
            it only the active one is known to lie on all.
    """
    windows = sorted(_windows(root), key=lambda window: "active" not in window.states)
    found: list[Mark] = []
    for window in windows:
        covers = [] if "active" in window.states else [o.bounds for o in windows if _lies_on(o, window, grey)]
        marks = [mark for mark in _usable(window) if not any(_is_covered(mark, cover) for cover in covers)]
        found += reading_order(marks)
    return tidied(found, screen)


def _lies_on(upper: AccessibilityNode, lower: AccessibilityNode, grey: Plane | None) -> bool:
    if upper is lower or upper.bounds is None or lower.bounds is None:
        return False
    if "active" in upper.states:
        return True
    return grey is not None and is_above(upper.bounds, lower.bounds, grey)


def _windows(root: AccessibilityNode) -> Iterator[AccessibilityNode]:
    """Yields the outermost windows, or the root itself when the tree has none."""
    pending, any_window = [root], False
    while pending:
        node = pending.pop(0)
        if node.role in WINDOW_ROLES:
            any_window = True
            yield node
        else:
            pending.extend(node.children)
    if not any_window:
        yield root


def _usable(window: AccessibilityNode) -> Iterator[Mark]:
    """Yields a mark for each usable node; a part of the same role as the whole is no thing of its own."""
    pending: list[tuple[AccessibilityNode, str]] = [(window, "")]
    while pending:
        node, outer_role = pending.pop(0)
        mark = _mark(node)
        if mark is not None and node.role != outer_role:
            yield mark
        inner_role = node.role if node.role in ("list item", "table cell", "tree item") else outer_role
        pending.extend((child, inner_role) for child in node.children)


def _mark(node: AccessibilityNode) -> Mark | None:
    if node.bounds is None or not (node.role in USABLE_ROLES or USABLE_STATES.intersection(node.states)):
        return None
    label = _label(node)
    if not label and min(node.bounds.width, node.bounds.height) < _LEAST_NAMELESS:
        return None
    return Mark(label, node.role, "accessibility", node.bounds)


def _label(node: AccessibilityNode) -> str:
    """Returns a node's own name or text, else that of the first node below it that has one and lies inside it."""
    for part in node.walk():
        text = part.name.strip() or (part.text or "").strip()
        inside = part.bounds is None or node.bounds is None or holds(node.bounds, part.bounds.center)
        if text and inside:
            return " ".join(text[:_LONGEST_LABEL].split())
    return ""


def _is_covered(mark: Mark, window: Bounds | None) -> bool:
    if window is None:
        return False
    cover = Mark("", "window", "accessibility", window)
    return contains(cover, mark) or holds(window, mark.bounds.center)
