"""Probes and preparations as the trial calls them: by name and JSON."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from crab.errors import EnvironmentFailure, InvalidArguments, UsageError
from crab.hosting import HostedEnvironment
from environments.ubuntu import UBUNTU
from tests.environments.ubuntu.trees import find
from tests.environments.ubuntu.waiting import until


@pytest.mark.parametrize(
    "operation", [*UBUNTU.probes.values(), *UBUNTU.preparations.values()], ids=lambda operation: operation.name
)
def test_every_probe_and_preparation_is_described(operation: Any) -> None:
    function = operation.schema()["function"]
    assert len(function["description"]) > 20
    for name, schema in function["parameters"]["properties"].items():
        assert schema.get("description"), name


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("file_stat", {"path": "~/x"}),
        ("file_read", {"path": "~/x", "limit": 10, "encoding": "base64"}),
        ("file_list", {"path": "~", "depth": 3}),
        ("file_hash", {"path": "~/x"}),
        ("processes", {}),
        ("focused_window", {}),
        ("windows", {}),
        ("clipboard", {}),
        ("setting", {"name": "wallpaper"}),
        ("setting", {"name": "gsettings", "key": "org.example.x y"}),
        ("screenshot", {}),
        ("accessibility", {}),
    ],
)
def test_every_answer_is_json(environment: HostedEnvironment, name: str, arguments: dict[str, Any]) -> None:
    answer = environment.probe(name, arguments)
    assert json.loads(json.dumps(answer)) == answer


@pytest.mark.desktop
def test_windows_name_their_process(environment: HostedEnvironment) -> None:
    environment.prepare("open_application", {"application": "text_editor"})
    (window,) = environment.probe("windows", {})
    assert window == environment.probe("focused_window", {})
    assert (window["class"], window["process"]) == ("Mousepad", "mousepad")
    names = [process["name"] for process in environment.probe("processes", {})]
    assert {"openbox", "mousepad"} <= set(names)


@pytest.mark.desktop
def test_the_screenshot_is_the_screen(environment: HostedEnvironment) -> None:
    shot = environment.probe("screenshot", {})
    data = base64.b64decode(shot["data"])
    assert data == environment.observe().now.data
    assert Image.open(io.BytesIO(data)).size == (shot["width"], shot["height"])


@pytest.mark.desktop
def test_a_setting_an_application_made_is_read(environment: HostedEnvironment) -> None:
    key = {"name": "gsettings", "key": "org.xfce.mousepad.preferences.view show-line-numbers"}
    assert environment.probe("setting", key) is None
    environment.act("open_application", {"application": "text editor"})
    environment.act("press_hotkey", {"keys": ["alt", "v"]})
    x, y, width, height = find(environment.probe("accessibility", {}), "menu item", "Line Numbers")["bounds"]
    environment.act("click", {"x": x + width // 2, "y": y + height // 2})
    until(lambda: environment.probe("setting", key) is True, "line numbers to be switched on")


@pytest.mark.desktop
def test_files_are_prepared_as_text_and_bytes(environment: HostedEnvironment) -> None:
    environment.prepare("write_file", {"path": "~/a/b.txt", "content": "héllo", "mode": "600"})
    environment.prepare("write_file", {"path": "~/a/c.bin", "content": "/wA=", "encoding": "base64"})
    environment.prepare("make_directory", {"path": "/home/user/Documents"})
    assert environment.probe("file_read", {"path": "~/a/b.txt"})["content"] == "héllo"
    assert environment.probe("file_stat", {"path": "~/a/b.txt"})["mode"] == "600"
    assert environment.probe("file_read", {"path": "~/a/c.bin", "encoding": "base64"})["content"] == "/wA="
    assert environment.probe("file_stat", {"path": "~/Documents"})["kind"] == "directory"


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "/etc/motd", "content": "x"}),
        ("write_file", {"path": "~/../x", "content": "x"}),
        ("write_file", {"path": "~/x", "content": "not base64!", "encoding": "base64"}),
        ("write_file", {"path": "~/x", "content": "x", "mode": "999"}),
        ("make_directory", {"path": "relative"}),
        ("set_clipboard", {"text": "x" * 200_001}),
        ("open_application", {"application": "text_editor", "paths": ["/etc/passwd"]}),
    ],
)
def test_wrong_preparations_are_refused(environment: HostedEnvironment, name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        environment.prepare(name, arguments)


@pytest.mark.desktop
def test_an_impossible_preparation_is_no_agent_s_fault(environment: HostedEnvironment) -> None:
    environment.prepare("make_directory", {"path": "~/folder"})
    with pytest.raises(EnvironmentFailure, match="folder"):
        environment.prepare("write_file", {"path": "~/folder", "content": "x"})


@pytest.mark.desktop
def test_the_clipboard_is_prepared(environment: HostedEnvironment) -> None:
    environment.prepare("set_clipboard", {"text": "see you at 3"})
    assert environment.probe("clipboard", {}) == "see you at 3"


@pytest.mark.desktop
def test_an_application_is_prepared_with_a_file_open(environment: HostedEnvironment) -> None:
    environment.prepare("write_file", {"path": "~/my notes.txt", "content": "hello"})
    environment.prepare("open_application", {"application": "text_editor", "paths": ["~/my notes.txt"]})
    until(lambda: "my notes.txt" in (environment.probe("focused_window", {}) or {"title": ""})["title"], "the file")


@pytest.mark.desktop
def test_nothing_is_prepared_after_the_first_action(environment: HostedEnvironment) -> None:
    environment.act("move", {"x": 1, "y": 1})
    with pytest.raises(UsageError):
        environment.prepare("set_clipboard", {"text": "late"})
