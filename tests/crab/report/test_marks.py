"""Actions are recognised by their words and drawn where they happened."""

from __future__ import annotations

from typing import Any

import pytest

from crab.report.marks import Mark, mark_of


@pytest.mark.parametrize(
    ("action", "arguments", "mark"),
    [
        ("click", {"x": 10, "y": 20}, Mark("click", (10, 20))),
        ("click", {"x": 10, "y": 20, "button": "right", "count": 1}, Mark("right", (10, 20))),
        ("click", {"x": 10, "y": 20, "button": "middle"}, Mark("middle", (10, 20))),
        ("click", {"x": 10, "y": 20, "button": "left", "count": 2}, Mark("double", (10, 20))),
        ("double_click", {"x": 10, "y": 20}, Mark("double", (10, 20))),
        ("right_click", {"x": 10, "y": 20}, Mark("right", (10, 20))),
        ("tap", {"x": 1.5, "y": 2}, Mark("click", (1.5, 2))),
        ("double_tap", {"x": 1, "y": 2}, Mark("double", (1, 2))),
        ("long_press", {"x": 1, "y": 2, "duration": 1.0}, Mark("hold", (1, 2))),
        ("drag", {"start": [1, 2], "end": [3, 4]}, Mark("drag", (1, 2), (3, 4))),
        ("drag", {"x": 1, "y": 2, "to_x": 3, "to_y": 4}, Mark("drag", (1, 2), (3, 4))),
        ("swipe", {"x1": 1, "y1": 2, "x2": 3, "y2": 4}, Mark("drag", (1, 2), (3, 4))),
        ("swipe", {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}}, Mark("drag", (1, 2), (3, 4))),
        ("scroll", {"x": 5, "y": 6, "dx": 0, "dy": -3}, Mark("scroll", (5, 6), by=(0, -3))),
        ("scroll", {"direction": "down", "steps": 2}, Mark("scroll", None, by=(0, 2))),
        ("scroll", {"x": 5, "y": 6, "down": 3, "right": 0}, Mark("scroll", (5, 6), by=(0, 3))),
        ("scroll", {"x": 5, "y": 6, "right": -1}, Mark("scroll", (5, 6), by=(-1, 0))),
        ("move", {"x": 5, "y": 6}, Mark("move", (5, 6))),
        ("mouse_down", {"x": 5, "y": 6, "button": "left"}, Mark("press", (5, 6))),
        ("type_text", {"text": "abc"}, Mark("text", caption="abc")),
        ("write_text", {"text": "abc", "x": 1, "y": 2}, Mark("text", (1, 2), caption="abc")),
        ("press_keys", {"keys": ["ctrl", "s"]}, Mark("keys", caption="ctrl + s")),
        ("key_hold", {"key": "ctrl"}, Mark("keys", caption="hold ctrl")),
        ("key_release", {"key": "ctrl"}, Mark("keys", caption="release ctrl")),
        ("key", {"key": "Return"}, Mark("keys", caption="Return")),
        ("wait", {"seconds": 2}, None),
        ("open_application", {"name": "mail"}, None),
    ],
)
def test_action_has_its_mark(action: str, arguments: dict[str, Any], mark: Mark | None) -> None:
    assert mark_of(action, arguments) == mark


@pytest.mark.parametrize(
    ("action", "arguments", "mark"),
    [
        ("scroll", {"dx": 0, "dy": 3}, Mark("scroll", (7, 8), by=(0, 3))),
        ("move_by", {"dx": 10, "dy": -2}, Mark("move", (7, 8), (17, 6))),
        ("mouse_up", {"button": "left"}, Mark("release", (7, 8))),
        ("mouse_press", {"button": "left"}, Mark("press", (7, 8))),
        ("mouse_release", {"button": "left"}, Mark("release", (7, 8))),
        ("drag_to", {"to_x": 1, "to_y": 2}, Mark("drag", (7, 8), (1, 2))),
    ],
)
def test_what_has_no_place_of_its_own_happens_at_the_pointer(
    action: str, arguments: dict[str, Any], mark: Mark
) -> None:
    assert mark_of(action, arguments, pointer=(7, 8)) == mark


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": "10", "y": 20},
        {"x": None, "y": None},
        {"x": True, "y": False},
        {"x": float("nan"), "y": 1},
        {"x": float("inf"), "y": 1},
        {"start": [1], "end": "far"},
        {"start": [1, 2, 3], "end": [4, 5]},
        {"keys": []},
        {"text": 5},
    ],
)
def test_senseless_arguments_are_not_drawn_as_a_click(arguments: dict[str, Any]) -> None:
    """Records hold what agents sent; what is no point is not drawn, and nothing is raised."""
    mark = mark_of("click", arguments)

    assert mark is None or mark.kind == "move" or mark.at is None


def test_long_texts_are_cut() -> None:
    """A typed novel does not cover the screenshot."""
    mark = mark_of("type_text", {"text": "a" * 5000})

    assert mark is not None
    assert len(mark.caption) == 200
