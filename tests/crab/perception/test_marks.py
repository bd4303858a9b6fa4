"""Which marks are kept, merged and named, and where they are clicked."""

from __future__ import annotations

import pytest

from crab.errors import UsageError
from crab.observation import AccessibilityNode, Bounds, Frame, Observation
from crab.perception.accessibility import AccessibilityMarker, marks_from_tree
from crab.perception.listing import listed
from crab.perception.marks import Mark, Source, holds, merged, reading_order, tidied

SCREEN = (1280, 720)


def seen(label: str, *box: int, source: Source = "accessibility", role: str = "push button") -> Mark:
    """A mark at x, y, width, height."""
    return Mark(label, role, source, Bounds(*box))


def node(role: str, name: str = "", box: tuple[int, int, int, int] | None = None, *inside: AccessibilityNode,
         states: tuple[str, ...] = (), text: str | None = None) -> AccessibilityNode:  # fmt: skip
    """A node at x, y, width, height."""
    return AccessibilityNode(role, name, text, states, Bounds(*box) if box else None, inside)


def labels(marks: tuple[Mark, ...]) -> list[str]:
    return [mark.label for mark in marks]


def test_marks_are_clipped_to_the_screen_and_those_off_it_go() -> None:
    kept = tidied([seen("half", -20, 10, 60, 20), seen("off", 1280, 10, 60, 20)], SCREEN)

    assert [(mark.label, mark.bounds) for mark in kept] == [("half", Bounds(0, 10, 40, 20))]


def test_small_marks_are_kept_from_accessibility_only() -> None:
    kept = tidied([seen("real", 10, 10, 5, 5), seen("speck", 200, 10, 5, 5, source="shape")], SCREEN)

    assert labels(kept) == ["real"]


def test_backgrounds_go_but_large_fields_stay() -> None:
    kept = tidied([seen("wall", 0, 0, 1280, 500), seen("page", 0, 0, 1280, 700, role="text")], SCREEN)

    assert labels(kept) == ["page"]


def test_of_doubles_the_one_with_a_label_stays() -> None:
    kept = tidied([seen("", 100, 100, 60, 20), seen("OK", 98, 98, 64, 24)], SCREEN)

    assert labels(kept) == ["OK"]


def test_dense_tool_bars_lose_nothing() -> None:
    """Buttons nine pixels apart are two buttons, on a screen of 1280 pixels."""
    marks = [seen(str(number), 100 + 9 * number, 50, 8, 8) for number in range(20)]

    assert len(tidied(marks, SCREEN)) == 20


def test_a_row_with_a_button_is_clicked_beside_the_button() -> None:
    """What contains something else to click stays, and is clicked where nothing else is."""
    row, button = tidied([seen("row", 100, 100, 300, 40), seen("delete", 230, 105, 40, 30)], SCREEN)

    assert button.click == (250, 120)
    assert holds(row.bounds, row.click)
    assert not holds(Bounds(228, 103, 44, 34), row.click), "not on the button, nor on its rim"


def test_above_the_limit_accessibility_is_kept_first() -> None:
    shapes = [seen("", 20 * number, 300, 12, 12, source="shape", role="icon") for number in range(50)]
    buttons = [seen(f"b{number}", 20 * number, 400, 12, 12) for number in range(50)]

    kept = tidied([*shapes, *buttons], SCREEN, most=60)

    assert len(kept) == 60
    assert [mark.source for mark in kept].count("accessibility") == 50


def test_pixels_add_only_what_accessibility_does_not_know() -> None:
    accessible = [seen("Places", 0, 100, 200, 300, role="list"), seen("Home", 10, 110, 180, 20)]
    visual = [
        seen("Home", 30, 112, 40, 14, source="text"),
        seen("Desktop", 300, 150, 60, 14, source="text"),
        seen("", 20, 300, 16, 16, source="shape"),
    ]

    both = merged(accessible, visual)

    assert sorted(labels(both)) == ["", "Desktop", "Home", "Places"]


def test_reading_order_goes_line_by_line() -> None:
    """Marks of one line may be of different heights."""
    marks = [seen("c", 10, 60, 50, 20), seen("b", 100, 12, 30, 16), seen("d", 90, 66, 20, 8), seen("a", 10, 10, 50, 20)]

    assert labels(reading_order(marks)) == ["a", "b", "c", "d"]


def test_tree_marks_are_what_a_person_can_use() -> None:
    tree = node(
        "desktop frame", "main", None,
        node("frame", "Notes", (0, 0, 600, 400),
            node("panel", "Tools", (0, 0, 600, 30), node("push button", "Save", (10, 5, 60, 20))),
            node("label", "Ready", (0, 380, 600, 20)),
            node("text", "", (0, 40, 600, 300), states=("editable",), text="Dear Ada,\nhello"),
            node("view", "Tap me", (400, 350, 60, 20), states=("clickable",)),
        ),
    )  # fmt: skip

    marks = marks_from_tree(tree, SCREEN)

    assert [(mark.role, mark.label) for mark in marks] == [
        ("push button", "Save"),
        ("text", "Dear Ada, hello"),
        ("view", "Tap me"),
    ]


def test_a_row_of_cells_is_one_mark_named_by_its_cells() -> None:
    """GTK lists have rows of cells, each with the role of the row."""
    row = node(
        "table cell", "", (4, 128, 164, 23),
        node("table cell", "", (4, 128, 18, 23)), node("table cell", "Home Folder", (22, 128, 146, 23)),
    )  # fmt: skip
    separator = node("table cell", "", (4, 182, 164, 11))

    marks = marks_from_tree(node("frame", "user", (0, 0, 800, 500), node("table", "", None, row, separator)), SCREEN)

    assert [(mark.label, mark.bounds) for mark in marks] == [("Home Folder", Bounds(4, 128, 164, 23))]


def test_what_the_active_window_covers_is_not_marked() -> None:
    back = node("frame", "Back", (0, 0, 600, 400), node("push button", "Covered", (300, 300, 50, 20)),
                node("push button", "Seen", (10, 10, 50, 20)))  # fmt: skip
    front = node("frame", "Front", (200, 200, 600, 400), node("push button", "On top", (300, 300, 50, 20)),
                 states=("active",))  # fmt: skip

    marks = marks_from_tree(node("desktop frame", "main", None, back, front), SCREEN)

    assert labels(marks) == ["On top", "Seen"]


def test_marks_from_accessibility_need_the_track() -> None:
    """An observation without the privileged track is refused with what to do."""
    observation = Observation((Frame(b"", "image/png", 10, 10, 0.0),))

    with pytest.raises(UsageError, match="--accessibility"):
        AccessibilityMarker().marks(observation)


def test_the_list_has_one_line_per_mark_whatever_the_label() -> None:
    """No label can end its entry or begin another."""
    marks = [
        Mark("Save", "push button", "accessibility", Bounds(0, 0, 9, 9), id=1),
        Mark("a]\n[7|b\u2028c\x1b", "text", "text", Bounds(0, 0, 9, 9), id=2),
        Mark(" ", "icon", "shape", Bounds(0, 0, 9, 9), id=3),
        Mark("x" * 100, "text", "text", Bounds(0, 0, 9, 9), id=4),
    ]

    lines = listed(marks).split("\n")

    assert lines == ["[1|Save]", "[2|a) (7/b c]", "[3|icon]", f"[4|{'x' * 59}…]"]
