"""Actions as an agent calls them: by name and JSON, described in full, checked before anything happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crab.errors import ActionFailed, InvalidArguments
from crab.hosting import HostedEnvironment
from environments.ubuntu import UBUNTU
from tests.environments.ubuntu.trees import find
from tests.environments.ubuntu.waiting import until


@pytest.mark.parametrize("action", list(UBUNTU.actions.values()), ids=lambda action: action.name)
def test_every_action_and_parameter_is_described(action: Any) -> None:
    function = action.schema()["function"]
    assert len(function["description"]) > 20
    assert json.loads(json.dumps(function)) == function
    for name, schema in function["parameters"]["properties"].items():
        assert schema.get("description"), name
    assert "env" not in function["parameters"]["properties"]


def test_the_actions_a_user_of_a_desktop_has() -> None:
    assert list(UBUNTU.actions) == [
        "move",
        "move_by",
        "click",
        "double_click",
        "right_click",
        "drag",
        "scroll",
        "mouse_press",
        "mouse_release",
        "write_text",
        "key_press",
        "press_hotkey",
        "key_hold",
        "key_release",
        "open_application",
    ]


def focused(environment: HostedEnvironment) -> dict[str, Any]:
    return environment.probe("focused_window", {}) or {"title": "", "class": ""}


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("click", {"x": 1280, "y": 5}),
        ("click", {"x": "5", "y": 5}),
        ("click", {"x": 5, "y": 5, "button": "third"}),
        ("click", {"x": 5, "y": 5, "duration": -1}),
        ("drag", {"x": 5, "y": 5, "to_x": 5, "to_y": 720}),
        ("move_by", {"dx": -5000, "dy": 0}),
        ("key_press", {"key": "hyper"}),
        ("press_hotkey", {"keys": []}),
        ("press_hotkey", {"keys": ["ctrl", "ctrl"]}),
        ("write_text", {"text": "x" * 20_001}),
        ("write_text", {"text": "\x1b[2J\x07"}),
    ],
)
def test_wrong_arguments_are_refused(environment: HostedEnvironment, name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        environment.act(name, arguments)


@pytest.mark.desktop
def test_a_file_is_written_with_mouse_and_keyboard_alone(environment: HostedEnvironment) -> None:
    environment.act("open_application", {"application": "text editor"})
    assert focused(environment)["process"] == "mousepad"
    environment.act("write_text", {"text": "Grüße\n"})
    environment.act("press_hotkey", {"keys": ["ctrl", "s"]})
    until(lambda: focused(environment)["title"] == "Save As", "the file dialog")
    environment.act("press_hotkey", {"keys": ["ctrl", "a"]})
    environment.act("write_text", {"text": "letter.txt"})
    # The dialog looks at the folder first, without a change on the screen.
    until(lambda: "sensitive" in find(environment.probe("accessibility", {}), "push button", "Save")["states"], "Save")
    environment.act("key_press", {"key": "enter"})
    until(lambda: environment.probe("file_read", {"path": "~/letter.txt"})["content"] == "Grüße\n", "the file")


@pytest.mark.desktop
def test_dragging_a_title_bar_moves_the_window(environment: HostedEnvironment) -> None:
    environment.act("open_application", {"application": "calculator"})
    before = focused(environment)
    x, y = before["x"] + before["width"] // 2, before["y"] - 8
    environment.act("drag", {"x": x, "y": y, "to_x": x - 200, "to_y": y - 100})
    after = focused(environment)
    assert (after["x"], after["y"]) == (before["x"] - 200, before["y"] - 100)


@pytest.mark.desktop
def test_dragging_over_text_selects_it(environment: HostedEnvironment) -> None:
    environment.act("open_application", {"application": "text editor"})
    environment.act("write_text", {"text": "select me"})
    window = focused(environment)
    tree = environment.probe("accessibility", {})
    x, y, _, _ = find(tree, "text")["bounds"]
    environment.act("drag", {"x": x + 1, "y": y + 10, "to_x": window["x"] + window["width"] - 40, "to_y": y + 10})
    environment.act("press_hotkey", {"keys": ["ctrl", "c"]})
    until(lambda: environment.probe("clipboard", {}) == "select me", "the selection on the clipboard")


@pytest.mark.desktop
def test_a_file_is_dragged_into_a_folder(environment: HostedEnvironment) -> None:
    """Drag and drop between toolkit widgets needs intermediate motion and a target that has answered."""
    environment.prepare("write_file", {"path": "~/zz.txt", "content": "x"})
    environment.prepare("make_directory", {"path": "~/aa"})
    environment.act("open_application", {"application": "file manager"})
    tree = environment.probe("accessibility", {})
    # The icons of a folder have no names; folders come first.
    folder, file = (icon["bounds"] for icon in find(tree, "layered pane")["children"])
    start, end = ((box[0] + box[2] // 2, box[1] + box[3] // 3) for box in (file, folder))
    environment.act("drag", {"x": start[0], "y": start[1], "to_x": end[0], "to_y": end[1]})
    until(lambda: environment.probe("file_stat", {"path": "~/aa/zz.txt"})["exists"], "the file in the folder")


@pytest.mark.desktop
def test_scrolling_shows_what_is_further_down(environment: HostedEnvironment) -> None:
    environment.prepare("write_file", {"path": "~/long.txt", "content": "line\n" * 500})
    environment.prepare("open_application", {"application": "text_editor", "paths": ["~/long.txt"]})
    window = focused(environment)
    before = environment.observe().now.sha256
    middle = {"x": window["x"] + window["width"] // 2, "y": window["y"] + window["height"] // 2}
    environment.act("scroll", {**middle, "down": 5})
    down = environment.observe().now.sha256
    environment.act("scroll", {**middle, "down": -5})
    assert down != before


@pytest.mark.desktop
def test_held_keys_and_buttons_reach_the_application(environment: HostedEnvironment) -> None:
    environment.act("open_application", {"application": "text editor"})
    environment.act("write_text", {"text": "abc"})
    environment.act("key_hold", {"key": "shift"})
    environment.act("key_press", {"key": "home"})
    environment.act("key_release", {"key": "shift"})
    environment.act("press_hotkey", {"keys": ["ctrl", "x"]})
    until(lambda: environment.probe("clipboard", {}) == "abc", "the cut text")


@pytest.mark.desktop
def test_an_unknown_application_is_a_failed_action(environment: HostedEnvironment) -> None:
    with pytest.raises(ActionFailed, match="there are: "):
        environment.act("open_application", {"application": "spreadsheet"})
