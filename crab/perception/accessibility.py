"""Marks from the accessibility tree: what shows, can be used, and is not covered by the active window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crab.errors import UsageError
from crab.observation import ACCESSIBILITY_TRACK, AccessibilityNode, Bounds, Observation
from crab.perception.marks import TEXT_ROLES, Mark, contains, holds, reading_order, tidied

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
        return marks_from_tree(observation.accessibility, (observation.now.width, observation.now.height))


def marks_from_tree(root: AccessibilityNode, screen: tuple[int, int]) -> tuple[Mark, ...]:
    """Returns marks of an accessibility tree, tidied, window by window (the active one first) in reading order.

    What an inactive window shows where the active one lies is left out, since it is covered.

    Args:
        root: The whole tree.
        screen: Width and height of the screen in pixels.
    """
    windows = sorted(_windows(root), key=lambda window: "active" not in window.states)
    active = windows[0].bounds if windows and "active" in windows[0].states else None
    found: list[Mark] = []
    for window in windows:
        covering = active if "active" not in window.states else None
        marks = [mark for mark in _usable(window) if not _is_covered(mark, covering)]
        found += reading_order(marks)
    return tidied(found, screen)


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
