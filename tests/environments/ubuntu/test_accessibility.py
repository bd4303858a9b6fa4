"""The accessibility tree of real applications, and of frozen, dead and lying ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.errors import EnvironmentFailure
from crab.observation import AccessibilityNode
from environments.ubuntu.accessibility import AccessibilityReader, Limits
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.processes import processes_below
from tests.environments.ubuntu.desktops import open_role
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

EXPECTED = {
    "terminal": ("lxterminal", "terminal", 8),
    "text_editor": ("mousepad", "text", 10),
    "file_manager": ("pcmanfm", "layered pane", 30),
    "image_viewer": ("viewnior", "tool bar", 15),
    "calculator": ("galculator", "toggle button", 25),
}


def application(desktop: Desktop, name: str) -> AccessibilityNode | None:
    return desktop.controls.accessibility.read().find(role="application", name=name)


@pytest.fixture
def odd_application(desktop: Desktop) -> Iterator[None]:
    """An application that answers nonsense."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("odd_application.py")), desktop.controls.handle.dbus_address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"registered\n"
        yield
        process.kill()


@pytest.mark.parametrize("role", list(EXPECTED))
def test_an_application_s_nodes_show_with_their_extents(desktop: Desktop, role: str) -> None:
    """Every node that is somewhere lies in its window, which lies where X says it does."""
    name, typical, least = EXPECTED[role]
    open_role(desktop, role)
    found = until(lambda: application(desktop, name), f"{name} in the tree")
    assert found is not None
    nodes = list(found.walk())
    assert len(nodes) >= least
    assert any(node.role == typical for node in nodes)
    (window,) = desktop.controls.windows.all()
    frame = found.find(role="frame")
    assert frame is not None
    assert frame.bounds is not None
    assert 0 <= window.x - frame.bounds.x <= 10
    assert 0 <= window.y - frame.bounds.y <= 40
    inside = [node.bounds for node in nodes if node.bounds is not None and node is not frame]
    for bounds in inside:
        assert window.x <= bounds.x <= bounds.x + bounds.width <= window.x + window.width
        assert window.y <= bounds.y <= bounds.y + bounds.height <= window.y + window.height
    assert all("showing" in node.states for node in nodes if node is not found)


def test_a_click_in_the_middle_of_a_node_hits_it(desktop: Desktop) -> None:
    open_role(desktop, "calculator")
    for key in ("7", "*", "6", "="):
        found = application(desktop, "galculator")
        assert found is not None
        node = next(found.find_all(role="toggle button", name=key))
        assert node.bounds is not None
        desktop.controls.pointer.click(*node.bounds.center)
        desktop.settle()
    assert "42" in [node.text for node in application(desktop, "galculator").walk()]  # type: ignore[union-attr]


def test_text_and_focus_are_told(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    desktop.controls.typist.write("héllo\n中文")
    desktop.settle()
    found = application(desktop, "mousepad")
    assert found is not None
    text = found.find(role="text")
    assert text is not None
    assert text.text == "héllo\n中文"
    assert {"focused", "editable", "multi-line"} <= set(text.states)
    assert list(text.states) == sorted(text.states)


def test_an_open_menu_shows_its_items_and_a_closed_one_does_not(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    found = application(desktop, "mousepad")
    assert found is not None
    assert found.find(role="menu item", name="Open...") is None
    desktop.controls.keyboard.combine(["alt", "f"])
    until(
        lambda: [n for n in application(desktop, "mousepad").walk() if n.role == "menu item"],  # type: ignore[union-attr]
        "the open menu's items",
    )


def test_a_frozen_application_does_not_block_the_others(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    open_role(desktop, "calculator")
    editor = next(found for found in processes_below(desktop.controls.handle.root_pid) if found.name == "mousepad")
    os.kill(editor.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        tree = desktop.controls.accessibility.read()
        seconds = time.monotonic() - began
    finally:
        os.kill(editor.pid, signal.SIGCONT)
    calculator = tree.find(name="galculator")
    assert calculator is not None
    assert len(list(calculator.walk())) >= EXPECTED["calculator"][2]
    assert tree.find(name="mousepad") is None
    assert AccessibilityNode("application") in tree.children
    # Not a speed test: every one of its calls waiting out its limit would take far longer.
    assert seconds < 5
    assert until(lambda: application(desktop, "mousepad"), "the editor to be back")


def test_a_killed_application_is_gone_from_the_tree(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    assert application(desktop, "mousepad") is not None
    editor = next(found for found in processes_below(desktop.controls.handle.root_pid) if found.name == "mousepad")
    os.kill(editor.pid, signal.SIGKILL)
    until(lambda: application(desktop, "mousepad") is None, "the editor to vanish")


def test_nonsense_costs_the_nodes_it_concerns_and_no_others(desktop: Desktop, odd_application: None) -> None:
    tree = desktop.controls.accessibility.read(Limits(nodes=40))
    found = tree.find(role="application", name="root")
    assert found is not None
    (frame,) = found.children
    assert [child.name for child in frame.children if not child.name.startswith("endless")] == [
        "good",
        "",
        "wrong_bounds",
    ]
    good = frame.children[0]
    assert (good.role, good.bounds is not None) == ("push button", True)
    assert frame.find(name="wrong_bounds").bounds is None  # type: ignore[union-attr]


def test_an_endless_tree_ends_at_the_limits(desktop: Desktop, odd_application: None) -> None:
    by_nodes = desktop.controls.accessibility.read(Limits(nodes=25)).find(role="application", name="root")
    assert by_nodes is not None
    assert len(list(by_nodes.walk())) <= 26
    by_depth = desktop.controls.accessibility.read(Limits(depth=3)).find(role="application", name="root")
    assert by_depth is not None
    names = {node.name for node in by_depth.walk()}
    assert "endless" in names
    assert "endless2" not in names


def test_an_empty_desktop_is_a_root_without_applications(desktop: Desktop) -> None:
    tree = desktop.controls.accessibility.read()
    assert (tree.role, tree.name) == ("desktop frame", "main")
    assert not [node for node in tree.walk() if node.role == "frame"]


def test_a_bus_that_is_gone_is_an_environment_failure(tmp_path: Path) -> None:
    reader = AccessibilityReader(f"unix:path={tmp_path}/bus")
    try:
        with pytest.raises(EnvironmentFailure, match="accessibility bus"):
            reader.read()
    finally:
        reader.close()
        reader.close()
