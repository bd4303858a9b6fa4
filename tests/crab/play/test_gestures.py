"""A gesture becomes the action that does the same, on every device that has one, and is refused elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from crab.action import Action
from crab.agent import Tool
from crab.errors import UsageError
from crab.play.gestures import call_for, offered, read_gesture
from crab.testing.toy import TOY_PHONE
from environments.ubuntu import UBUNTU

SWIPE = {
    "type": "function",
    "function": {
        "name": "swipe",
        "parameters": {
            "properties": {name: {"type": "integer"} for name in ("x1", "y1", "x2", "y2")},
            "required": ["x1", "y1", "x2", "y2"],
        },
    },
}


def tools(role: str, actions: Iterable[Action[..., Any]], prefix: str = "") -> list[Tool]:
    """The tools of an environment's actions."""
    return [Tool(prefix + action.name, role, action.name, action.schema()) for action in actions]


DESKTOP = tools("desktop", UBUNTU.actions.values())
PHONE = [*tools("phone", TOY_PHONE.actions.values(), "phone__"), Tool("phone__swipe", "phone", "swipe", SWIPE)]
BOTH = [*DESKTOP, *PHONE]
POINT = {"x": 3, "y": 4}


@pytest.mark.parametrize(
    ("gesture", "name", "arguments"),
    [
        ({"kind": "click", **POINT}, "click", POINT),
        ({"kind": "click", **POINT, "button": "right"}, "right_click", POINT),
        ({"kind": "click", **POINT, "button": "middle"}, "click", {**POINT, "button": "middle"}),
        ({"kind": "double_click", **POINT}, "double_click", POINT),
        ({"kind": "hold", **POINT}, "click", {**POINT, "duration": 1.0}),
        ({"kind": "drag", **POINT, "to_x": 9, "to_y": 8}, "drag", {**POINT, "to_x": 9, "to_y": 8}),
        ({"kind": "scroll", **POINT, "down": -2}, "scroll", {**POINT, "down": -2}),
        ({"kind": "text", "text": "água"}, "write_text", {"text": "água"}),
        ({"kind": "keys", "keys": ["enter"]}, "key_press", {"key": "enter"}),
        ({"kind": "keys", "keys": ["ctrl", "s"]}, "press_hotkey", {"keys": ["ctrl", "s"]}),
    ],
)
def test_the_desktop_can_be_used_as_a_person_does(
    gesture: dict[str, Any], name: str, arguments: dict[str, Any]
) -> None:
    """Every gesture of mouse and keyboard has its action on the real desktop."""
    call = call_for(read_gesture(json.dumps({"environment": "desktop", **gesture}).encode()), BOTH)

    assert (call.name, call.arguments) == (name, arguments)


def test_a_touch_device_is_tapped_and_swiped() -> None:
    """The same gestures reach a device whose actions have other names and parameters."""
    click = read_gesture(b'{"kind": "click", "environment": "phone", "x": 3, "y": 4}')
    drag = read_gesture(b'{"kind": "drag", "environment": "phone", "x": 3, "y": 4, "to_x": 9, "to_y": 8}')

    assert call_for(click, BOTH).name == "phone__tap"
    assert call_for(drag, BOTH).arguments == {"x1": 3, "y1": 4, "x2": 9, "y2": 8}


def test_the_page_learns_what_a_device_can_do() -> None:
    """So that it does not wait for a double click where there is none."""
    assert offered("desktop", BOTH) == [
        "click",
        "double_click",
        "right_click",
        "hold",
        "drag",
        "scroll",
        "text",
        "key",
        "hotkey",
    ]
    assert offered("phone", BOTH) == ["click", "drag", "text"]


@pytest.mark.parametrize(
    "gesture",
    [
        {"kind": "double_click", "environment": "phone", **POINT},
        {"kind": "click", "environment": "phone", **POINT, "button": "right"},
        {"kind": "click", "environment": "elsewhere", **POINT},
        {"kind": "tool", "name": "format_disk"},
    ],
)
def test_what_no_tool_does_is_refused(gesture: dict[str, Any]) -> None:
    """A person can do no more than an agent."""
    with pytest.raises(UsageError):
        call_for(read_gesture(json.dumps(gesture).encode()), BOTH)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"kind": "run", "code": "1"}',
        b'{"kind": "click", "environment": "desktop", "x": -1, "y": 0}',
        b'{"kind": "click", "environment": "desktop", "x": 1, "y": 0, "more": 1}',
        b'{"kind": "keys", "environment": "desktop", "keys": []}',
    ],
)
def test_what_is_no_gesture_is_refused(data: bytes) -> None:
    """Names and JSON of a known shape, nothing else."""
    with pytest.raises(UsageError, match="no gesture"):
        read_gesture(data)
